// The cookbook's questions, each with its answer: what a question asks about exists here in a number that SIZE gives:
//
//   none     0: the right answer to every question is that there is none
//   small    a few
//   large    100 times as many
//
// Whatever may be mistaken for it exists at every size. Records name recipes as ${NAME}; recipes.list says which they are.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Threading;
using System.Threading.Tasks;
using Microsoft.Extensions.DependencyInjection.ServiceLookup;
using Truth;

namespace Microsoft.Extensions.DependencyInjection.ServiceLookup
{
    // Of the name and with the field that the package's class has.
    sealed class ServiceProviderEngineScope { public List<object> _disposables = new(); }
}

namespace Recipes
{
    class Bulk { public long A, B, C, D; }                    // 48 bytes
    class Young { public long A, B, C, D, E, F, G, H; }       // 80 bytes
    class Garbage { public byte[] Load = new byte[1000]; }
    class Node { public string Name; public Node Next; public int Id; } // 40 bytes
    class OwnException : Exception { }
    class DeeperException : OwnException { }
    class Derived { public int X; }
    class CacheItem { public int Id; }
    class Doc { public string Body, Title; }
    class Report { public string Text; }
    class Service : IDisposable { public byte[] Buffer = new byte[100]; public void Dispose() { } }
    class Key { }
    class Value { public int Id; }
    class Person { public int Id; }
    class Handled { }
    class Finalizable { public int Id; ~Finalizable() { GC.KeepAlive(this); } }
    class Publisher { public event EventHandler Changed; public void Raise() => Changed?.Invoke(this, null); }
    class Subscriber { public byte[] Load = new byte[50]; public void OnChanged(object sender, EventArgs e) { } }
    class Listener { public int Id; public void OnShared(object sender, EventArgs e) { } }
    static class Events { public static event EventHandler Shared; public static void Raise() => Shared?.Invoke(null, null); }
    class Work { public int Id; }

    static class Statics
    {
        public static readonly List<Bulk> Bulk = new();
        public static readonly List<Young> Young = new();
        public static readonly List<object> Others = new();
        public static Dictionary<string, Node> Map;
        public static Node[] Cache; // a step nearer than the map
        public static Dictionary<string, CacheItem> ItemCache; public static Dictionary<int, (long, long)> NumberCache; public static Dictionary<(int, int), string> TupleCache; public static Dictionary<int, (int, CacheItem)> MixedCache; public static ConcurrentDictionary<int, CacheItem> ConcurrentCache;
        public static readonly CancellationTokenSource Application = new(), Other = new();
        public static ServiceProviderEngineScope Scope;
        public static readonly ConditionalWeakTable<Key, Value> Weak = new();
        public static readonly List<Person> People = new(), AlsoPeople = new();
        public static Publisher Publisher, Harmless;
        public static readonly List<Subscriber> KeptSubscribers = new();
        public static readonly List<Timer> Timers = new();
        public static readonly List<TaskCompletionSource> Sources = new();
        public static readonly List<AssemblyLoadContext> Contexts = new();
        [ThreadStatic] public static List<Person> PerThread;
    }

    static partial class Program
    {
        public static readonly List<object> Keep = new();
        static List<object> _dropped = new();
        static int n; // 0, 1 or 100
        static readonly List<Action> _later = new();
        static readonly List<GCHandle> _handles = new();
        static string P(string name) => "(${" + name + "})";
        static void Section(string name, bool statics = false) => _later.Add(() => Golden.Section(name, statics));
        static void Rows(string sql, params object[][] rows) => _later.Add(() => Golden.Sorted(sql, rows.Where(r => r != null)));
        static void One(string sql, object value) => _later.Add(() => Golden.One(sql, value));
        static int StringSize(int length) => (22 + 2 * length + 7) / 8 * 8;
        // A text of its own, not a literal.
        static string Text(params object[] parts) => string.Concat(parts.Select(p => p.ToString()).ToArray());

