// Who holds what, worked out by the program itself: objects by reflection from its own static fields, as a graph of
// numbers. What an object dominates is found by leaving it out and looking what is still reached.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;

namespace Truth;

sealed class Graph
{
    readonly Dictionary<object, int> _numbers = new(ReferenceEqualityComparer.Instance);
    readonly List<object> _objects = new();
    readonly List<int[]> _edges = new();
    readonly List<(string Name, int Object)> _roots = new();
    static readonly Dictionary<Type, FieldInfo[]> _fields = new();
    static readonly Dictionary<Type, bool> _holds = new();

    // All static fields of this assembly's classes (a struct's references count one by one), and those of the library
    // that are given.
    public Graph(params (string Name, object Value)[] others)
    {
        foreach (Type type in typeof(Graph).Assembly.GetTypes())
        {
            if (type.ContainsGenericParameters || type == typeof(Graph)) continue;
            foreach (FieldInfo f in type.GetFields(BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
            {
                if (f.IsLiteral || f.FieldType.IsPointer || f.FieldType.IsPrimitive || f.IsDefined(typeof(ThreadStaticAttribute))) continue;
                if (f.GetValue(null) is object value) AddRoot(Spelling.Name(type) + "." + f.Name, value);
            }
        }
        foreach (var (name, value) in others) AddRoot(name, value);
        for (int i = 0; i < _objects.Count; i++) _edges.Add(Edges(_objects[i]));
    }

    void AddRoot(string name, object value) => _roots.Add((name, Number(value)));

    int Number(object o)
    {
        if (_numbers.TryGetValue(o, out int n)) return n;
        _numbers.Add(o, n = _objects.Count); _objects.Add(o);
        return n;
    }

    static FieldInfo[] Fields(Type type)
    {
        if (_fields.TryGetValue(type, out var known)) return known;
        var all = new List<FieldInfo>();
        for (Type at = type; at != null; at = at.BaseType)
            all.AddRange(at.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly).Where(f => Holds(f.FieldType)));
        return _fields[type] = all.ToArray();
    }

    // Whether values of a type can hold a reference.
    static bool Holds(Type type)
    {
        if (!type.IsValueType) return !type.IsPointer && !type.IsByRef;
        if (type.IsPrimitive || type.IsEnum || type.IsByRefLike) return false;
        if (_holds.TryGetValue(type, out bool known)) return known;
        _holds[type] = false;
        return _holds[type] = type.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic).Any(f => Holds(f.FieldType));
    }

    int[] Edges(object o)
    {
        var found = new List<int>();
        if (o is string or Type or MemberInfo or Assembly or Module) return found.ToArray();
        if (o is Array array)
        {
            Type element = array.GetType().GetElementType();
            if (Holds(element)) foreach (object e in array) Add(element, e, found);
        }
        else foreach (FieldInfo f in Fields(o.GetType())) Add(f.FieldType, f.GetValue(o), found);
        return found.ToArray();
    }

    void Add(Type declared, object value, List<int> found)
    {
        if (value == null) return;
        if (!declared.IsValueType) { found.Add(Number(value)); return; }
        foreach (FieldInfo f in Fields(value.GetType())) Add(f.FieldType, f.GetValue(value), found);
    }

    // Steps from the nearest of these roots, -1 where none leads; WITHOUT one object.
    int[] Distances(IEnumerable<int> roots, int without = -1)
    {
        var distance = new int[_objects.Count]; Array.Fill(distance, -1);
        var queue = new Queue<int>();
        foreach (int r in roots) if (r != without && distance[r] < 0) { distance[r] = 0; queue.Enqueue(r); }
        while (queue.TryDequeue(out int at))
            foreach (int next in _edges[at]) if (next != without && distance[next] < 0) { distance[next] = distance[at] + 1; queue.Enqueue(next); }
        return distance;
    }

    int[] _all;
    int[] All => _all ??= Distances(_roots.Select(r => r.Object));

    public int Distance(object o) => All[_numbers[o]];
    public List<string> Roots(object o) => _roots.GroupBy(r => r.Name).Where(g => Distances(g.Select(r => r.Object))[_numbers[o]] >= 0).Select(g => g.Key).ToList();

    // The objects that are gone if this one is, itself included.
    public List<object> Retained(object o)
    {
        var left = Distances(_roots.Select(r => r.Object), _numbers[o]);
        return Enumerable.Range(0, _objects.Count).Where(i => All[i] >= 0 && left[i] < 0).Select(i => _objects[i]).ToList();
    }

    // The nearest object without which this one is not reached; null if only the roots together hold it.
    public object Dominator(object o)
    {
        int target = _numbers[o];
        var path = new List<int>();
        for (int at = target; All[at] > 0;)
        {
            at = Enumerable.Range(0, _objects.Count).First(i => All[i] == All[at] - 1 && _edges[i].Contains(at));
            path.Add(at);
        }
        foreach (int candidate in path) if (Distances(_roots.Select(r => r.Object), candidate)[target] < 0) return _objects[candidate];
        return null;
    }
}
