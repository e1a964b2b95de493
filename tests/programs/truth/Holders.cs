// Objects that one root holds, or several, or a chain of thousands: who holds each is worked out by Graph.
using System;
using System.Buffers;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Truth;

class Leaf { public int Id; public byte[] Load = new byte[40]; }
class OneHeld { public Leaf Child = new() { Id = 1 }; public Leaf[] More = { new() { Id = 2 }, new() { Id = 3 } }; }
class TwoHeld { public Leaf Child = new() { Id = 4 }; }
class FiveHeld { public Leaf Child = new() { Id = 5 }; public Leaf Shared; }
class BelowOne { public int Id = 6; }
class BelowTwo { public int Id = 7; }
class Box { public object Value; }
class StackHeld { public int Id = 8; public Leaf Child = new() { Id = 9 }; }
class OnlyStack { public int Id = 10; }
class StaticAndStack { public StackHeld Held; }
class Registry { public List<Leaf> Everything = new(); }
class Service { public Registry Registry; public int Number; }
class Application { public Box Outer; }
class Request { public int Id; public byte[] Buffer = new byte[64]; public Service Service; }
class BusyRequest { public int Id; }
class TableValue { public int Id; }
class ConcurrentValue { public int Id; }
class ListValue { public int Id; }
class ChainNode { public ChainNode Next; public int Id; }
class DoubleNode { public DoubleNode Next, Previous; public DoubleList Owner; public int Id; }
class DoubleList { public DoubleNode First, Last; public int Count; }
class Holder { public Step Next; public int Id; }
class Step { public Holder Next; public int Id; }
class ListedTick { public int Id; public byte[] Load = new byte[100]; }
class QueuedTick { public int Id; public byte[] Load = new byte[100]; }

static class Holders
{
    public static OneHeld One;
    public static TwoHeld TwoA, TwoB;
    public static FiveHeld FiveDirectly;
    public static Box FiveInBox; public static List<object> FiveInList; public static Dictionary<int, object> FiveInTable; public static object[] FiveInArray; public static LinkedList<object> FiveInChain;
    public static Box BelowOneBox, BelowTwoBox; public static object[] BelowTwoArray;
    public static StaticAndStack Both;
    public static Application App; public static SemaphoreSlim Gate, Busy;
    public static Dictionary<int, TableValue> Table; public static ConcurrentDictionary<int, ConcurrentValue> Concurrent; public static Hashtable OldTable;
    public static LinkedList<ListValue> Linked; public static ChainNode Chain; public static DoubleList Double; public static Holder Ring;
    public static ArrayPool<byte> OwnPool;
    public static List<Timer> Ticks;
}

static class Holding
{
    // At 1000, the usual size: 4,000 waiters, 20,000 entries, lists 30,000 deep.
    public static int Size = 1000;
    // Of threads that only wait: whole stacks are in a dump.
    public const int Stack = 256 << 10;
    const int Waiters = 15, Turns = 50;
    static int BusyWaiters => 4 * Size;
    static int Entries => 20 * Size;
    static int Deep => 30 * Size;
    static int Leaves => 5 * Size;
    static readonly ManualResetEventSlim _started = new();