        static int Main()
        {
            string size = Environment.GetEnvironmentVariable("SIZE") ?? "small";
            n = size == "none" ? 0 : size == "small" ? 1 : size == "large" ? 100 : throw new ArgumentException("SIZE is none, small or large");
            OnThread(() => { Heap(); Strings(); Graph(); Cancellation(); Scopes(); Caches(); Plugins(); WeakTables(); Roots(); Subscriptions(); Handles(); Process(); Planned(); });
            OnThread(() => { GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect(); });
            OnThread(() => { Golden.Open(); foreach (var a in _later) a(); _later.Clear(); Two(); Golden.Close(); });
            _dropped = null;
            OnThread(() => { for (int i = 0; i < 3; i++) { GC.Collect(2, GCCollectionMode.Forced, true, true); GC.WaitForPendingFinalizers(); } });
            OnThread(Last);
            Console.WriteLine("ready " + Environment.ProcessId);
            Console.Out.Flush();
            Console.In.ReadLine();
            return 0;
        }

        static void OnThread(ThreadStart body) { var t = new Thread(body, 16 << 20); t.Start(); t.Join(); }

        // After the last collection: what is young, and what is dead and not collected.
        static void Last() { for (int i = 0; i < 200 * n; i++) Statics.Young.Add(new Young()); for (int i = 0; i < 20 * n; i++) _ = new Garbage(); }

        static void Heap()
        {
            Statics.Young.Capacity = 200 * n + 1;
            for (int i = 0; i < 1000 * n; i++) Statics.Bulk.Add(new Bulk());
            for (int i = 0; i < 3 * n; i++) { Keep.Add(new OwnException()); Keep.Add(new DeeperException()); Keep.Add(new DeeperException()); Keep.Add(new Derived { X = i }); }
            for (int i = 0; i < Math.Min(n, 10); i++) Keep.Add(new byte[1000000 + i]);
            Section("can I trust it, and what is it");
            _later.Add(() => Golden.Query("SELECT complete, unwalked_bytes FROM " + P("TRUST"), Golden.Row(1, 0)));
            One("SELECT count(*) FROM " + P("LOST"), 0);
            _later.Add(() => Golden.Query("SELECT runtime_version, arch, gc_mode, process_id, written_by FROM " + P("DUMP_OF"), Golden.Row(Environment.Version.ToString(), "x64", System.Runtime.GCSettings.IsServerGC ? "server" : "workstation", Environment.ProcessId, "createdump")));
            Section("what is on the heap");
            if (n == 100) Rows("SELECT object_count, total_size, average FROM " + P("MOST") + " WHERE name = 'Recipes.Bulk'", Golden.Row(1000 * n, 48000 * n, 48));
            Rows("SELECT name, object_count, total_size FROM " + P("NAMESPACE") + " WHERE name = 'Recipes.Bulk'", n == 0 ? null : Golden.Row("Recipes.Bulk", 1000 * n, 48000 * n));
            One("SELECT count(*) FROM " + P("MODULES") + " WHERE name = 'recipes.dll'", 1);
            One("SELECT count(*) FROM " + P("KINDS") + " WHERE kind IN ('string', 'szarray', 'class')", 3);
            Rows("SELECT name, object_count FROM " + P("DERIVED") + " WHERE name LIKE 'Recipes.%'", n == 0 ? null : Golden.Row("Recipes.DeeperException", 6 * n), n == 0 ? null : Golden.Row("Recipes.OwnException", 3 * n));
            One("SELECT count(*) FROM " + P("OBJECTS"), 3 * n);
            Rows("SELECT type_name, length FROM " + P("LARGEST") + " WHERE length BETWEEN 1000000 AND 1001000 AND type_name = 'System.Byte[]'", Enumerable.Range(0, Math.Min(n, 10)).Select(i => Golden.Row("System.Byte[]", 1000000 + i)).ToArray());
            Section("where it lies");
            if (n == 100) Rows("SELECT type_name, old, young FROM " + P("AGES") + " WHERE type_name IN ('Recipes.Bulk', 'Recipes.Young')", Golden.Row("Recipes.Bulk", 1000 * n, 0), Golden.Row("Recipes.Young", 0, 200 * n));
            // Every second array of the heap for pinned objects is dropped: as many holes of one size.
            for (int i = 0; i < 40 * n; i++) (i % 2 == 1 ? Keep : _dropped).Add(GC.AllocateArray<byte>(4976, pinned: true));
            One("SELECT coalesce(sum(blocks), 0) >= " + 20 * n + " FROM " + P("PIECES") + " WHERE generation = 4", 1);
            if (n == 100) One("SELECT count(*) >= 5 FROM " + P("BEHIND") + " WHERE generation = 4 AND size = 5000 AND next_type = 'System.Byte[]'", 1);
            One("SELECT coalesce(sum(holes), 0) >= " + 20 * n + " FROM " + P("HOLES") + " WHERE next_type = 'System.Byte[]'", 1);
            Section("garbage");
            // A word on a stack may still look like a reference to one of them.
            Rows("SELECT type_name, objects BETWEEN " + (20 * n - 2) + " AND " + 20 * n + " FROM " + P("GARBAGE") + " WHERE type_name = 'Recipes.Garbage'", n == 0 ? null : Golden.Row("Recipes.Garbage", true));
        }

