// Collections of the library with what they hold: the program enumerates each, and that is the truth of 'elements'.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Frozen;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Collections.ObjectModel;
using System.Collections.Specialized;
using System.ComponentModel;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Microsoft.FSharp.Collections;

namespace Truth;

enum Color { Red, Green = 5 }

// A user's collections, of a known kind by inheritance, and of no known kind.
class MoreList : List<int> { public int More = 1; }
class MoreDictionary : Dictionary<string, int> { public string More = "more"; }
class MoreCollection : Collection<string> { public int Added; protected override void InsertItem(int index, string item) { Added++; base.InsertItem(index, item); } }
class ById : KeyedCollection<int, Item> { protected override int GetKeyForItem(Item item) => item.Id; }
class OldBase : CollectionBase { public void Add(object o) => List.Add(o); }
class OldDictionary : DictionaryBase { public void Add(object k, object v) => Dictionary.Add(k, v); }
class OldReadOnly : ReadOnlyCollectionBase { public OldReadOnly(params object[] all) { foreach (object o in all) InnerList.Add(o); } }
sealed class Ring : IEnumerable<int>
{
    readonly int[] _cells = { 1, 2, 3 }; int _first = 1;
    public IEnumerator<int> GetEnumerator() { for (int i = 0; i < 3; i++) yield return _cells[(_first + i) % 3]; }
    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}

static partial class Collections
{
    const string Select = "SELECT e.position, e.key, k.id, e.value, v.id FROM cases AS c JOIN elements AS e ON e.object = c.object\n"
        + "  LEFT JOIN items AS k ON k.object = e.key_target LEFT JOIN items AS v ON v.object = e.target\n WHERE c.id = ";
    const string SelectBag = "SELECT e.key, k.id, e.value, v.id FROM cases AS c JOIN elements AS e ON e.object = c.object\n"
        + "  LEFT JOIN items AS k ON k.object = e.key_target LEFT JOIN items AS v ON v.object = e.target\n WHERE c.id = ";

    // What 'collections' must say of each: id, count, capacity.
    static readonly List<(string Id, int Count, int? Capacity)> _counts = new();

    static object[] Of(object v) => v is Item item ? Golden.Row(null, item.Id) : Golden.Row(v is KeyValuePair<string, int> p ? $"{{key={Spelling.Quote(p.Key)}, value={p.Value}}}" : v, null);

    static List<(object Key, object Value)> Pairs(object collection)
    {
        var all = new List<(object, object)>();
        if (collection is IDictionary d) { for (var e = d.GetEnumerator(); e.MoveNext();) all.Add((e.Key, e.Value)); return all; }
        foreach (object entry in (IEnumerable)collection)
        {
            Type t = entry.GetType();
            if (entry is DictionaryEntry old) all.Add((old.Key, old.Value));
            else all.Add((t.GetProperty("Key").GetValue(entry), t.GetProperty("Value").GetValue(entry)));
        }
        return all;
    }

    // In order: positions count from 0 as the collection enumerates.
    static T Ordered<T>(string id, T collection) where T : IEnumerable { Rows(id, collection, ((IEnumerable)collection).Cast<object>().Select(v => ((object)null, v)).ToList(), true); return collection; }
    static T OrderedPairs<T>(string id, T collection) { Rows(id, collection, Pairs(collection), true); return collection; }
    // Without an order of its own: which elements, not where.
    static T Bag<T>(string id, T collection) where T : IEnumerable { Rows(id, collection, ((IEnumerable)collection).Cast<object>().Select(v => ((object)null, v)).ToList(), false); return collection; }
    static T BagPairs<T>(string id, T collection) { Rows(id, collection, Pairs(collection), false); return collection; }