    public static void Make()
    {
        Holders.One = new();
        Holders.TwoA = Holders.TwoB = new();
        var five = new FiveHeld { Shared = new Leaf { Id = 11 } };
        Holders.FiveInBox = new Box { Value = new Box { Value = five } }; Holders.FiveInList = new() { 1, five }; Holders.FiveInTable = new() { [5] = five }; Holders.FiveInArray = new object[] { new object[] { five } }; Holders.FiveInChain = new(new object[] { "first", five });
        Holders.FiveDirectly = new FiveHeld { Shared = five.Shared };
        Holders.BelowOneBox = new Box { Value = new Box { Value = new BelowOne() } };
        var two = new BelowTwo(); Holders.BelowTwoBox = new Box { Value = new Box { Value = two } }; Holders.BelowTwoArray = new object[] { null, new Box { Value = two } };

        var registry = new Registry(); for (int i = 0; i < Leaves; i++) registry.Everything.Add(new Leaf { Id = 1000 + i });
        Holders.App = new Application { Outer = new Box { Value = new Box { Value = new Box { Value = new Box { Value = new Box { Value = new Service { Registry = registry, Number = 1 } } } } } } };
        Holders.Gate = new SemaphoreSlim(0); for (int i = 0; i < Waiters; i++) _ = Wait(Holders.Gate, new Request { Id = i, Service = new Service { Registry = registry, Number = 2 } });
        Holders.Busy = new SemaphoreSlim(0); for (int i = 0; i < BusyWaiters; i++) _ = Wait(Holders.Busy, new BusyRequest { Id = i });

        Holders.Table = new(); Holders.Concurrent = new(); Holders.OldTable = new();
        for (int i = 0; i < Entries; i++) { Holders.Table.Add(i, new TableValue { Id = i }); Holders.Concurrent[i * 7] = new ConcurrentValue { Id = i }; }
        Holders.Linked = new(); Holders.Double = new();
        for (int i = 0; i < Deep; i++)
        {
            Holders.Linked.AddLast(new ListValue { Id = i });
            var node = new DoubleNode { Id = i, Owner = Holders.Double, Previous = Holders.Double.Last };
            if (Holders.Double.Last == null) Holders.Double.First = node; else Holders.Double.Last.Next = node;
            Holders.Double.Last = node; Holders.Double.Count++;
        }
        for (int i = Deep; i-- > 0;) Holders.Chain = new ChainNode { Id = i, Next = Holders.Chain };
        Holder next = null; for (int i = Turns; i-- > 0;) next = new Holder { Id = i, Next = new Step { Id = i, Next = next } };
        Holders.Ring = next; Holder last = next; while (last.Next.Next != null) last = last.Next.Next; last.Next.Next = next;

        Holders.OwnPool = ArrayPool<byte>.Create(1 << 16, 100);
        foreach (ArrayPool<byte> pool in new[] { Holders.OwnPool, ArrayPool<byte>.Shared })
        { var rented = Enumerable.Range(0, Math.Max(3, 60 * Size / 1000)).Select(_ => pool.Rent(40000)).ToList(); foreach (byte[] b in rented) pool.Return(b); }

        Holders.Ticks = new(); for (int i = 0; i < 20; i++) Holders.Ticks.Add(new Timer(Tick, new ListedTick { Id = i }, 3600000, 60000));
        for (int i = 0; i < 30; i++) _ = Later(new QueuedTick { Id = i });
        StartThread(); _started.Wait();
    }

    static async Task Wait(SemaphoreSlim gate, Request request) { await gate.WaitAsync().ConfigureAwait(false); GC.KeepAlive(request); }
    static async Task Wait(SemaphoreSlim gate, BusyRequest request) { await gate.WaitAsync().ConfigureAwait(false); GC.KeepAlive(request); }
    static void Tick(object state) { }

    // A delay: only the library's queue of timers holds it.
    static async Task Later(QueuedTick tick) { await Task.Delay(7200000).ConfigureAwait(false); GC.KeepAlive(tick); }

    static void StartThread() => new Thread(() => Block(), Stack) { IsBackground = true, Name = "holder of locals" }.Start();

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Block()
    {
        var held = new StackHeld(); var only = new OnlyStack();
        Holders.Both = new StaticAndStack { Held = held };
        _started.Set(); Thread.Sleep(Timeout.Infinite);
        GC.KeepAlive(held); GC.KeepAlive(only);
    }

    static string Object(string type, string condition = null) => "(SELECT o.address FROM types AS t JOIN objects AS o ON o.type = t.address WHERE t.name = " + Golden.Sql(type) + (condition == null ? "" : " AND " + condition) + ")";

    // The graph by itself: distance, dominator, how many go with it, and all its roots by name.
    static void Truth(Graph graph, object o, string condition = null)
    {
        string type = Spelling.Name(o.GetType()), at = Object(type, condition);
        var roots = graph.Roots(o); object dominator = graph.Dominator(o);
        Golden.Query($"SELECT o.root_distance, coalesce(d.type_name, 'roots'), o.retained_count FROM objects AS o LEFT JOIN objects AS d ON d.address = o.dominator WHERE o.address = {at}",
            Golden.Row(graph.Distance(o), dominator == null ? "roots" : Spelling.Name(dominator.GetType()), graph.Retained(o).Count));
        _named.Add(() => Golden.Sorted($"SELECT root_kind, root_name FROM path_to_root({at}, 20) WHERE hop = 0 AND root_kind <> 'stack'", roots.Select(r => Golden.Row("static", r))));
        if (dominator != null) return;
        if (roots.Count == 1) _named.Add(() => Golden.Query($"SELECT root_kind, root_name FROM dominators WHERE object = {at}", Golden.Row("static", roots[0])));
        else
        {
            _named.Add(() => Golden.One($"SELECT count(*) FROM dominators WHERE object = {at} AND root_name IN ({string.Join(", ", roots.Select(Golden.Sql))})", 0));
            _spelled.Add(() => Golden.Query($"SELECT root_name, root_count FROM dominators WHERE object = {at}", Golden.Row("several roots", roots.Count)));
            _spelled.Add(() => Golden.One($"SELECT clr_path({at}) LIKE '%one of {roots.Count} roots%'", 1));
        }
    }

