// An assembly in a collectible context, and instantiations over its types: what they are, which module they are of,
// and what they hold.
using System;
using System.Collections;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Runtime.Loader;

namespace Truth;

class Box<T> { public T Value; public int Id = 61; }
class Pair<A, B> { public A Left; public B Right; public class Inner<C> { public C Deep; public B Right; } }
struct Cell<T> { public T Value; public int Number; }
class Names : AssemblyLoadContext { string _name = "not its name"; object _state = "not its state"; public Names(string name, bool collectible) : base(name, collectible) { } }

static class Plugins
{
    static Names _first, _second, _kept;
    static readonly List<(string Id, object Object)> _all = new();

    public static byte[] Bytes()
    {
        using Stream s = typeof(Plugins).Assembly.GetManifestResourceStream("Plugin.dll");
        var bytes = new byte[s.Length]; s.ReadExactly(bytes); return bytes;
    }

    public static void Make()
    {
        _first = new Names("plugin one", true); _second = new Names("plugin two", true); _kept = new Names("not collectible", false);
        Fill("one", _first.LoadFromStream(new MemoryStream(Bytes()))); Fill("two", _second.LoadFromStream(new MemoryStream(Bytes()))); Fill("kept", _kept.LoadFromStream(new MemoryStream(Bytes())));
    }

    static void Fill(string context, Assembly plugin)
    {
        Type main = plugin.GetType("Plugin.Main"), val = plugin.GetType("Plugin.Val"), level = plugin.GetType("Plugin.Level"), gen = plugin.GetType("Plugin.Gen`1"), inner = plugin.GetType("Plugin.Gen`1+Inner"), first = plugin.GetType("Plugin.First"), derived = plugin.GetType("Plugin.Derived");
        object Main(int id) { object o = Activator.CreateInstance(main); main.GetField("Id").SetValue(o, id); main.GetField("Name").SetValue(o, "main " + id); return o; }
        object Val(int a) { object o = Activator.CreateInstance(val); val.GetField("A").SetValue(o, a); val.GetField("B").SetValue(o, "val " + a); return o; }
        void Add(string id, object o) { Cases.Add(context + ": " + id, o); _all.Add((context + ": " + id, o)); }
        object New(Type open, params Type[] arguments) => Activator.CreateInstance(open.MakeGenericType(arguments));
        object Set(object o, string field, object value) { o.GetType().GetField(field).SetValue(o, value); return o; }
        object Array(Type element, params object[] values) { var a = System.Array.CreateInstance(element, values.Length); for (int i = 0; i < values.Length; i++) if (values[i] != null) a.SetValue(values[i], i); return a; }
        Type nullable = typeof(Nullable<>).MakeGenericType(val);
        Add("main", Main(1)); Add("val", Val(2)); Add("level", Enum.ToObject(level, 7)); Add("derived", Set(Set(Activator.CreateInstance(derived), "Id", 3), "Level", Enum.ToObject(level, 7))); Add("first", Activator.CreateInstance(first));
        Add("box of main", Set(New(typeof(Box<>), main), "Value", Main(4))); Add("box of val", Set(New(typeof(Box<>), val), "Value", Val(5))); Add("box of nullable", Set(New(typeof(Box<>), nullable), "Value", Val(6))); Add("box of an array", Set(New(typeof(Box<>), main.MakeArrayType()), "Value", Array(main, Main(7))));
        var list = (IList)New(typeof(List<>), main); list.Add(Main(8)); list.Add(Main(9)); Add("list of main", list);
        var vals = (IList)New(typeof(List<>), val); vals.Add(Val(10)); Add("list of val", vals);
        var d = (IDictionary)New(typeof(Dictionary<,>), main, val); d.Add(Main(11), Val(12)); Add("dictionary", d);
        var s = (IDictionary)New(typeof(Dictionary<,>), typeof(string), main); s.Add("key", Main(13)); Add("dictionary by text", s);
        Add("nullables", Array(nullable, Val(14), null)); Add("vals", Array(val, Val(15), Val(16))); Add("mains", Array(main, Main(17), null)); Add("levels", Array(level, Enum.ToObject(level, 7), Enum.ToObject(level, 0)));
        Add("cells", Array(typeof(Cell<>).MakeGenericType(main), Set(New(typeof(Cell<>), main), "Number", 18))); Add("cell of val", Set(Set(New(typeof(Cell<>), val), "Value", Val(19)), "Number", 20));
        Add("pair", Set(Set(New(typeof(Pair<,>), typeof(string), main), "Left", "left"), "Right", Main(21))); Add("inner", Set(New(typeof(Pair<,>.Inner<>), typeof(string), typeof(int), val), "Deep", Val(22)));
        Add("gen of int", Set(New(gen, typeof(int)), "Value", 23)); Add("gen of text", Set(New(gen, typeof(string)), "Value", "text 24")); Add("gen of main", Set(New(gen, main), "Value", Main(25))); Add("inner of gen", Set(New(inner, typeof(int)), "Deep", 26));
        Add("grid", System.Array.CreateInstance(main, 2, 2)); Add("jagged", System.Array.CreateInstance(main.MakeArrayType(), 1));
        Add("set", New(typeof(HashSet<>), main)); Add("task source", New(typeof(System.Threading.Tasks.TaskCompletionSource<>), main)); Add("lazy", New(typeof(Box<>), typeof(Func<,>).MakeGenericType(main, val)));
        Add("comparer", typeof(EqualityComparer<>).MakeGenericType(main).GetProperty("Default").GetValue(null));
    }