    static void Rows(string id, object collection, List<(object Key, object Value)> all, bool ordered)
    {
        Cases.Add(id, collection);
        int n = 0;
        var rows = all.Select(p => (ordered ? Golden.Row((long)n++) : Golden.Row()).Concat(Of(p.Key)).Concat(Of(p.Value)).ToArray()).ToList();
        if (ordered) _later.Add(() => Golden.Query(Select + Golden.Sql(id) + " ORDER BY e.position", rows));
        else _later.Add(() => Golden.Sorted(SelectBag + Golden.Sql(id), rows));
        // An adapter has no array of its own to grow: its Capacity is its Count, and no room is meant.
        int? capacity = null;
        try { if (collection.GetType().Name != "IListWrapper" && collection.GetType().GetProperty("Capacity", BindingFlags.Public | BindingFlags.Instance)?.GetValue(collection) is int c) capacity = c; } catch (TargetInvocationException) { }
        _counts.Add((id, all.Count, capacity));
    }

    // Records are written when all objects exist: what the library changes in them on the way is then done.
    static readonly List<Action> _later = new();
    static void Section(string name) => _later.Add(() => Golden.Section(name));

    static Item[] Items(int n) => Enumerable.Range(1, n).Select(i => new Item(i)).ToArray();

    public static void Make()
    {
        Section("elements: collections that are known");
        Generic(); Keys(); Concurrents(); Immutables(); Old(); Special(); Channels(); Objects(); FSharp();
        Section("elements: views and wrappers");
        Views(); Wrappers();
        Section("elements: classes derived from known ones");
        Derived();
        Hidden.Make(_later);
    }

    public static void Write()
    {
        foreach (var action in _later) action();
        Golden.Section("elements: a join over everything, with a collection that is not known");
        Golden.One("SELECT count(*) FROM cases AS c JOIN elements AS e ON e.object = c.object WHERE c.id IN ('list', 'unknown ring')", 4);
        Golden.One("SELECT count(*) > 0 FROM problems WHERE area = 'elements' AND instr(message, 'Truth.Ring') > 0", 1);
        Golden.Section("spelling: the table 'collections'");
        Golden.Sorted("SELECT c.id, k.element_count FROM cases AS c JOIN collections AS k ON k.object = c.object WHERE c.id IN (" + string.Join(", ", _counts.Select(c => Golden.Sql(c.Id))) + ")", _counts.Select(c => Golden.Row(c.Id, c.Count)));
        Golden.Sorted("SELECT c.id, k.capacity FROM cases AS c JOIN collections AS k ON k.object = c.object WHERE c.id IN (" + string.Join(", ", _counts.Where(c => c.Capacity != null).Select(c => Golden.Sql(c.Id))) + ")", _counts.Where(c => c.Capacity != null).Select(c => Golden.Row(c.Id, c.Capacity)));
        Golden.One("SELECT count(*) FROM collections WHERE object = " + Cases.At("unknown ring"), 0);
        _later.Clear(); _counts.Clear();
    }

