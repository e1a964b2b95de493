// Classes that have a member of the name that a reader looks for in their base class. What counts is the member of
// the class that is known, not the one that is nearest.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Collections.ObjectModel;
using System.Linq;

namespace Truth;

class HidingList : List<int> { int[] _items = { 91, 92, 93 }; int _size = 3; int _version = 1; }
class HidingDictionary : Dictionary<string, int> { object[] _entries = { 1 }; int _count = 1, _freeCount = 5; int[] _buckets; object _comparer; }
class HidingSet : HashSet<int> { string _entries = "none"; int _count = 77; }
class HidingQueue : Queue<int> { int[] _array = { 9 }; int _head = 5, _size = 9; }
class HidingStack : Stack<int> { int[] _array = { 9, 9, 9, 9 }; int _size = 4; }
class HidingLinked : LinkedList<int> { object head = "no node"; int count = 9; }
class HidingSorted : SortedSet<int> { object root = "no node"; int count = 9; }
class HidingSortedList : SortedList<int, int> { int[] keys = { 9, 9 }; int[] values = { 9, 9 }; int _size = 2; }
class HidingCollection : Collection<int> { new List<string> items = new() { "wrong" }; }
class HidingReadOnly : ReadOnlyCollection<int> { public HidingReadOnly(IList<int> l) : base(l) { } object list = new List<string> { "wrong" }; }
class HidingArrayList : ArrayList { object[] _items = { "wrong", "wrong" }; int _size = 2; }
class HidingHashtable : Hashtable { object[] _buckets = { "wrong" }; int _count = 4; }
class HidingConcurrent : ConcurrentDictionary<int, int> { object _tables = "wrong"; }
class HidingTwice : HidingList { int[] _items = { 81 }; int _size = 1; }

class HidingException : Exception
{
    string _message = "not the message"; object _innerException = "not the inner one"; int _HResult = 12345; object _stackTrace = "not a trace"; string _remoteStackTraceString = "not a trace";
    public HidingException(string message, Exception inner) : base(message, inner) { }
}

class HiddenBase { public int Value = 1; public string Text = "of the base"; private object _same = new Item(1); public object Same => _same; }
class HiddenMiddle : HiddenBase { new public int Value = 2; private object _same = new Item(2); }
class HiddenTop : HiddenMiddle { new public int Value = 3; new public string Text = "of the top"; private object _same = new Item(3); }

static class Hidden
{
    public static void Make(List<Action> later)
    {
        later.Add(() => Golden.Section("hidden members: elements"));
        void List(string id, IEnumerable c) { var all = c.Cast<object>().ToList(); Cases.Add(id, c); later.Add(() => Golden.Query("SELECT e.position, e.value FROM elements AS e WHERE e.object = " + Cases.At(id) + " ORDER BY e.position", all.Select((v, i) => Golden.Row(i, v)))); }
        void Map(string id, IDictionary c) { var all = new List<object[]>(); for (var e = c.GetEnumerator(); e.MoveNext();) all.Add(Golden.Row(e.Key, e.Value)); Cases.Add(id, c); later.Add(() => Golden.Sorted("SELECT e.key, e.value FROM elements AS e WHERE e.object = " + Cases.At(id), all)); }
        List("hiding list", new HidingList { 1, 2 }); List("hiding list, twice", new HidingTwice { 3, 4, 5 }); List("hiding set", new HidingSet { 1, 2 });
        List("hiding queue", Fill(new HidingQueue(), q => { q.Enqueue(1); q.Enqueue(2); })); List("hiding stack", Fill(new HidingStack(), s => { s.Push(1); s.Push(2); }));
        List("hiding linked list", Fill(new HidingLinked(), l => { l.AddLast(1); l.AddLast(2); })); List("hiding sorted set", new HidingSorted { 2, 1 });
        List("hiding collection", new HidingCollection { 1, 2 }); List("hiding read-only collection", new HidingReadOnly(new List<int> { 1, 2 })); List("hiding array list", new HidingArrayList { 1, "two" });
        Map("hiding dictionary", new HidingDictionary { ["a"] = 1, ["b"] = 2 }); Map("hiding sorted list", new HidingSortedList { [1] = 10 }); Map("hiding hashtable", new HidingHashtable { ["h"] = 1 });
        Map("hiding concurrent dictionary", Fill(new HidingConcurrent(), d => d[1] = 10));

        var inner = new InvalidOperationException("the inner one");
        var e = Cases.Add("hiding exception", new HidingException("the message", inner)); e.HResult = -2146233079;
        later.Add(() =>
        {
            Golden.Section("hidden members: exceptions");
            Golden.Query("SELECT e.message, e.hresult, i.message FROM exceptions AS e JOIN exceptions AS i ON i.object = e.inner_exception WHERE e.object = " + Cases.At("hiding exception"), Golden.Row(e.Message, e.HResult, e.InnerException.Message));
            Golden.One("SELECT instr(clr_text(object), " + Golden.Sql(e.Message) + ") > 0 AND instr(clr_text(object), 'not the message') = 0 FROM cases WHERE id = 'hiding exception'", 1);
            Golden.One("SELECT count(*) FROM exception_frames WHERE object = " + Cases.At("hiding exception"), 0);
        });

        var top = Cases.Add("hidden fields", new HiddenTop());
        later.Add(() =>
        {
            Golden.Section("hidden members: fields");
            Golden.Sorted("SELECT d.name, v.field, v.value FROM field_values AS v JOIN types AS d ON d.address = v.declaring_type WHERE v.field IN ('Value', 'Text') AND v.object = " + Cases.At("hidden fields"),
                new[] { Golden.Row("Truth.HiddenBase", "Value", ((HiddenBase)top).Value), Golden.Row("Truth.HiddenBase", "Text", ((HiddenBase)top).Text), Golden.Row("Truth.HiddenMiddle", "Value", ((HiddenMiddle)top).Value), Golden.Row("Truth.HiddenTop", "Value", top.Value), Golden.Row("Truth.HiddenTop", "Text", top.Text) });
            Golden.Query("SELECT clr_field(object, 'Value'), clr_field(object, 'Text'), clr_field(object, '_same.Id') FROM cases WHERE id = 'hidden fields'", Golden.Row(top.Value, top.Text, 3));
            Golden.Sorted("SELECT r.field, i.id FROM refs AS r JOIN items AS i ON i.object = r.target WHERE r.source = " + Cases.At("hidden fields"), new[] { Golden.Row("_same", 1), Golden.Row("_same", 2), Golden.Row("_same", 3) });
            Golden.Section("spelling: a way to a hidden field");
            Golden.Query("SELECT clr_field(object, 'Truth.HiddenBase::Value'), clr_field(object, 'Truth.HiddenMiddle::Value'), clr_field(object, 'Truth.HiddenBase::_same.Id') FROM cases WHERE id = 'hidden fields'", Golden.Row(((HiddenBase)top).Value, ((HiddenMiddle)top).Value, 1));
        });
    }

    static T Fill<T>(T made, Action<T> add) { add(made); return made; }
}