    static readonly List<Action> _named = new(), _spelled = new();

    public static void Write()
    {
        object timers = typeof(Timer).Assembly.GetType("System.Threading.TimerQueue").GetProperty("Instances", BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic).GetValue(null);
        var graph = new Graph(("System.Threading.TimerQueue.Instances", timers));
        Golden.Section("holders: distance, dominator, count of what goes with it", true);
        Truth(graph, Holders.One); Truth(graph, Holders.One.Child, "clr_field(o.address, 'Id') = 1"); Truth(graph, Holders.One.More[1], "clr_field(o.address, 'Id') = 3");
        Truth(graph, Holders.TwoA); Truth(graph, Holders.TwoA.Child, "clr_field(o.address, 'Id') = 4");
        var five = (FiveHeld)Holders.FiveInList[1];
        Truth(graph, five, "o.root_distance > 0");
        Truth(graph, five.Shared, "clr_field(o.address, 'Id') = 11");
        Truth(graph, ((Box)Holders.BelowOneBox.Value).Value); Truth(graph, ((Box)Holders.BelowTwoBox.Value).Value);
        Truth(graph, Holders.App); object inner = Holders.App.Outer; while (inner is Box box) inner = box.Value; var registry = ((Service)inner).Registry; Truth(graph, registry); Truth(graph, registry.Everything[^1], $"clr_field(o.address, 'Id') = {999 + Leaves}");
        Truth(graph, Holders.Table[Entries - 1], $"clr_field(o.address, 'Id') = {Entries - 1}"); Truth(graph, Holders.Concurrent[7 * (Entries - 1)], $"clr_field(o.address, 'Id') = {Entries - 1}");
        Truth(graph, Holders.Double); Truth(graph, Holders.Ring, "clr_field(o.address, 'Id') = 0"); Truth(graph, Holders.Ring.Next, "clr_field(o.address, 'Id') = 0");
        foreach (var (name, o) in new (string, object)[] { ("Gate", Holders.Gate), ("Busy", Holders.Busy), ("Table", Holders.Table), ("Concurrent", Holders.Concurrent), ("Linked", Holders.Linked), ("Chain", Holders.Chain), ("Double", Holders.Double), ("Ring", Holders.Ring), ("OwnPool", Holders.OwnPool) })
        {
            int count = graph.Retained(o).Count; string type = Spelling.Name(o.GetType());
            _named.Add(() => Golden.Query($"SELECT o.type_name, o.root_distance, o.dominator, o.retained_count FROM roots AS r JOIN objects AS o ON o.address = r.object WHERE r.name = 'Truth.Holders.{name}'", Golden.Row(type, 0, 0, count)));
        }
        Golden.One("SELECT count(*) FROM types AS t JOIN objects AS o ON o.type = t.address WHERE t.name = 'Truth.Request' AND o.is_reachable", Waiters);
        // An object of a thread's frame alone, and one that a static holds too.
        Golden.Section("holders: stacks");
        Golden.One("SELECT count(*) > 0 FROM threads AS t JOIN roots AS r ON r.thread = t.address WHERE t.name = 'holder of locals' AND r.kind = 'stack' AND r.object = " + Object("Truth.OnlyStack"), 1);
        Golden.One("SELECT count(*) > 0 FROM threads AS t JOIN roots AS r ON r.thread = t.address WHERE t.name = 'holder of locals' AND r.kind = 'stack' AND r.object = " + Object("Truth.StackHeld"), 1);
        Golden.One("SELECT o.is_reachable FROM objects AS o WHERE o.address = " + Object("Truth.OnlyStack"), 1);
        Golden.One("SELECT instr(clr_path(" + Object("Truth.OnlyStack") + "), 'holder of locals') > 0", 1);
        Golden.Section("holders: roots by name", true);
        foreach (var a in _named) a();
        Golden.Query("SELECT root_kind, root_name FROM path_to_root(" + Object("Truth.StackHeld") + ", 20) WHERE hop = 0 AND root_kind <> 'stack'", Golden.Row("static", "Truth.Holders.Both"));

        Golden.Section("holders: chains and rings", true);
        Golden.Query("SELECT count(*), count(DISTINCT path) FROM path_to_root(" + Object("Truth.ChainNode", $"clr_field(o.address, 'Id') = {Deep - 1}") + ", 5)", Golden.Row(Deep, 1));
        Golden.One("SELECT count(DISTINCT path) FROM path_to_root(" + Object("Truth.TwoHeld") + ", 5)", 2);
        Golden.One("SELECT count(DISTINCT path) FROM path_to_root(" + Object("Truth.FiveHeld", "o.root_distance > 0") + ", 5)", 5);
        Golden.One("SELECT length(clr_path(" + Object("Truth.Step", "clr_field(o.address, 'Id') = 49") + ")) < 400", 1);
        foreach (string type in new[] { "Truth.ChainNode", "Truth.DoubleNode", "System.Collections.Generic.LinkedListNode<Truth.ListValue>" })
            Golden.One($"SELECT length(clr_path({Object(type, $"o.root_distance > {Deep / 3} ORDER BY o.root_distance DESC LIMIT 1")})) < 600", 1);
        Golden.Section("holders: timers", true);
        Golden.Query("SELECT count(*), sum(is_reachable) FROM objects WHERE type_name = 'Truth.QueuedTick'", Golden.Row(30, 30)); Golden.Query("SELECT count(*), sum(is_reachable) FROM objects WHERE type_name = 'Truth.ListedTick'", Golden.Row(20, 20));
        Golden.One("SELECT count(*) FROM dominators AS d JOIN retained_by(d.object) AS x JOIN objects AS o ON o.address = x.object WHERE d.root_name = 'Truth.Holders.Ticks' AND o.type_name = 'Truth.QueuedTick'", 0);
        Golden.Section("holders: the pool of arrays", true);
        int own = graph.Retained(Holders.OwnPool).OfType<byte[]>().Count();
        Golden.Query("SELECT count(*), sum(o.length) FROM roots AS r JOIN reachable_from(r.object) AS x JOIN objects AS o ON o.address = x.object WHERE r.name = 'Truth.Holders.OwnPool' AND o.type_name = 'System.Byte[]'", Golden.Row(own, graph.Retained(Holders.OwnPool).OfType<byte[]>().Sum(b => b.Length)));

        Golden.Section("spelling: how several roots are said", true);
        foreach (var a in _spelled) a();
        Golden.One("SELECT clr_path(" + Object("Truth.Step", "clr_field(o.address, 'Id') = 49") + ")", "static Truth.Holders.Ring -> Truth.Holder -> Next Truth.Step -> Next Truth.Holder -> … (49 times) -> Next Truth.Step");
        Golden.One("SELECT clr_path(" + Object("Truth.ChainNode", $"clr_field(o.address, 'Id') = {Deep - 1}") + ")", $"static Truth.Holders.Chain -> Truth.ChainNode -> Next Truth.ChainNode ({Deep - 1} times)");
        Golden.Section("spelling: objects by the root that their path leads from", true);
        foreach (var (type, root, count) in new[] { ("Truth.ChainNode", "Truth.Holders.Chain", Deep), ("Truth.DoubleNode", "Truth.Holders.Double", Deep), ("Truth.TableValue", "Truth.Holders.Table", Entries), ("Truth.Request", "Truth.Holders.Gate", Waiters) })
            Golden.Query($"SELECT r.name, count(*) FROM types AS t JOIN objects AS o ON o.type = t.address JOIN roots AS r ON r.id = o.root WHERE t.name = '{type}' GROUP BY 1", Golden.Row(root, count));
        Golden.Section("suspects: each accumulation once, with its count", true);
        foreach (var (root, count) in new[] { ("Truth.Holders.Table", Entries), ("Truth.Holders.Concurrent", Entries), ("Truth.Holders.Chain", Deep), ("Truth.Holders.Linked", Deep), ("Truth.Holders.Double", Deep), ("Truth.Holders.Busy", BusyWaiters) })
            Golden.Query($"SELECT count(*), max(object_count) FROM leak_suspects WHERE path LIKE 'static {root} %'", Golden.Row(1, count));
        Golden.Query("SELECT count(*), max(object_count) FROM leak_suspects WHERE path LIKE 'static Truth.Holders.OwnPool %'", Golden.Row(1, own));
        Golden.One("SELECT count(*) FROM leak_suspects WHERE path LIKE '%ArrayPool%' AND path NOT LIKE 'static Truth.Holders.OwnPool %'", 1);
        Golden.One("SELECT count(*) FROM leak_suspects WHERE path LIKE 'static Truth.Holders.Gate %'", 0);
        Golden.One($"SELECT count(*) FROM leak_suspects WHERE object_count = {Leaves}", 1);
        Golden.Section("spelling: retained_by_type", true);
        foreach (var (type, root, count) in new[] { ("Truth.OneHeld", "Truth.Holders.One", 1), ("Truth.ChainNode", "Truth.Holders.Chain", 1) })
            Golden.Query($"SELECT root_name, object_count FROM retained_by_type WHERE type_name = '{type}'", Golden.Row(root, count));
        _named.Clear(); _spelled.Clear();
    }
}