    static void Generic()
    {
        Ordered("list", new List<int> { 5, 6, 7, 8 });
        Ordered("list of items with null", new List<Item> { new(1), null, new(3) });
        Ordered("list empty", new List<string>());
        Ordered("list cleared", Do(new List<string> { "gone" }, l => l.Clear()));
        Ordered("list of pairs", new List<KeyValuePair<string, int>> { new("a", 1), new("b", 2) });
        Ordered("stack", new Stack<string>(new[] { "bottom", "top" }));
        var queue = new Queue<int>(4); for (int i = 0; i < 4; i++) queue.Enqueue(i); queue.Dequeue(); queue.Dequeue(); queue.Enqueue(4); queue.Enqueue(5);
        Ordered("queue that wrapped", queue);
        BagPairs("dictionary with holes", Do(Enumerable.Range(0, 10).ToDictionary(i => "k" + i, i => i), d => { d.Remove("k3"); d.Remove("k7"); }));
        BagPairs("dictionary of items", Items(3).ToDictionary(i => i, i => new Item(10 * i.Id)));
        BagPairs("dictionary empty", new Dictionary<int, int>());
        BagPairs("dictionary by enum", new Dictionary<Color, bool> { [Color.Red] = true, [Color.Green] = false });
        Bag("set with holes", Do(new HashSet<int>(Enumerable.Range(0, 8)), s => { s.Remove(2); s.Remove(5); }));
        Bag("set of strings", new HashSet<string> { "one", "two", "three" });
        OrderedPairs("sorted list", new SortedList<string, int> { ["b"] = 2, ["a"] = 1, ["c"] = 3 });
        OrderedPairs("sorted dictionary", new SortedDictionary<int, string> { [3] = "three", [1] = "one", [2] = "two" });
        Ordered("sorted set", new SortedSet<int> { 9, 1, 5, 3, 7 });
        Ordered("linked list", new LinkedList<string>(new[] { "x", "y", "z" }));
        Ordered("linked list empty", new LinkedList<int>());
        var priority = new PriorityQueue<string, int>(); priority.Enqueue("late", 9); priority.Enqueue("soon", 1); priority.Enqueue("then", 5);
        Rows("priority queue", priority, priority.UnorderedItems.Select(p => ((object)p.Priority, (object)p.Element)).ToList(), false);
        Bag("priority queue's unordered items", new PriorityQueue<int, int>(new[] { (1, 1) }).UnorderedItems.Select(p => p.Element).ToList());
        Ordered("array segment", Boxed(new ArraySegment<int>(new[] { 1, 2, 3, 4, 5 }, 1, 3)));
        Ordered("array segment empty", Boxed(ArraySegment<Item>.Empty));
        Ordered("bit array", new BitArray(new[] { true, false, true, true, false, false, false, false, true, true }));
        Ordered("bit array of 70", Do(new BitArray(70), b => { b[0] = true; b[33] = true; b[69] = true; }));
        BagPairs("weak table", Do(new ConditionalWeakTable<Item, string>(), t => { foreach (Item i in _weak) t.Add(i, "weak " + i.Id); }));
        Type ordered = typeof(SortedList<,>).Assembly.GetType("System.Collections.Generic.OrderedDictionary`2") ?? Type.GetType("System.Collections.Generic.OrderedDictionary`2, System.Collections");
        if (ordered != null)
        {
            var o = (IDictionary)Activator.CreateInstance(ordered.MakeGenericType(typeof(string), typeof(int)));
            o["z"] = 26; o["a"] = 1; o["m"] = 13; o.Remove("a"); o["b"] = 2;
            OrderedPairs("ordered dictionary", o);
            Ordered("ordered dictionary's keys", (ICollection)o.Keys); Ordered("ordered dictionary's values", (ICollection)o.Values);
        }
        Unordered("grouping", new[] { "aa", "ab", "b" }.GroupBy(s => s[0]).First());
        var lookup = new[] { "aa", "b", "ab" }.ToLookup(s => s[0]);
        Cases.Add("lookup", lookup); _counts.Add(("lookup", lookup.Count, null));
        _later.Add(() => Golden.Query(SelectKeys("lookup"), lookup.Select(g => Golden.Row(g.Key.ToString(), g.Count()))));
        Unordered("lookup's grouping", lookup['a']);
    }

    static string SelectKeys(string id) => "SELECT e.key, (SELECT count(*) FROM elements AS g WHERE g.object = e.target) FROM cases AS c JOIN elements AS e ON e.object = c.object\n WHERE c.id = '" + id + "' ORDER BY e.position";
    static void Unordered(string id, IEnumerable collection) => Ordered(id, collection);
    static object Raw(object o) => o;
    static IEnumerable Boxed(IEnumerable o) => o;
    static T Do<T>(T made, Action<T> change) { change(made); return made; }
    static readonly Item[] _weak = Items(3);

