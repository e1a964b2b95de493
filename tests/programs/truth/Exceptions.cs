// Exceptions in flight, kept, thrown again, out of initializers; and the ends that a process can take.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.ExceptionServices;
using System.Threading;

namespace Truth;

class OwnException : Exception { public int Code; public OwnException(string message, int code = 0, Exception inner = null) : base(message, inner) => Code = code; }
static class FailsToInitialize { public static readonly int Value = Exceptions.Throw("out of the initializer"); }
static class FailsGeneric<T> { public static readonly int Value = Exceptions.Throw("out of a generic initializer"); }

static class Exceptions
{
    static readonly List<(string Thread, string Type, string Message)> _inFlight = new();
    static int _started;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Throw(string message) => throw new OwnException(message, 71);

    static Exception Catch(Action action) { try { action(); return null; } catch (Exception e) { return e; } }

    public static void Make()
    {
        Cases.Add("initializer", Catch(() => GC.KeepAlive(FailsToInitialize.Value)));
        Cases.Add("initializer again", Catch(() => GC.KeepAlive(FailsToInitialize.Value)));
        Cases.Add("generic initializer", Catch(() => GC.KeepAlive(FailsGeneric<string>.Value)));
        Exception thrown = Catch(() => Throw("thrown twice")), again = Catch(() => ExceptionDispatchInfo.Capture(thrown).Throw()); Cases.Add("thrown again", again);
        Cases.Add("remote trace", ExceptionDispatchInfo.SetRemoteStackTrace(new OwnException("from elsewhere"), "   at Elsewhere.Method() in far.cs:line 7"));
        Cases.Add("never thrown", new OwnException("never thrown", 3, new OwnException("inner of it")));
        Cases.Add("aggregate", new AggregateException("several", new OwnException("one of them"), new OwnException("another")));
        Cases.Add("invoked", Catch(() => typeof(Exceptions).GetMethod("Throw").Invoke(null, new object[] { "by reflection" })));
        Start("in a filter", () => { try { Throw("seen by a filter"); } catch (OwnException) when (Wait()) { } }, "Truth.OwnException", "seen by a filter");
        Start("in a handler", () => { try { Throw("being handled"); } catch (OwnException) { Wait(); } }, "Truth.OwnException", "being handled");
        Start("in a finally", () => { try { try { Throw("on its way"); } finally { Wait(); } } catch (OwnException) { } }, "Truth.OwnException", "on its way");
        Start("in a nested handler", () => { try { Throw("outer"); } catch (OwnException) { try { Throw("nested"); } catch (OwnException) { Wait(); } } }, "Truth.OwnException", "nested");
        Start("after a nested handler", () => { try { Throw("outer, again current"); } catch (OwnException) { try { Throw("nested and done"); } catch (OwnException) { } Wait(); } }, "Truth.OwnException", "outer, again current");
        Start("after all", () => { try { Throw("done"); } catch (OwnException) { } Wait(); }, null, null);
        SpinWait.SpinUntil(() => Volatile.Read(ref _started) == 6);
    }

    static bool Wait() { Interlocked.Increment(ref _started); Thread.Sleep(Timeout.Infinite); return true; }
    static void Start(string name, ThreadStart body, string type, string message) { _inFlight.Add((name, type, message)); new Thread(body, Holding.Stack) { IsBackground = true, Name = name }.Start(); }