        static void Strings()
        {
            for (int i = 0; i < Math.Min(n, 3); i++) Keep.Add(new string((char)('k' + i), 300000 - i));
            for (int i = 0; i < 10 * n; i++) Keep.Add(Text("recipes-dup", "licate text"));
            for (int i = 0; i < 5 * n; i++) Keep.Add(Text("a sur", "rogate of number ", i));
            // References to a few long strings are not many long strings.
            string[] shared = { new string('a', 400), new string('b', 500), new string('c', 600) };
            if (n > 0) for (int i = 0; i < 30 * n; i++) Keep.Add(new Doc { Body = shared[i % 3], Title = i % 3 == 0 ? shared[0] : null });
            for (int i = 0; i < 10 * n; i++) Keep.Add(new Report { Text = new string('r', 100) });
            for (int i = 0; i < 8 * n; i++) { Keep.Add(new long[] { 3, 1, 4, 1, 5, 92653 }); }
            int dup = StringSize(23);
            Section("strings");
            Rows("SELECT length FROM " + P("LONGEST") + " WHERE length > 200000", Enumerable.Range(0, Math.Min(n, 3)).Select(i => Golden.Row(300000 - i)).ToArray());
            foreach (var (recipe, count, wasted) in new[] { ("SAME_TEXT", "copies", "wasted"), ("SAME_STRING", "count", "wasted_bytes") })
                Rows($"SELECT {count}, {wasted} FROM {P(recipe)} WHERE value LIKE 'recipes-dup%'", n == 0 ? null : Golden.Row(10 * n, (10 * n - 1) * dup));
            One("SELECT count(*) FROM " + P("OCCURS") + " WHERE value LIKE 'a sur%'", 5 * n);
            One("SELECT count(*) FROM " + P("OCCURS"), 5 * n);
            Rows("SELECT type_name, field, strings, bytes FROM " + P("LONG_FIELDS") + " WHERE type_name IN ('Recipes.Doc', 'Recipes.Report')", n == 0 ? null : Golden.Row("Recipes.Doc", "Body", 3, shared.Sum(s => StringSize(s.Length))),
                n == 0 ? null : Golden.Row("Recipes.Doc", "Title", 1, StringSize(400)), n == 0 ? null : Golden.Row("Recipes.Report", "Text", 10 * n, 10 * n * StringSize(100)));
            Rows("SELECT type_name, length, count, wasted_bytes FROM " + P("SAME_ARRAYS") + " WHERE type_name = 'System.Int64[]' AND length = 6", n == 0 ? null : Golden.Row("System.Int64[]", 6, 8 * n, (8 * n - 1) * (24 + 48)));
        }