    static void Keys()
    {
        var d = new Dictionary<string, Item> { ["one"] = new(1), ["two"] = new(2), ["gone"] = new(9) }; d.Remove("gone");
        Bag("dictionary's keys", d.Keys); Bag("dictionary's values", d.Values);
        var s = new SortedDictionary<int, string> { [2] = "b", [1] = "a" };
        Ordered("sorted dictionary's keys", s.Keys); Ordered("sorted dictionary's values", s.Values);
        var l = new SortedList<int, string> { [2] = "b", [1] = "a" };
        Ordered("sorted list's keys", (IEnumerable)l.Keys); Ordered("sorted list's values", (IEnumerable)l.Values);
        var r = new ReadOnlyDictionary<string, Item>(d);
        BagPairs("read-only dictionary", r); Bag("read-only dictionary's keys", r.Keys); Bag("read-only dictionary's values", r.Values);
        var h = new Hashtable { ["k1"] = "v1", ["k2"] = "v2" };
        Bag("hashtable's keys", h.Keys); Bag("hashtable's values", h.Values);
        var o = new SortedList { [2] = "b", [1] = "a" };
        Ordered("old sorted list's keys", o.GetKeyList()); Ordered("old sorted list's values", o.GetValueList());
        Ordered("read-only collection", new ReadOnlyCollection<Item>(Items(2)));
        Ordered("read-only collection of a list", new List<int> { 3, 4 }.AsReadOnly());
        Ordered("collection", new Collection<string> { "c1", "c2" });
        Ordered("observable collection", new ObservableCollection<int> { 1, 2, 3 });
        Ordered("read-only observable collection", new ReadOnlyObservableCollection<int>(new ObservableCollection<int> { 4, 5 }));
        Ordered("binding list", new BindingList<string> { "bound" });
        Type set = typeof(ReadOnlyCollection<>).Assembly.GetType("System.Collections.ObjectModel.ReadOnlySet`1") ?? Type.GetType("System.Collections.ObjectModel.ReadOnlySet`1, System.Collections");
        if (set != null) Bag("read-only set", (IEnumerable)Activator.CreateInstance(set.MakeGenericType(typeof(int)), new HashSet<int> { 1, 2 }));
    }

    static void Concurrents()
    {
        BagPairs("concurrent dictionary", new ConcurrentDictionary<string, int>(Enumerable.Range(0, 20).Select(i => new KeyValuePair<string, int>("c" + i, i))));
        BagPairs("concurrent dictionary of items", new ConcurrentDictionary<int, Item>(Items(3).Select(i => new KeyValuePair<int, Item>(i.Id, i))));
        Bag("concurrent dictionary's keys", (IEnumerable)new ConcurrentDictionary<int, int>(new[] { new KeyValuePair<int, int>(1, 2) }).Keys);
        Ordered("concurrent queue", Do(new ConcurrentQueue<int>(Enumerable.Range(0, 100)), q => { for (int i = 0; i < 40; i++) q.TryDequeue(out _); }));
        Ordered("concurrent stack", new ConcurrentStack<string>(new[] { "low", "high" }));
        Bag("concurrent bag", new ConcurrentBag<int> { 1, 2, 3 });
        Ordered("blocking collection", new BlockingCollection<int>(new ConcurrentQueue<int>(new[] { 7, 8 })));
        Ordered("blocking collection of a stack", new BlockingCollection<int>(new ConcurrentStack<int>(new[] { 7, 8 })));
    }

