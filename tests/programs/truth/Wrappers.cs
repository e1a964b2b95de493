// Views and wrappers: collections whose content is another's, in part or through a lock. What lies in their own
// fields is often nothing, or stale: views are changed behind their back after they were last enumerated.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;

namespace Truth;

static partial class Collections
{
    // Enumerated from the set under it, because enumerating a view brings its own fields up to date.
    static void View(string id, SortedSet<int> view, IEnumerable<int> truth) => Rows(id, view, truth.Select(i => ((object)null, (object)i)).ToList(), true);

    static void Views()
    {
        var set = new SortedSet<int>(Enumerable.Range(1, 20));
        var low = set.GetViewBetween(1, 5); var middle = set.GetViewBetween(6, 15); var high = set.GetViewBetween(16, 100); var none = set.GetViewBetween(50, 60);
        var all = set.GetViewBetween(int.MinValue, int.MaxValue); var inner = middle.GetViewBetween(8, 12); var innermost = inner.GetViewBetween(9, 9);
        set.Remove(8); set.Remove(10); set.Remove(1); set.Add(55); middle.Remove(14);
        Ordered("set under views", set);
        View("view low", low, set.Where(i => i >= 1 && i <= 5)); View("view middle", middle, set.Where(i => i >= 6 && i <= 15));
        View("view high", high, set.Where(i => i >= 16 && i <= 100)); View("view that was empty", none, set.Where(i => i >= 50 && i <= 60));
        View("view of everything", all, set); View("view of a view", inner, set.Where(i => i >= 8 && i <= 12)); View("view of a view of a view", innermost, set.Where(i => i == 9));

        var descending = new SortedSet<int>(Enumerable.Range(1, 9), Comparer<int>.Create((a, b) => b.CompareTo(a)));
        var between = descending.GetViewBetween(7, 3); descending.Remove(5);
        View("view of a descending set", between, descending.Where(i => i <= 7 && i >= 3));
        View("view that was enumerated", Do(set.GetViewBetween(2, 4), v => v.ToList()), set.Where(i => i >= 2 && i <= 4));

        var words = new SortedSet<string>(StringComparer.Ordinal) { "ant", "bee", "cat", "dog", "eel" };
        var some = words.GetViewBetween("b", "d"); words.Remove("bee"); words.Add("cow");
        Rows("view of strings", some, words.Where(w => string.CompareOrdinal(w, "b") >= 0 && string.CompareOrdinal(w, "d") <= 0).Select(w => ((object)null, (object)w)).ToList(), true);
        var items = new SortedSet<Item>(Items(6)); var part = items.GetViewBetween(new Item(2), new Item(4)); items.Remove(new Item(3));
        Rows("view of items", part, items.Where(i => i.Id >= 2 && i.Id <= 4).Select(i => ((object)null, (object)i)).ToList(), true);
        Ordered("set as a reversed copy", new List<int>(set.Reverse()));
    }

    static void Wrappers()
    {
        ArrayList List() => new() { "w1", 2, new Item(3), null, "w5" };
        Ordered("array list synchronized", ArrayList.Synchronized(List())); Ordered("array list read-only", ArrayList.ReadOnly(List()));
        Ordered("array list fixed", ArrayList.FixedSize(List())); Ordered("array list adapter", ArrayList.Adapter(new List<object> { 1, "two" }));
        Ordered("array list adapter of an array", ArrayList.Adapter(new[] { 1, 2, 3 }));
        Ordered("array list range", List().GetRange(1, 3)); Ordered("array list range of a range", List().GetRange(1, 4).GetRange(1, 2));
        Ordered("array list synchronized read-only", ArrayList.Synchronized(ArrayList.ReadOnly(List())));
        Ordered("list synchronized", ArrayList.Synchronized((IList)new List<int> { 1, 2 })); Ordered("list read-only", ArrayList.ReadOnly((IList)new List<int> { 1, 2 })); Ordered("list fixed", ArrayList.FixedSize((IList)new List<int> { 1, 2 }));
        Ordered("array list empty synchronized", ArrayList.Synchronized(new ArrayList()));
        Ordered("queue synchronized", Queue.Synchronized(new Queue(new object[] { 1, "two" }))); Ordered("stack synchronized", Stack.Synchronized(new Stack(new object[] { 1, "two" })));
        BagPairs("hashtable synchronized", Hashtable.Synchronized(new Hashtable { ["h"] = 1, [2] = "two" }));
        OrderedPairs("sorted list synchronized", SortedList.Synchronized(new SortedList { ["b"] = 2, ["a"] = 1 }));
        Ordered("sorted list synchronized's keys", SortedList.Synchronized(new SortedList { ["b"] = 2, ["a"] = 1 }).GetKeyList());
        Bag("hashtable synchronized's keys", Hashtable.Synchronized(new Hashtable { ["h"] = 1 }).Keys);
        Ordered("read-only collection of a read-only collection", new List<int> { 1, 2 }.AsReadOnly().ToList().AsReadOnly());
        Ordered("read-only collection around a wrapper", new System.Collections.ObjectModel.ReadOnlyCollection<int>(new System.Collections.ObjectModel.ReadOnlyCollection<int>(new List<int> { 4, 5 })));
        BagPairs("read-only dictionary around a sorted one", new System.Collections.ObjectModel.ReadOnlyDictionary<int, string>(new SortedDictionary<int, string> { [1] = "a" }));
        Ordered("collection around a view", new System.Collections.ObjectModel.Collection<int>(ArrayList.Adapter(new[] { 1, 2 }).Cast<int>().ToList()));
    }
}