    static string ModuleOf(Type t) { while (t.HasElementType) t = t.GetElementType(); return t.Module.ScopeName; }

    // Fields and values, flat, by reflection: base classes first.
    static IEnumerable<object[]> Rows(string path, object o, Type t)
    {
        if (t.BaseType != null && t.BaseType != typeof(object) && t.BaseType != typeof(ValueType)) foreach (var r in Rows(path, o, t.BaseType)) yield return r;
        foreach (FieldInfo f in t.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly))
        {
            object v = f.GetValue(o); Type u = Nullable.GetUnderlyingType(f.FieldType);
            if (f.FieldType.IsValueType && !f.FieldType.IsPrimitive && !f.FieldType.IsEnum && !(u != null && v == null)) foreach (var r in Rows(path + f.Name + ".", v, v.GetType())) yield return r;
            else yield return Golden.Row(path + f.Name, v is string || f.FieldType.IsPrimitive || f.FieldType.IsEnum ? v : null);
        }
    }

    public static void Write()
    {
        Golden.Section("plugins: names and modules of instantiations");
        foreach (var (id, o) in _all)
            Golden.Query("SELECT o.type_name, m.name, m.assembly, m.is_collectible, t.is_collectible FROM cases AS c JOIN objects AS o ON o.address = c.object JOIN types AS t ON t.address = o.type JOIN modules AS m ON m.address = t.module WHERE c.id = " + Golden.Sql(id),
                Golden.Row(Spelling.Name(o.GetType()), ModuleOf(o.GetType()), o.GetType().Assembly.GetName().Name, o.GetType().Assembly.IsCollectible, o.GetType().IsCollectible));
        Golden.Section("plugins: fields and values of instantiations");
        foreach (var (id, o) in _all.Where(a => a.Object is not Array && !a.Object.GetType().IsEnum && !a.Id.EndsWith("task source") && !a.Id.EndsWith("comparer")))
            Golden.Sorted("SELECT field, value FROM field_values WHERE object = " + Cases.At(id), Rows("", o, o.GetType()));
        Golden.Section("plugins: elements");
        foreach (var (id, o) in _all.Where(a => a.Object is IList))
            Golden.One("SELECT count(*) FROM elements WHERE object = " + Cases.At(id), ((ICollection)o).Count);
        foreach (string c in new[] { "one", "two", "kept" })
        {
            Golden.Query("SELECT clr_field(target, 'Id'), clr_field(target, 'Name') FROM elements WHERE object = " + Cases.At(c + ": list of main"), Golden.Row(8, "main 8"), Golden.Row(9, "main 9"));
            Golden.Query("SELECT clr_field(key_target, 'Id'), value FROM elements WHERE object = " + Cases.At(c + ": dictionary"), Golden.Row(11, "{A=12, B=\"val 12\"}"));
            Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At(c + ": list of val"), Golden.Row("{A=10, B=\"val 10\"}"));
            Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At(c + ": nullables"), Golden.Row("{A=14, B=\"val 14\"}"), Golden.Row((object)null));
            Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At(c + ": levels"), Golden.Row("High"), Golden.Row("Low"));
            Golden.Query("SELECT clr_field(object, 'Value.Name') FROM cases WHERE id = '" + c + ": box of main'", Golden.Row("main 4"));
            Golden.Query("SELECT clr_field(object, 'Value.B') FROM cases WHERE id = '" + c + ": box of val'", Golden.Row("val 5"));
        }
        Golden.Section("plugins: load contexts whose class hides members of its base");
        Golden.Sorted("SELECT l.name, l.is_collectible, l.is_unloading FROM load_contexts AS l JOIN objects AS o ON o.address = l.object WHERE o.type_name = 'Truth.Names'", new[] { _first, _second, _kept }.Select(n => Golden.Row(n.Name, n.IsCollectible, false)));
        Golden.Sorted("SELECT c.name, count(*) FROM types AS t JOIN modules AS m ON m.address = t.module JOIN load_contexts AS c ON c.address = m.load_context WHERE t.name = 'Plugin.Main' GROUP BY c.address", new[] { _first, _second, _kept }.Select(n => Golden.Row(n.Name, 1)));
        _all.Clear();
    }
}
