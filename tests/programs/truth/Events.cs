// Delegates of several targets, and events in every place where a program can keep them.
using System;
using System.Collections.Generic;
using System.ComponentModel;
using System.Linq;
using System.Threading;

namespace Truth;

class Target { public int Id; public void First() { } public void Second() { } public void Third() { } public void OnEvent(object sender, EventArgs e) { } }
class Combined { public Action Whole; public Action A, B, C; public Action Only; }
class Publisher { public event EventHandler Changed; public void Raise() => Changed?.Invoke(this, null); }
struct Part { public event EventHandler Changed; public int Id; public void Raise() => Changed?.Invoke(null, null); }
class HasPart { public Part Part; public int Id; }
class Control : Component { static readonly object _click = new(), _load = new(); public event EventHandler Click { add => Events.AddHandler(_click, value); remove => Events.RemoveHandler(_click, value); } public event EventHandler Load { add => Events.AddHandler(_load, value); remove => Events.RemoveHandler(_load, value); } }
class ListBehind { readonly List<Action> _handlers = new(); public event Action Called { add => _handlers.Add(value); remove => _handlers.Remove(value); } }
class RenamedField { EventHandler _changed; public event EventHandler Changed { add => _changed += value; remove => _changed -= value; } }
static class StaticEvents { public static event EventHandler Static; [ThreadStatic] static EventHandler _perThread; [ThreadStatic] public static Action Unused; public static event EventHandler ByAccessor { add => _perThread += value; remove => _perThread -= value; } }
static class ThreadEvents { [field: ThreadStatic] public static event EventHandler PerThread; }
class GenericPublisher<T> { public event EventHandler<T> Fired; public static event EventHandler<T> StaticFired; }

static class Delegates
{
    static readonly Target[] _targets = Enumerable.Range(1, 40).Select(i => new Target { Id = i }).ToArray();
    static readonly List<object> _publishers = new();
    static readonly List<(string Type, string Event, int[] Targets)> _expected = new();
    static readonly CountdownEvent _started = new(2);
    static int _next;

    static EventHandler[] Handlers(int n, string type, string name) { var t = Take(n); _expected.Add((type, name, t.Select(x => x.Id).ToArray())); return t.Select(x => (EventHandler)x.OnEvent).ToArray(); }
    static Target[] Take(int n) { var t = _targets.Skip(_next).Take(n).ToArray(); _next += n; return t; }

    public static void Make()
    {
        var three = Take(3); var c = Cases.Add("combined", new Combined { A = three[0].First, B = three[1].Second, C = three[2].Third }); c.Whole = c.A + c.B + c.C; c.Only = Take(1)[0].First;
        var p = Keep(new Publisher()); foreach (var h in Handlers(3, "Truth.Publisher", "Changed")) p.Changed += h;
        var s = Keep(new HasPart { Id = 1 }); foreach (var h in Handlers(2, "Truth.HasPart", "Part.Changed")) s.Part.Changed += h;
        var control = Keep(new Control()); foreach (var h in Handlers(2, "Truth.Control", null)) control.Click += h; foreach (var h in Handlers(1, "Truth.Control", null)) control.Load += h;
        var behind = Keep(new ListBehind()); var two = Take(2); foreach (var t in two) behind.Called += t.First; _expected.Add(("Truth.ListBehind", null, two.Select(t => t.Id).ToArray()));
        var renamed = Keep(new RenamedField()); foreach (var h in Handlers(2, "Truth.RenamedField", null)) renamed.Changed += h;
        foreach (var h in Handlers(2, "Truth.StaticEvents", "Static")) StaticEvents.Static += h;
        PerThread("events of a thread", Handlers(1, "Truth.ThreadEvents", "PerThread"), Handlers(1, "Truth.StaticEvents", null)); PerThread("events of another thread", Handlers(2, "Truth.ThreadEvents", "PerThread"), null);
        _started.Wait();
        var g = Keep(new GenericPublisher<string>()); var gt = Take(1)[0]; g.Fired += (_, _) => GC.KeepAlive(gt); 
        var array = new HasPart[] { new() { Id = 2 }, new() { Id = 3 } }; Keep(array); foreach (var h in Handlers(1, "Truth.HasPart", "Part.Changed")) array[1].Part.Changed += h;
        var parts = Keep(new Part[2]); foreach (var h in Handlers(2, "Truth.Part[]", null)) parts[1].Changed += h;
    }