        static void Graph()
        {
            int nodes = n == 0 ? 0 : 1000, map = 100 * n;
            if (nodes > 0) { Node first = null; for (int i = nodes; i-- > 0;) first = new Node { Id = i, Next = first, Name = i % 10 == 0 ? Text("node-", i) : null }; Keep.Insert(0, first); }
            if (map > 0)
            {
                Statics.Map = new();
                for (int i = 0; i < map; i++) Statics.Map.Add(Text("map-", i), new Node { Id = i, Name = Text("map-", i) });
                Statics.Cache = Enumerable.Range(0, (map + 2) / 3).Select(i => Statics.Map["map-" + 3 * i]).ToArray();
            }
            int alone = map - (map + 2) / 3;
            Section("why is it alive", true);
            if (n == 100) Rows("SELECT type_name, root_kind, root_name FROM (SELECT * FROM " + P("FREED") + " LIMIT 1)", Golden.Row("System.Collections.Generic.List<System.Object>", "static", "Recipes.Program.Keep"));
            if (n == 0) { One("SELECT count(*) FROM " + P("WHY"), 0); One("SELECT count(*) FROM " + P("ONE_LINE"), 0); One("SELECT count(*) FROM " + P("ALL_ROOTS"), 0); One("SELECT count(*) FROM " + P("TREE"), 0); }
            else
            {
                _later.Add(() => Golden.Query("SELECT hop, type_name, field, root_kind, root_name FROM " + P("WHY") + " WHERE hop < 4", Golden.Row(0, "System.Collections.Generic.List<System.Object>", null, "static", "Recipes.Program.Keep"), Golden.Row(1, "System.Object[]", "_items", null, null), Golden.Row(2, "Recipes.Node", "[0]", null, null), Golden.Row(3, "Recipes.Node", "Next", null, null)));
                _later.Add(() => Golden.Query("SELECT count(*), sum(type_name = 'Recipes.Node') FROM " + P("WHY"), Golden.Row(2 + 991 + 1, 991)));
                _later.Add(() => Golden.Query("SELECT path FROM " + P("ONE_LINE"), Golden.Row("static Recipes.Program.Keep -> System.Collections.Generic.List<System.Object> -> _items System.Object[] -> [0] Recipes.Node -> Name System.String")));
                Rows("SELECT root_kind, root_name FROM " + P("ALL_ROOTS") + " WHERE hop = 0", Golden.Row("static", "Recipes.Statics.Cache"), Golden.Row("static", "Recipes.Statics.Map"));
                Rows("SELECT depth, field, type_name, object_count FROM " + P("TREE"), Golden.Row(0, null, "System.Collections.Generic.Dictionary<System.String, Recipes.Node>", 1), Golden.Row(1, "_entries", "System.Collections.Generic.Dictionary<System.String, Recipes.Node>+Entry[]", 1), Golden.Row(3, "Name", "System.String", alone),
                    Golden.Row(2, "[].key", "System.String", map), Golden.Row(2, "[].value", "Recipes.Node", alone));
            }
            _later.Add(() => Golden.Query("SELECT nodes, together FROM " + P("TOGETHER"), Golden.Row(nodes + map, (nodes + map) * 40 + Enumerable.Range(0, nodes).Where(i => i % 10 == 0).Sum(i => StringSize(("node-" + i).Length)) + Enumerable.Range(0, map).Sum(i => StringSize(("map-" + i).Length)))));
            One("SELECT count(*) FROM " + P("COPIES"), Math.Min(5, 2 * Enumerable.Range(0, map).Count(i => i.ToString().StartsWith("50"))));
            Section("suspects", true);
            // The nodes of disposed registrations are an accumulation, and the only one of size none.
            if (n == 0) One("SELECT count(*) FROM " + P("SUSPECTS") + " WHERE path NOT LIKE '%FreeNodeList%' AND path NOT LIKE 'frozen %'", 0);
            else One("SELECT count(*) FROM " + P("SUSPECTS") + " WHERE object_count = " + 1000 * n + " AND path LIKE 'static Recipes.Statics.Bulk %'", 1);
            One("SELECT count(*) FROM " + P("SUSPECTS") + " WHERE path LIKE 'frozen %'", 0);
            Section("which types are alive");
            if (n == 100) Rows("SELECT name, object_count, reachable_count, reachable_size FROM " + P("ALIVE") + " WHERE name = 'Recipes.Bulk'", Golden.Row("Recipes.Bulk", 1000 * n, 1000 * n, 48000 * n));
            One("SELECT count(*) FROM " + P("ALIVE") + " WHERE name = 'Recipes.Garbage'", 0);
        }