    public static void Write()
    {
        Golden.Section("exceptions: in flight");
        foreach (var (thread, type, message) in _inFlight)
        {
            if (type == null) { Golden.Query($"SELECT exception FROM threads WHERE name = '{thread}'", Golden.Row((object)null)); continue; }
            Golden.Query($"SELECT e.type_name, e.message FROM threads AS t JOIN exceptions AS e ON e.object = t.exception WHERE t.name = '{thread}'", Golden.Row(type, message));
            Golden.Query($"SELECT e.message FROM exceptions AS e JOIN threads AS t ON t.address = e.thread WHERE t.name = '{thread}' AND e.object = t.exception", Golden.Row(message));
        }
        Golden.Section("exceptions: kept");
        foreach (string id in new[] { "initializer", "initializer again", "generic initializer", "thrown again", "never thrown", "invoked", "remote trace" })
        {
            var e = (Exception)Cases.All.First(c => c.Id == id).Object; var message = (string)typeof(Exception).GetField("_message", BindingFlags.NonPublic | BindingFlags.Instance).GetValue(e);
            Golden.Query("SELECT e.type_name, e.message, e.hresult, i.type_name, i.message FROM exceptions AS e LEFT JOIN exceptions AS i ON i.object = e.inner_exception WHERE e.object = " + Cases.At(id), Golden.Row(Spelling.Name(e.GetType()), message, e.HResult, e.InnerException == null ? null : Spelling.Name(e.InnerException.GetType()), e.InnerException?.Message));
        }
        // Where it was thrown stands in the trace, wherever the runtime keeps it.
        Golden.Section("exceptions: traces that are kept as frames");
        Golden.Query("SELECT method_name FROM exception_frames WHERE row = 0 AND object = " + Cases.At("thrown again"), Golden.Row("Truth.Exceptions.Throw"));
        Golden.One("SELECT count(*) FROM exception_frames WHERE object = " + Cases.At("never thrown"), 0);
        Golden.Section("spelling: traces that are kept as text (exceptions.remote_stack_trace)");
        FieldInfo text = typeof(Exception).GetField("_remoteStackTraceString", BindingFlags.NonPublic | BindingFlags.Instance);
        foreach (string id in new[] { "remote trace", "thrown again", "never thrown", "initializer" })
            Golden.Query("SELECT remote_stack_trace FROM exceptions WHERE object = " + Cases.At(id), Golden.Row(text.GetValue(Cases.All.First(c => c.Id == id).Object)));
        foreach (string id in new[] { "initializer", "generic initializer" })
            Golden.Query("SELECT i.remote_stack_trace FROM exceptions AS e JOIN exceptions AS i ON i.object = e.inner_exception WHERE e.object = " + Cases.At(id), Golden.Row(text.GetValue(((Exception)Cases.All.First(c => c.Id == id).Object).InnerException)));
        _inFlight.Clear();
    }

    // --- Ends of a process: what stands in the dump that the runtime writes --------------------------------------

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Recurse(int n) { Span<long> local = stackalloc long[64]; local[0] = n; return n == int.MaxValue ? 0 : Recurse(n + 1) + (int)local[0]; }

    public static void Crash(string mode)
    {
        // INFLIGHT: the thread is handling it; what is only given to FailFast was never thrown.
        void Expect(string type, string message, bool inFlight = true)
        {
            Golden.Open();
            Golden.Section("crash: " + mode);
            Golden.Query("SELECT DISTINCT e.message FROM exceptions AS e WHERE e.type_name = '" + type + "'", Golden.Row(message));
            Golden.One("SELECT t.name FROM dump_info AS d JOIN threads AS t ON t.os_id = d.signal_thread", "the one that crashes");
            if (inFlight)
            {
                Golden.Query("SELECT e.type_name, e.message FROM threads AS t JOIN exceptions AS e ON e.object = t.exception WHERE t.name = 'the one that crashes'", Golden.Row(type, message));
                Golden.Query("SELECT t.name FROM exceptions AS e JOIN threads AS t ON t.address = e.thread WHERE e.object = t.exception AND e.type_name = '" + type + "'", Golden.Row("the one that crashes"));
            }
            Golden.Close();
        }
        Thread.CurrentThread.Name = "main";
        var thread = new Thread(() =>
        {
            switch (mode)
            {
                case "crash-stackoverflow": Expect("System.StackOverflowException", null); Recurse(0); break;
                case "crash-unhandled": Expect("Truth.OwnException", "nobody catches it"); Throw("nobody catches it"); break;
                case "crash-nullreference": Expect("System.NullReferenceException", new NullReferenceException().Message); ((string)Volatile.Read(ref _nothing)).Trim(); break;
                case "crash-failfast": Expect("Truth.OwnException", "given to FailFast", false); Environment.FailFast("failing fast", new OwnException("given to FailFast")); break;
                default: throw new ArgumentException("no mode " + mode);
            }
        }) { Name = "the one that crashes" };
        thread.Start(); thread.Join();
    }
    static object _nothing;
}