    static void PerThread(string name, EventHandler[] handlers, EventHandler[] byAccessor) => new Thread(() => { Subscribe(handlers, byAccessor); handlers = byAccessor = null; _started.Signal(); Thread.Sleep(Timeout.Infinite); }, Holding.Stack) { IsBackground = true, Name = name }.Start();
    static void Subscribe(EventHandler[] handlers, EventHandler[] byAccessor) { foreach (var h in handlers) ThreadEvents.PerThread += h; foreach (var h in byAccessor ?? Array.Empty<EventHandler>()) StaticEvents.ByAccessor += h; }

    static T Keep<T>(T o) { _publishers.Add(o); return o; }

    public static void Write()
    {
        var c = (Combined)Cases.All.First(x => x.Id == "combined").Object;
        Golden.Section("delegates: a combined one and its parts");
        string Row(Delegate d) => "Truth.Target." + d.Method.Name;
        Golden.Query("SELECT d.row, d.method_name, clr_field(d.target, 'Id') FROM refs AS r JOIN delegates AS d ON d.object = r.target WHERE r.field = 'Whole' AND r.source = " + Cases.At("combined"),
            c.Whole.GetInvocationList().Select((d, i) => Golden.Row(i, Row(d), ((Target)d.Target).Id)));
        foreach (string f in new[] { "A", "Only" }) { var d = (Delegate)typeof(Combined).GetField(f).GetValue(c); Golden.Query($"SELECT d.row, d.method_name, clr_field(d.target, 'Id') FROM refs AS r JOIN delegates AS d ON d.object = r.target WHERE r.field = '{f}' AND r.source = " + Cases.At("combined"), Golden.Row(0, Row(d), ((Target)d.Target).Id)); }
        Golden.Section("spelling: delegates.is_part");
        Golden.Sorted("SELECT d.method_name, clr_field(d.target, 'Id'), count(*) FROM delegates AS d WHERE NOT d.is_part AND clr_field(d.target, 'Id') IN (" + string.Join(", ", c.Whole.GetInvocationList().Append(c.Only).Select(d => ((Target)d.Target).Id)) + ")\n   AND d.method_name LIKE 'Truth.Target.%' GROUP BY 1, 2",
            c.Whole.GetInvocationList().Append(c.Only).Select(d => Golden.Row(Row(d), ((Target)d.Target).Id, 1)));
        Golden.Section("events: subscribers by publisher", true);
        foreach (var group in _expected.Where(e => e.Event != null).GroupBy(e => (e.Type, e.Event)))
            Golden.Sorted($"SELECT method_name, clr_field(target, 'Id') FROM event_subscribers WHERE publisher_type = '{group.Key.Type}' AND event = '{group.Key.Event}'", group.SelectMany(e => e.Targets).Select(id => Golden.Row("Truth.Target.OnEvent", id)));
        Golden.Section("events: kept elsewhere than in a field of the event's name", true);
        foreach (var e in _expected.Where(e => e.Event == null && e.Type != "Truth.Control").Append(("Truth.Control", null, _expected.Where(e => e.Type == "Truth.Control").SelectMany(e => e.Targets).ToArray())))
            Golden.Sorted($"SELECT clr_field(target, 'Id') FROM event_subscribers WHERE publisher_type = '{e.Item1}'" + (e.Item1 == "Truth.StaticEvents" ? " AND event <> 'Static'" : ""), e.Item3.Select(id => Golden.Row(id)));
        Golden.Section("events: each target hangs on its delegates alone");
        Golden.One("SELECT count(DISTINCT clr_field(d.target, 'Id')) FROM delegates AS d JOIN objects AS o ON o.address = d.target WHERE o.type_name = 'Truth.Target'", _targets.Take(_next - 1).Count());
        _expected.Clear();
    }
}