        static void Cancellation()
        {
            // 5,000 registrations that were disposed leave nodes that are used again: none of them is live.
            var registrations = Enumerable.Range(0, 5000).Select(_ => Statics.Application.Token.Register(() => { })).ToList(); foreach (var r in registrations) r.Dispose();
            for (int i = 0; i < 5 * n; i++) Statics.Application.Token.Register(() => { });
            for (int i = 0; i < 3 * n; i++) Keep.Add(CancellationTokenSource.CreateLinkedTokenSource(Statics.Other.Token));
            Section("cancellation registrations", true);
            Rows("SELECT registrations, substr(held_by, 1, 37) FROM " + P("REGISTRATIONS") + " WHERE held_by LIKE 'static Recipes.Statics.%'", n == 0 ? null : Golden.Row(5 * n, "static Recipes.Statics.Application ->"), n == 0 ? null : Golden.Row(3 * n, "static Recipes.Statics.Other -> Syste"));
            if (n == 0) One("SELECT count(*) FROM " + P("REGISTRATIONS"), 0);
        }

        static void Scopes()
        {
            Statics.Scope = new(); for (int i = 0; i < 4 * n; i++) Statics.Scope._disposables.Add(new Service());
            Section("scopes");
            Rows("SELECT type_name, services, bytes FROM " + P("SCOPE"), n == 0 ? null : Golden.Row("Recipes.Service", 4 * n, 4 * n * (24 + 128)));
        }

        static void Caches()
        {
            int entries = 200 * n;
            if (n > 0) { Statics.ItemCache = new(); Statics.NumberCache = new(); Statics.TupleCache = new(); Statics.MixedCache = new(); Statics.ConcurrentCache = new(); }
            for (int i = 0; i < entries; i++)
            {
                Statics.ItemCache.Add(Text("item ", i), new CacheItem { Id = i }); Statics.NumberCache.Add(i, (i, i)); Statics.TupleCache.Add((i, i), Text("tuple ", i));
                Statics.MixedCache.Add(i, (i, new CacheItem { Id = i })); Statics.ConcurrentCache[i] = new CacheItem { Id = i };
            }
            Section("caches without a limit", true);
            var caches = new object[] { Statics.ItemCache, Statics.NumberCache, Statics.TupleCache, Statics.MixedCache, Statics.ConcurrentCache }; var names = new[] { "ItemCache", "NumberCache", "TupleCache", "MixedCache", "ConcurrentCache" };
            for (int i = 0; i < 5; i++)
            {
                if (caches[i] == null) continue;
                string name = names[i]; object cache = caches[i]; // each by itself, so that one that is missed does not hide the others
                Rows($"SELECT type_name, entries FROM {P("CACHES")} WHERE held_by LIKE 'static Recipes.Statics.{name} %'", Golden.Row(Spelling.Name(cache.GetType()), ((ICollection)cache).Count));
            }
            if (n == 0) One("SELECT count(*) FROM " + P("CACHES") + " WHERE held_by LIKE '%Recipes.%'", 0);
            if (n == 0) { Section("spelling: a cache of a few entries that the library keeps is none"); One("SELECT count(*) FROM " + P("CACHES"), 0); }
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Plugins()
        {
            using Stream s = typeof(Program).Assembly.GetManifestResourceStream("Plugin.dll"); var bytes = new byte[s.Length]; s.ReadExactly(bytes);
            int contexts = n == 0 ? 0 : n == 1 ? 2 : 50;
            for (int i = 0; i < contexts; i++)
            {
                var context = new AssemblyLoadContext("plugin " + i, true);
                Keep.Add(Activator.CreateInstance(context.LoadFromStream(new MemoryStream(bytes)).GetType("Plugin.Main")));
                if (i % 2 == 1) context.Unload(); else Statics.Contexts.Add(context); // one that nobody holds unloads itself
            }
            // Two assemblies that have a class of the same name are not one assembly loaded twice.
            foreach (string name in new[] { "EqualA", "EqualB" })
                Keep.Add(Activator.CreateInstance(AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.Run).DefineDynamicModule(name).DefineType("Equal.Name", TypeAttributes.Public).CreateType()));
            Section("types loaded twice");
            Rows("SELECT name, copies FROM " + P("TWICE") + " WHERE name LIKE 'Plugin.%' OR name LIKE 'Equal.%'", n == 0 ? null : Golden.Row("Plugin.Main", contexts));
            if (n == 0) One("SELECT count(*) FROM " + P("TWICE"), 0);
            Section("what keeps a plugin loaded", true);
            Rows("SELECT DISTINCT name, is_unloading, root_name FROM " + P("PLUGIN") + " WHERE hop = 0 AND root_kind = 'static'", Enumerable.Range(0, contexts).Select(i => Golden.Row("plugin " + i, i % 2 == 1, "Recipes.Program.Keep")).ToArray());
            One("SELECT count(DISTINCT name) FROM " + P("PLUGIN"), contexts);
            Section("assemblies and contexts");
            One("SELECT count(*) FROM " + P("ASSEMBLIES") + " WHERE name LIKE 'Plugin%' AND is_collectible", contexts);
            Rows("SELECT name, is_dynamic, is_collectible FROM " + P("ASSEMBLIES") + " WHERE name LIKE 'recipes%' OR name LIKE 'Equal%'", Golden.Row("EqualA", true, false), Golden.Row("EqualB", true, false), Golden.Row("recipes.dll", false, false));
            Rows("SELECT name, is_collectible, is_unloading FROM " + P("CONTEXTS") + " WHERE name LIKE 'plugin %'", Enumerable.Range(0, contexts).Select(i => Golden.Row("plugin " + i, true, i % 2 == 1)).ToArray());
        }