    static void Immutables()
    {
        Ordered("immutable array", Boxed(ImmutableArray.Create(1, 2, 3)));
        Ordered("immutable list", ImmutableList.CreateRange(Enumerable.Range(0, 7)));
        Bag("immutable set", ImmutableHashSet.Create("s1", "s2", "s3"));
        BagPairs("immutable dictionary", ImmutableDictionary.CreateRange(Items(4).Select(i => new KeyValuePair<int, Item>(i.Id, i))));
        OrderedPairs("immutable sorted dictionary", ImmutableSortedDictionary.CreateRange(new[] { new KeyValuePair<string, int>("b", 2), new("a", 1) }));
        Ordered("immutable sorted set", ImmutableSortedSet.Create(3, 1, 2));
        Ordered("immutable queue", ImmutableQueue.Create(1, 2).Enqueue(3).Dequeue());
        Ordered("immutable stack", ImmutableStack.Create(1, 2, 3));
        Ordered("immutable array builder", Do(ImmutableArray.CreateBuilder<int>(10), b => { b.Add(4); b.Add(5); }));
        Ordered("immutable list builder", Do(ImmutableList.CreateBuilder<string>(), b => { b.Add("x"); b.Add("y"); b.Insert(0, "w"); }));
        Bag("immutable set builder", Do(ImmutableHashSet.CreateBuilder<int>(), b => { b.Add(1); b.Add(2); }));
        BagPairs("immutable dictionary builder", Do(ImmutableDictionary.CreateBuilder<string, int>(), b => { b["p"] = 1; b["q"] = 2; }));
        OrderedPairs("immutable sorted dictionary builder", Do(ImmutableSortedDictionary.CreateBuilder<string, int>(), b => { b["q"] = 2; b["p"] = 1; }));
        Ordered("immutable sorted set builder", Do(ImmutableSortedSet.CreateBuilder<int>(), b => { b.Add(2); b.Add(1); }));
        BagPairs("frozen dictionary", new Dictionary<string, int> { ["alpha"] = 1, ["beta"] = 2, ["gamma"] = 3 }.ToFrozenDictionary());
        BagPairs("frozen dictionary of numbers", Enumerable.Range(0, 12).ToDictionary(i => i * 1000, i => "f" + i).ToFrozenDictionary());
        BagPairs("frozen dictionary of longs", Enumerable.Range(0, 20).ToDictionary(i => (long)i << 33, i => i).ToFrozenDictionary());
        BagPairs("frozen dictionary of few numbers", new Dictionary<int, int> { [3] = 30, [1] = 10 }.ToFrozenDictionary());
        BagPairs("frozen dictionary of items", Items(3).ToFrozenDictionary(i => i, i => i.Id));
        Bag("frozen set", new[] { "f1", "f22", "f333" }.ToFrozenSet());
        Bag("frozen set of numbers", Enumerable.Range(0, 30).Select(i => i * 7).ToFrozenSet());
        Bag("frozen set empty", Array.Empty<int>().ToFrozenSet());
        Bag("frozen set of guids", new[] { Guid.Empty, new Guid("00112233-4455-6677-8899-aabbccddeeff") }.ToFrozenSet());
    }

    static void Old()
    {
        Ordered("array list", new ArrayList { "text", 42, null, new Item(7), 2.5, 'c', Color.Green });
        BagPairs("hashtable", new Hashtable { ["k"] = 1, [2] = "two", [new Item(3)] = new Item(4) });
        Ordered("old queue", new Queue(new object[] { 1, "q" })); Ordered("old stack", new Stack(new object[] { 1, "s" }));
        OrderedPairs("old sorted list", new SortedList { ["b"] = 2, ["a"] = 1 });
        Ordered("collection base", Do(new OldBase(), b => { b.Add("x"); b.Add(1); }));
        BagPairs("dictionary base", Do(new OldDictionary(), b => { b.Add("x", 1); }));
        Ordered("read-only collection base", new OldReadOnly("r", 2));
    }

    static void Special()
    {
        OrderedPairs("list dictionary", new ListDictionary { ["l2"] = 2, ["l1"] = "one" });
        OrderedPairs("hybrid dictionary small", new HybridDictionary { ["h1"] = 1, ["h2"] = 2 });
        BagPairs("hybrid dictionary large", Do(new HybridDictionary(), h => { for (int i = 0; i < 20; i++) h["h" + i] = i; }));
        BagPairs("hybrid dictionary empty", new HybridDictionary());
        Ordered("string collection", new StringCollection { "s1", "s2" });
        BagPairs("string dictionary", new StringDictionary { ["key"] = "v", ["Other"] = "w" });
        var names = new NameValueCollection { { "a", "1" }, { "b", "2" }, { "a", "3" } };
        Rows("name value collection", names, names.AllKeys.Select(k => ((object)k, (object)names[k])).ToList(), true);
        OrderedPairs("old ordered dictionary", new System.Collections.Specialized.OrderedDictionary { ["z"] = 1, ["a"] = 2 });
        OrderedPairs("old ordered dictionary read-only", new System.Collections.Specialized.OrderedDictionary { ["z"] = 1, ["a"] = 2 }.AsReadOnly());
    }

