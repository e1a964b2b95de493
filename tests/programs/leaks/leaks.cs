// Objects that are held in the ways that readers of dumps get wrong, each by one root and of a type of
// its own, and the leaks that people write about. Prints "ready PID", then waits on standard input.
//
//   leaks [ITEMS]   ITEMS in a list and a set (1000). With LEAKS_BIG=1 in the environment an array of
//                   300,000,000 references (2.4 GB) too
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

namespace Leaks;

// D1: held by a thread static alone, of a plain class and of a generic one.
class OnlyThreadStatic { }
class OnlyGenericThreadStatic { }
static class PerThread { [ThreadStatic] public static OnlyThreadStatic Value; }
static class PerThread<T> { [ThreadStatic] public static OnlyGenericThreadStatic Value; }

// D2: the value of a ConditionalWeakTable whose key has no references.
class WeakTableValue { }

// D3: four statics beside each other.
class Order { } class Index { } class Chain { public Chain Next; } class Customer { }
static class Statics { public static Order orders; public static Index index; public static Chain chain; public static Customer customer; public static OrderPair pair; }
struct OrderPair { public object Left, Right; }
class HeldByPair { }

// D5: a plugin that one instance keeps loaded.
static class Holder { public static object plugin; }

// D6: two entries of a very large array.
class OnlyFromHuge { }

// Three roots of one object.
class HeldThrice { }
static class First { public static object Value; }
static class Second { public static object Value; }

// Stories.
class Subscription : IDisposable { public byte[] Buffer = new byte[100]; public void Dispose() { } }
class Scope { public readonly List<object> _disposables = new(); }
static class Service
{
    public static readonly CancellationTokenSource Application = new();
    public static readonly List<CancellationTokenSource> Linked = new();
    public static readonly Scope Root = new();
    public static readonly Dictionary<string, Func<int>> Compiled = new();
    public static readonly ConditionalWeakTable<object, object> Table = new();
    public static readonly LinkedList<Item> Order = new();
    public static readonly HashSet<Item> Items = new();
}
class Item { public int Id; }
class TableValue { public object Back; }

static class Program
{
    static readonly object Key = new();
    static readonly ConditionalWeakTable<object, object> Table = new();
    static object _big;
    static GCHandle _handle;

    static void Main(string[] args)
    {
        int items = args.Length > 0 ? int.Parse(args[0]) : 1000;
        StartThread();
        AddValues();
        Plugin("Kept", true);
        if (Environment.GetEnvironmentVariable("LEAKS_BIG") == "1") Huge();
        Stories(items);
        for (int i = 0; i < 5; i++) { GC.Collect(); GC.WaitForPendingFinalizers(); }
        Plugin("Dropped", false); // D4: no collection after it
        Console.WriteLine("ready " + Environment.ProcessId);
        while (Console.In.ReadLine() != null) { }
        GC.KeepAlive(_big);
    }

    static void StartThread()
    {
        var started = new ManualResetEventSlim();
        new Thread(() => { SetThreadStatics(); started.Set(); Thread.Sleep(Timeout.Infinite); }) { IsBackground = true, Name = "holder" }.Start();
        started.Wait();
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void SetThreadStatics() { PerThread.Value = new OnlyThreadStatic(); PerThread<string>.Value = new OnlyGenericThreadStatic(); }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void AddValues()
    {
        Table.Add(Key, new WeakTableValue());
        Statics.orders = new(); Statics.index = new(); Statics.chain = new() { Next = new() }; Statics.customer = new();
        Statics.pair = new OrderPair { Right = new HeldByPair() };
        var thrice = new HeldThrice(); First.Value = thrice; Second.Value = thrice; _handle = GCHandle.Alloc(thrice);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Plugin(string name, bool keep)
    {
        var assembly = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName(name), AssemblyBuilderAccess.RunAndCollect);
        var builder = assembly.DefineDynamicModule(name).DefineType(name + ".Thing", TypeAttributes.Public);
        builder.DefineField("cache", typeof(object), FieldAttributes.Public | FieldAttributes.Static);
        var type = builder.CreateType();
        type.GetField("cache").SetValue(null, new List<int> { 1 });
        if (keep) Holder.plugin = Activator.CreateInstance(type);
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Huge()
    {
        var huge = new object[300_000_000];
        huge[5] = new OnlyFromHuge(); huge[299_999_999] = new OnlyFromHuge();
        _big = huge;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Stories(int items)
    {
        for (int i = 0; i < 50; i++) Service.Linked.Add(CancellationTokenSource.CreateLinkedTokenSource(Service.Application.Token));
        for (int i = 0; i < 40; i++) Service.Root._disposables.Add(new Subscription());
        for (int i = 0; i < 30; i++) { int n = i; Service.Compiled["query-" + i] = () => n; }
        var key = new object(); Service.Table.Add(key, new TableValue { Back = Service.Table }); First.Value = new object[] { First.Value, key };
        for (int i = 0; i < items; i++) { var item = new Item { Id = i }; Service.Order.AddLast(item); Service.Items.Add(item); }
    }
}