        static void WeakTables()
        {
            for (int i = 0; i < Math.Min(n, 3); i++) { var key = new Key(); Keep.Add(key); Statics.Weak.Add(key, new Value { Id = i }); }
            Section("weak tables");
            Rows("SELECT key, value, is_reachable FROM " + P("WEAK_TABLES") + " WHERE key LIKE 'Recipes.%'", Enumerable.Range(0, Math.Min(n, 3)).Select(_ => Golden.Row("Recipes.Key", "Recipes.Value", true)).ToArray());
        }

        static void Roots()
        {
            for (int i = 0; i < 4 * n; i++) Statics.People.Add(new Person { Id = i });
            var ready = new CountdownEvent(2);
            for (int t = 0; t < 2; t++)
            {
                int count = (t + 1) * n;
                new Thread(() => { SetPerThread(count); ready.Signal(); Thread.Sleep(Timeout.Infinite); }, 256 << 10) { IsBackground = true, Name = "people of thread " + t }.Start();
            }
            ready.Wait();
            Section("how many, and which root keeps them", true);
            Rows("SELECT root_kind, root_name, instances, bytes FROM " + P("BY_ROOT"), n == 0 ? null : Golden.Row("static", "Recipes.Statics.People", 4 * n, 4 * n * 24), n == 0 ? null : Golden.Row("thread_static", "Recipes.Statics.PerThread", 3 * n, 3 * n * 24));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void SetPerThread(int count) => Statics.PerThread = Enumerable.Range(0, count).Select(i => new Person { Id = 1000 + i }).ToList();

        static void Subscriptions()
        {
            Statics.Publisher = new(); Statics.Harmless = new();
            for (int i = 0; i < 2 * n; i++) Statics.Publisher.Changed += new Subscriber().OnChanged;
            for (int i = 0; i < 3 * n; i++) Events.Shared += new Listener().OnShared;
            // These are kept by a list too: no event leaks them.
            for (int i = 0; i < 4; i++) { var kept = new Subscriber(); Statics.KeptSubscribers.Add(kept); Statics.Harmless.Changed += kept.OnChanged; }
            Section("events", true);
            Rows("SELECT publisher_type, event, target_type, method_name, handlers FROM " + P("SUBSCRIBED") + " WHERE publisher_type LIKE 'Recipes.%'", Golden.Row("Recipes.Publisher", "Changed", "Recipes.Subscriber", "Recipes.Subscriber.OnChanged", 2 * n + 4), n == 0 ? null : Golden.Row("Recipes.Events", "Shared", "Recipes.Listener", "Recipes.Listener.OnShared", 3 * n));
            Rows("SELECT publisher_type, event, method_name, handlers FROM " + P("CONTROL"), n == 0 ? null : Golden.Row("Recipes.Publisher", "Changed", "Recipes.Subscriber.OnChanged", 2 * n), Golden.Row("Recipes.Publisher", "Changed", "Recipes.Subscriber.OnChanged", 4));
            Rows("SELECT publisher_type, event, subscribers, wasted FROM " + P("LEAKING_EVENTS") + " WHERE publisher_type LIKE 'Recipes.%'", n == 0 ? null : Golden.Row("Recipes.Publisher", "Changed", 2 * n, 2 * n * (24 + 80)), n == 0 ? null : Golden.Row("Recipes.Events", "Shared", 3 * n, 3 * n * 24));
        }

        static void Handles()
        {
            for (int i = 0; i < 2 * n; i++) { _handles.Add(GCHandle.Alloc(new Handled())); var weak = new Handled(); Keep.Add(weak); _handles.Add(GCHandle.Alloc(weak, GCHandleType.Weak)); _handles.Add(GCHandle.Alloc(new int[500], GCHandleType.Pinned)); }
            for (int i = 0; i < 5 * n; i++) Keep.Add(new Finalizable { Id = i });
            Section("handles, pinned objects, finalizers");
            Rows("SELECT kind, type_name, handles FROM " + P("HANDLES") + " WHERE type_name = 'Recipes.Handled'", n == 0 ? null : Golden.Row("strong", "Recipes.Handled", 2 * n), n == 0 ? null : Golden.Row("weak_short", "Recipes.Handled", 2 * n));
            Rows("SELECT kind, type_name, sum(objects), sum(bytes) FROM " + P("PINNED") + " WHERE type_name = 'System.Int32[]' GROUP BY 1, 2", n == 0 ? null : Golden.Row("pinned", "System.Int32[]", 2 * n, 2 * n * (24 + 2000)));
            Rows("SELECT q.list, count(*) FROM finalizer_queue AS q JOIN objects AS o ON o.address = q.object WHERE o.type_name = 'Recipes.Finalizable' GROUP BY 1", n == 0 ? null : Golden.Row("registered", 5 * n));
        }

        static void Process()
        {
            int threads = Math.Min(n, 5); var ready = new CountdownEvent(threads + 1);
            for (int i = 0; i < threads; i++) new Thread(() => { ready.Signal(); Thread.Sleep(Timeout.Infinite); }, 256 << 10) { IsBackground = true, Name = "worker " + i }.Start();
            ready.Signal(); ready.Wait();
            Section("threads");
            Rows("SELECT name, is_background, is_finalizer, is_threadpool, exception FROM " + P("THREADS") + " WHERE name LIKE 'worker %'", Enumerable.Range(0, threads).Select(i => Golden.Row("worker " + i, true, false, false, null)).ToArray());
        }

        static async Task Wait(TaskCompletionSource source, Work work) { await source.Task.ConfigureAwait(false); GC.KeepAlive(work); }

        // Tables that docs/schema.md does not have yet.
        static void Planned()
        {
            for (int i = 0; i < 3 * n; i++) { Statics.Timers.Add(new Timer(_ => { }, new Work { Id = i }, 3600000, 1234567)); var source = new TaskCompletionSource(); Statics.Sources.Add(source); _ = Wait(source, new Work { Id = -i }); }
        }

        // Two dumps: BEFORE is that of size small, if this one is large, else the same dump again.
        static void Two()
        {
            Golden.Section("two dumps");
            Golden.Ok("SELECT clr_detach('dump')"); Golden.Ok("SELECT clr_attach('${BEFORE}', 'before')"); Golden.Ok("SELECT clr_attach('${DUMP}', 'after')");
            Golden.Sorted("SELECT name, grew, bytes FROM " + P("GREW") + " WHERE name IN ('Recipes.Bulk', 'Recipes.Report') AND grew <> 0", n < 100 ? Array.Empty<object[]>() : new[] { Golden.Row("Recipes.Bulk", 99 * 1000, 99 * 48000), });
            Golden.One("SELECT count(*) = 1 FROM " + P("IN_BOTH"), 1);
            if (n < 100) Golden.Sorted("SELECT type_name, survived FROM " + P("SURVIVED") + " WHERE type_name = 'Recipes.Bulk'", n == 0 ? Array.Empty<object[]>() : new[] { Golden.Row("Recipes.Bulk", 1000) });
        }
    }
}