    static void Channels()
    {
        var unbounded = Channel.CreateUnbounded<int>(); for (int i = 0; i < 5; i++) unbounded.Writer.TryWrite(i); unbounded.Reader.TryRead(out _);
        Rows("channel unbounded", unbounded, Enumerable.Range(1, 4).Select(i => ((object)null, (object)i)).ToList(), true);
        var single = Channel.CreateUnbounded<string>(new UnboundedChannelOptions { SingleReader = true }); single.Writer.TryWrite("only"); single.Writer.TryWrite("two");
        Rows("channel of a single reader", single, new List<(object, object)> { (null, "only"), (null, "two") }, true);
        var bounded = Channel.CreateBounded<Item>(4); foreach (Item i in Items(4)) bounded.Writer.TryWrite(i); bounded.Reader.TryRead(out _); bounded.Reader.TryRead(out _); bounded.Writer.TryWrite(new Item(5));
        Rows("channel bounded", bounded, new List<(object, object)> { (null, new Item(3)), (null, new Item(4)), (null, new Item(5)) }, true);
        MethodInfo prioritized = typeof(Channel).GetMethods().FirstOrDefault(m => m.Name == "CreateUnboundedPrioritized" && m.GetParameters().Length == 0);
        if (prioritized != null)
        {
            var channel = (Channel<int>)prioritized.MakeGenericMethod(typeof(int)).Invoke(null, null);
            channel.Writer.TryWrite(3); channel.Writer.TryWrite(1);
            Rows("channel prioritized", channel, new List<(object, object)> { (null, 1), (null, 3) }, false);
        }
    }

    // A field or element of type object that holds a string or a box has its text or number as its value.
    static void Objects()
    {
        object[] mixed = { "s", 1, 2.5, true, 'c', Color.Green, 3m, new Guid("00112233-4455-6677-8899-aabbccddeeff"), TimeSpan.FromMinutes(1), ulong.MaxValue, null, new Item(1) };
        Ordered("array of objects", mixed);
        Ordered("array of comparables", new IComparable[] { "s", 1, Color.Green, null });
        Ordered("array of values", new ValueType[] { 1, Color.Red, null });
        Ordered("array of enums", new Enum[] { Color.Green, null });
        Ordered("list of objects", new List<object>(mixed));
        BagPairs("dictionary of objects", new Dictionary<object, object> { ["k"] = 1, [2] = "two", [Color.Red] = null, [new Item(3)] = new Item(4) });
        Ordered("queue of objects", new Queue<object>(mixed)); Ordered("linked list of objects", new LinkedList<object>(mixed));
        BagPairs("concurrent dictionary of objects", new ConcurrentDictionary<object, object>(new[] { new KeyValuePair<object, object>("k", 1), new(2, "two") }));
        Ordered("immutable list of objects", ImmutableList.Create<object>("s", 1, null));
    }

    static void FSharp()
    {
        Ordered("f# list", ListModule.OfSeq(new[] { 1, 2, 3 })); Ordered("f# list empty", ListModule.Empty<int>());
        OrderedPairs("f# map", new FSharpMap<string, int>(new[] { Tuple.Create("b", 2), Tuple.Create("a", 1), Tuple.Create("c", 3) }));
        Ordered("f# set", new FSharpSet<int>(new[] { 3, 1, 2 }));
    }

    static void Derived()
    {
        Ordered("derived list", new MoreList { 1, 2 }); BagPairs("derived dictionary", new MoreDictionary { ["d"] = 1 });
        Ordered("derived collection", new MoreCollection { "a", "b" }); Ordered("keyed collection", new ById { new Item(2), new Item(1) });
        Ordered("keyed collection with its dictionary", Do(new ById(), b => { foreach (Item i in Items(3)) b.Add(i); _ = b.Contains(1); }));
        Cases.Add("unknown ring", new Ring());
    }
}
