// Shapes that readers of heaps have got wrong, each with what it holds. Every shape is a field of the one Roots;
// what a reader should say of it is kept as JSON in its field Expected, and printed, before "ready PID":
//   ["field", name, path, type, value]            clr_field(name, path)
//   ["element", name, position, indices, key type, key, type, value]
//   ["count", name, n]                            rows of elements
//   ["ref", name, field, element, target's name]  a row of refs
//   ["refs", name, n]                             how many there are
// Types: i integer, r real, t text (in hex), o object (a name), n NULL.
using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Frozen;
using System.Collections.Generic;
using System.Collections.Immutable;
using System.Collections.ObjectModel;
using System.Globalization;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Text;

namespace Shapes;

struct Mixed { public int A; public object First; public long B; public object Second; }
struct Deep { public byte Tag; public Mixed Inner; public short Tail; public Tiny Last; }
struct Tiny { public byte X; public object Ref; }
struct Holder<T> { public T Value; public byte Pad; public T Other; }
class Box<T> { public T Value; public T[] Items; public Holder<T> Held; public List<T> List; }
class Plain { public int Number; }
class Uses { public Holder<string> Text; public Holder<Plain> Objects; public KeyValuePair<string, Plain> Pair; }
enum Small : sbyte { Low = -128, Minus = -1, Zero = 0, High = 127 }
enum Byte8 : byte { None, Top = 0x80, All = 255 }
[Flags] enum Flags64 : ulong { None = 0, One = 1, Two = 2, Top = 1UL << 63, Both = One | Two }
[Flags] enum Flags32 { Read = 1, Write = 2, Run = 4, Sign = int.MinValue }
enum Twice { A = 1, B = 1, C = 2 }
[InlineArray(4)] struct FourInts { private int _e; }
[InlineArray(3)] struct ThreeMixed { private Mixed _e; }
[StructLayout(LayoutKind.Explicit)] struct Overlap { [FieldOffset(0)] public object Ref; [FieldOffset(8)] public long L; [FieldOffset(8)] public double D; [FieldOffset(12)] public int High; }
class Bits { public char C = '\uffee'; public ushort U = 0xfedc; public byte B = 0xfe; public sbyte S = -2; public short I = -2; public uint W = 0xfffffffe; public char Nul = '\0', Lone = '\ud800', Wide = '\u65e5'; public bool Yes = true, No; }
class Enums { public Small Low = Small.Low, Minus = Small.Minus, Odd = (Small)5; public Byte8 Top = Byte8.Top, All = Byte8.All, Other = (Byte8)3; public Flags64 F1 = Flags64.Top | Flags64.One, F2 = Flags64.Both, F3 = Flags64.None, F4 = (Flags64)(1UL << 62 | 1), F5 = Flags64.Top; public Flags32 R = Flags32.Read | Flags32.Run, Sign = Flags32.Sign, None = 0, Bad = (Flags32)8; public Twice T = Twice.B; public Twice? Maybe = Twice.C, Not; public DayOfWeek Day = DayOfWeek.Friday; }
class Values
{
    public decimal Zero = 0m, OneAndHalf = 1.50m, Small = 0.0000000000000000000000000001m, Negative = -12345.678m, Most = decimal.MaxValue, Least = decimal.MinValue;
    public DateTime Utc = new(2024, 2, 29, 23, 59, 59, 999, DateTimeKind.Utc), Unspecified = new(1, 1, 1), Local = new(2000, 12, 31, 1, 2, 3, DateTimeKind.Local), Last = DateTime.MaxValue, Year100 = new(1900, 3, 1);
    public DateTimeOffset East = new(2024, 3, 1, 0, 30, 0, TimeSpan.FromMinutes(330)), West = new(1999, 12, 31, 20, 0, 0, TimeSpan.FromHours(-8)), NoOffset = new(2020, 1, 1, 0, 0, 0, TimeSpan.Zero);
    public TimeSpan None, Ticks = new(1), Minus = TimeSpan.FromSeconds(-1.5), Days = new(10, 11, 12, 13, 14), Longest = TimeSpan.MaxValue, Shortest = TimeSpan.MinValue;
    public DateOnly Date = new(2024, 2, 29), FirstDate, LastDate = DateOnly.MaxValue; public TimeOnly Time = new(23, 59, 59, 999), Midnight;
    public Guid Guid = new("00112233-4455-6677-8899-aabbccddeeff"), Empty;
    public int? Some = -7, Nothing; public DateTime? SomeDate = DateTime.UnixEpoch; public Guid? NoGuid; public Mixed? SomeStruct = new Mixed { A = 3, First = "in a nullable" }, NoStruct; public bool? Truth = true;
    public Int128 Big = Int128.MaxValue, Little = Int128.MinValue, Fits = -5; public UInt128 Huge = UInt128.MaxValue, Word = 9223372036854775808; public Half Half = (Half)(-1.5), TinyHalf = Half.Epsilon, HalfNaN = Half.NaN;
    public Index FromEnd = ^2, FromStart = 3; public Range Range = 1..^1; public Rune Rune = new(0x1F600);
    public nint Native = -3; public nuint Unsigned = unchecked((nuint)0xfedcba9876543210); public unsafe void* Pointer = (void*)0x7fffffffffff; public unsafe int** Twice = (int**)16;
    public Memory<byte> Memory = new byte[7].AsMemory(2, 3); public FourInts Inline; public ThreeMixed Structs; public Overlap Union; public (int, string) Tuple = (4, "four"); public ArraySegment<int> Segment = new(new[] { 1, 2, 3 }, 1, 2);
    public unsafe delegate*<int, void> Function = (delegate*<int, void>)0x1234;
}
class Floats { public float F = 0.1f, NaN = float.NaN, Inf = float.PositiveInfinity, MinusZero = -0f, Eps = float.Epsilon; public double D = 0.1, DNaN = double.NaN, Plus = double.PositiveInfinity, Minus = double.NegativeInfinity, DMinusZero = -0.0, Max = double.MaxValue, DEps = double.Epsilon; }
record Person(string Name, int Age) { public string Note { get; init; } = "n"; }
class MyList : List<int> { public int More = 1; }
class Texts { public string Null, Empty = "", Quote = "a\"b'c", Nul = "x\0y", Lines = "1\r\n2", Wide = "caf\u00e9 \u65e5\u672c \U0001F600", Long = new('z', 5000); public object AsObject = "as object"; }

sealed class Roots
{
    public object Leaf = new Plain { Number = 1 }, Other = new Plain { Number = 2 };
    public object MixedArray, MixedEmpty, MixedOne, MixedMany, DeepArray, Pairs, Dict, Entries, Grid, Cube, Bounds, Strings5, NestedBounds, IntGrid, Jagged, Functions, BoxString, BoxInt, BoxMixed, BoxPlain, Uses, Bits, Enums, Values, Floats, Texts, Person, Mine;
    public object ObjectArray, IntArray, ULongs, Chars, Doubles, Bools, Dates, Colors, Pointers;
    public object BoxedInt = 42, BoxedEnum = Byte8.Top, BoxedDate = DateTime.UnixEpoch, BoxedDecimal = 1.5m, BoxedChar = 'c', BoxedMixed = new Mixed { A = 9, Second = "boxed" }, BoxedTuple = (1, "two", 3.0), BoxedInline = new FourInts(), BoxedNaN = double.NaN;
    public object List, Dictionary, HashSet, Queue, Stack, Linked, SortedDict, SortedSet, SortedList, Priority, ConcurrentDict, ConcurrentQueue, ConcurrentStack, ConcurrentBag, Blocking;
    public object ImmArray, ImmList, ImmDict, ImmSet, ImmSortedDict, ImmSortedSet, ImmQueue, ImmStack, FrozenDict, FrozenInts, FrozenSet, ReadOnly, ReadOnlyDict, Coll, ArrayList, Hashtable, OldQueue, OldStack, OldSorted, Weak, Ordered;
    public object EmptyList, EmptyDict, EmptyQueue, EmptyLinked, EmptyImmList, EmptyImmDict, EmptyImmQueue, EmptySorted, EmptyStack;
    public string Expected;
}

static class Program
{
    static readonly Roots Root = new();
    static readonly StringBuilder _lines = new("[");
    static readonly Dictionary<object, string> _names = new(ReferenceEqualityComparer.Instance);
    static string J(string s) => "\"" + s.Replace("\\", "\\\\").Replace("\"", "\\\"") + "\"";
    static void Line(params string[] parts) { if (_lines.Length > 1) _lines.Append(",\n"); _lines.Append('[').Append(string.Join(",", parts)).Append(']'); }
    static string Hex(string s) => "\"t\"," + J(Convert.ToHexString(Encoding.UTF8.GetBytes(s)));

    // How a value is expected, as type and text.
    static string V(object v)
    {
        var inv = CultureInfo.InvariantCulture;
        switch (v)
        {
            case null: return "\"n\",\"\"";
            case bool b: return "\"i\"," + J(b ? "1" : "0");
            case ulong u when u > long.MaxValue: return Hex(u.ToString(inv));
            case nuint u when u > long.MaxValue: return Hex(u.ToString(inv));
            case sbyte or byte or short or ushort or int or uint or long or ulong or nint or nuint: return "\"i\"," + J(((IFormattable)v).ToString(null, inv));
            case Int128 i: return i >= long.MinValue && i <= long.MaxValue ? "\"i\"," + J(i.ToString(inv)) : Hex(i.ToString(inv));
            case UInt128 i: return i <= long.MaxValue ? "\"i\"," + J(i.ToString(inv)) : Hex(i.ToString(inv));
            case float f: return V((double)f);
            case Half h: return V((double)h);
            case double d: return double.IsNaN(d) ? Hex("NaN") : double.IsInfinity(d) ? Hex(d > 0 ? "Infinity" : "-Infinity") : "\"r\"," + J(d.ToString("R", inv));
            case char c: return Hex(c.ToString());
            case string s: return Hex(s);
            case decimal d: return Hex(d.ToString(inv));
            case DateTime d: return Hex((d.Kind == DateTimeKind.Local ? DateTime.SpecifyKind(d, DateTimeKind.Unspecified) : d).ToString("O", inv));
            case DateTimeOffset d: return Hex(d.ToString("O", inv));
            case DateOnly d: return Hex(d.ToString("O", inv));
            case TimeOnly d: return Hex(d.ToString("O", inv));
            case TimeSpan d: return Hex(d.ToString("c", inv));
            case Guid or Index or Range or Rune: return Hex(v.ToString());
            case Enum e: { string s = e.ToString(); return s.Length > 0 && (char.IsDigit(s[0]) || s[0] == '-') ? V(Convert.ChangeType(e, e.GetTypeCode(), inv)) : Hex(s); }
            default: return "\"o\"," + J(_names[v]);
        }
    }
    static void F(string name, string path, object value) => Line("\"field\"", J(name), J(path), V(value));
    static void E(string name, int position, string indices, object key, object value) => Line("\"element\"", J(name), position.ToString(), indices == null ? "null" : J(indices), V(key), V(value));
    static void Count(string name, int n) => Line("\"count\"", J(name), n.ToString());
    static void R(string name, string field, long? element, object target) => Line("\"ref\"", J(name), J(field), element?.ToString() ?? "null", J(_names[target]));
    static void Refs(string name, int n) => Line("\"refs\"", J(name), n.ToString());
    static void All(string name, params object[] values) { Count(name, values.Length); for (int i = 0; i < values.Length; i++) E(name, i, null, null, values[i]); }
    static void Keyed(string name, params (object, object)[] pairs) { Count(name, pairs.Length); for (int i = 0; i < pairs.Length; i++) E(name, i, null, pairs[i].Item1, pairs[i].Item2); }

    static int Main()
    {
        _names[Root.Leaf] = "Leaf"; _names[Root.Other] = "Other";
        Structs(); Arrays(); Generics(); Scalars(); Boxed(); Collections(); Immutables(); Old(); Empties();
        Root.Expected = _lines.Append(']').ToString();
        GC.Collect(); Console.WriteLine(Root.Expected);
        Console.WriteLine("ready " + Environment.ProcessId); Console.Out.Flush();
        Console.In.ReadLine(); GC.KeepAlive(Root.Leaf); return 0;
    }

    static void Structs() // F1, F2
    {
        object leaf = Root.Leaf, other = Root.Other;
        Root.MixedArray = new Mixed[] { new() { A = 1, First = leaf, B = -1 }, new() { A = 2, B = long.MinValue, Second = other }, new() { A = 3, First = other, Second = leaf } };
        for (int i = 0; i < 3; i++) { var m = ((Mixed[])Root.MixedArray)[i]; F("MixedArray", $"[{i}].A", m.A); F("MixedArray", $"[{i}].B", m.B); if (m.First != null) { F("MixedArray", $"[{i}].First", m.First); R("MixedArray", "[].First", i, m.First); } if (m.Second != null) { F("MixedArray", $"[{i}].Second", m.Second); R("MixedArray", "[].Second", i, m.Second); } }
        Refs("MixedArray", 4); Count("MixedArray", 3); Root.MixedEmpty = new Mixed[0]; Refs("MixedEmpty", 0); Count("MixedEmpty", 0);
        Root.MixedOne = new Mixed[] { new() { First = leaf } }; Refs("MixedOne", 1); R("MixedOne", "[].First", 0, leaf);
        var many = new Mixed[1 << 20]; many[0].First = leaf; many[^1].Second = other; many[12345].First = other; many[12345].A = 77; Root.MixedMany = many;
        Refs("MixedMany", 3); R("MixedMany", "[].First", 0, leaf); R("MixedMany", "[].Second", (1 << 20) - 1, other); R("MixedMany", "[].First", 12345, other); F("MixedMany", "[12345].A", 77); F("MixedMany", "[1048575].Second", other); Count("MixedMany", 1 << 20);
        var deep = new Deep[2]; deep[1].Inner.Second = leaf; deep[1].Last.Ref = other; deep[1].Last.X = 200; deep[0].Inner.First = other; deep[0].Tail = -9; Root.DeepArray = deep;
        R("DeepArray", "[].Inner.Second", 1, leaf); R("DeepArray", "[].Last.Ref", 1, other); R("DeepArray", "[].Inner.First", 0, other); Refs("DeepArray", 3); F("DeepArray", "[1].Last.X", (byte)200); F("DeepArray", "[0].Tail", (short)-9); F("DeepArray", "[1].Inner.Second.Number", 1);
        Root.Pairs = new KeyValuePair<string, Mixed>[] { new("k0", new Mixed { A = 5, Second = leaf }), default }; F("Pairs", "[0].key", "k0"); F("Pairs", "[0].value.A", 5); F("Pairs", "[1].key", null); R("Pairs", "[].value.Second", 0, leaf); Refs("Pairs", 2);
        var d = new Dictionary<string, Mixed> { ["one"] = new() { A = 1, First = leaf }, ["two"] = new() { A = 2, Second = other } }; Root.Dict = d; F("Dict", "_entries[0].key", "one"); F("Dict", "_entries[1].value.A", 2); F("Dict", "_entries[1].value.Second", other); F("Dict", "_count", 2);
    }

    static void Arrays() // F3, F4
    {
        object leaf = Root.Leaf, other = Root.Other;
        Root.Grid = new object[,] { { leaf, null, "md" }, { null, other, leaf } }; E("Grid", 0, "0,0", null, leaf); E("Grid", 2, "0,2", null, null); /* a string, but the array is one of objects */ E("Grid", 4, "1,1", null, other); E("Grid", 5, "1,2", null, leaf); F("Grid", "[1,1]", other); R("Grid", "[]", 4, other); Refs("Grid", 4); Count("Grid", 6);
        var cube = new int[2, 3, 4]; cube[1, 2, 3] = 123; cube[0, 1, 2] = 12; Root.Cube = cube; E("Cube", 23, "1,2,3", null, 123); E("Cube", 6, "0,1,2", null, 12); F("Cube", "[1,2,3]", 123); Count("Cube", 24);
        var bounds = Array.CreateInstance(typeof(Mixed), new[] { 2, 3 }, new[] { -1, 10 }); bounds.SetValue(new Mixed { A = 8, First = leaf }, 0, 12); Root.Bounds = bounds; F("Bounds", "[0,12].A", 8); F("Bounds", "[0,12].First", leaf); R("Bounds", "[].First", 5, leaf); Refs("Bounds", 1); Count("Bounds", 6);
        var five = Array.CreateInstance(typeof(string), new[] { 4 }, new[] { 5 }); five.SetValue("at seven", 7); Root.Strings5 = five; E("Strings5", 2, "7", null, "at seven"); E("Strings5", 0, "5", null, null); F("Strings5", "[7]", "at seven"); Count("Strings5", 4);
        Root.IntGrid = new int[0, 5]; Count("IntGrid", 0); Root.Jagged = new int[][] { new[] { 1, -1 }, null, new int[0] }; F("Jagged", "[0][1]", -1); Count("Jagged", 3); Refs("Jagged", 2);
        unsafe { var f = new delegate*<int, void>[2]; f[1] = (delegate*<int, void>)0x4321; Root.Functions = f; } E("Functions", 1, "1", null, 0x4321); E("Functions", 0, "0", null, 0); Count("Functions", 2);
        unsafe { var p = new int*[3]; p[2] = (int*)-1L; Root.Pointers = p; } E("Pointers", 2, "2", null, ulong.MaxValue);
        Root.ObjectArray = new object[] { leaf, null, other }; E("ObjectArray", 0, "0", null, leaf); E("ObjectArray", 2, "2", null, other); Count("ObjectArray", 3);
        Root.IntArray = new[] { 1, -2, int.MinValue }; E("IntArray", 2, "2", null, int.MinValue); Root.ULongs = new[] { ulong.MaxValue, 1UL }; E("ULongs", 0, "0", null, ulong.MaxValue); E("ULongs", 1, "1", null, 1UL);
        Root.Chars = "a\0\uffff".ToCharArray(); E("Chars", 1, "1", null, '\0'); E("Chars", 2, "2", null, '\uffff'); Root.Doubles = new[] { double.NaN, -0.0, 1e300 }; E("Doubles", 0, "0", null, double.NaN); E("Doubles", 2, "2", null, 1e300);
        Root.Bools = new[] { true, false }; E("Bools", 0, "0", null, true); Root.Dates = new[] { DateTime.UnixEpoch }; E("Dates", 0, "0", null, DateTime.UnixEpoch); Root.Colors = new[] { Byte8.Top, (Byte8)9 }; E("Colors", 0, "0", null, Byte8.Top); E("Colors", 1, "1", null, (Byte8)9);
    }

    static void Generics() // F15
    {
        object leaf = Root.Leaf; var plain = (Plain)leaf;
        Root.BoxString = new Box<string> { Value = "v", Items = new[] { "i0", null }, Held = new() { Value = "h", Pad = 3, Other = "o" }, List = new() { "l" } }; F("BoxString", "Value", "v"); F("BoxString", "Items[0]", "i0"); F("BoxString", "Held.Value", "h"); F("BoxString", "Held.Other", "o"); F("BoxString", "Held.Pad", (byte)3); F("BoxString", "List._size", 1);
        Root.BoxInt = new Box<int> { Value = -4, Items = new[] { 7 }, Held = new() { Value = 1, Other = 2 } }; F("BoxInt", "Value", -4); F("BoxInt", "Items[0]", 7); F("BoxInt", "Held.Other", 2);
        Root.BoxMixed = new Box<Mixed> { Value = new() { A = 6, Second = leaf }, Items = new Mixed[2], Held = new() { Other = new() { First = leaf } } }; F("BoxMixed", "Value.A", 6); F("BoxMixed", "Value.Second", leaf); F("BoxMixed", "Held.Other.First", leaf); R("BoxMixed", "Held.Other.First", null, leaf); R("BoxMixed", "Value.Second", null, leaf);
        Root.BoxPlain = new Box<Plain> { Value = plain, Held = new() { Other = plain } }; F("BoxPlain", "Value.Number", 1); F("BoxPlain", "Held.Other", leaf); F("BoxPlain", "Items", 0); F("BoxPlain", "Items.Length".Split('.')[0], 0);
        Root.Uses = new Uses { Text = new() { Value = "shared", Other = "form" }, Objects = new() { Value = plain }, Pair = new("key", plain) }; F("Uses", "Text.Value", "shared"); F("Uses", "Text.Other", "form"); F("Uses", "Objects.Value", leaf); F("Uses", "Pair.key", "key"); F("Uses", "Pair.value.Number", 1);
    }

    static void Scalars() // F16 to F19
    {
        var b = new Bits(); Root.Bits = b; foreach (var f in typeof(Bits).GetFields()) F("Bits", f.Name, f.GetValue(b));
        var e = new Enums(); Root.Enums = e; foreach (var f in typeof(Enums).GetFields()) F("Enums", f.Name, f.GetValue(e));
        var x = new Floats(); Root.Floats = x; foreach (var f in typeof(Floats).GetFields()) F("Floats", f.Name, f.GetValue(x));
        var t = new Texts(); Root.Texts = t; foreach (var f in typeof(Texts).GetFields()) if (f.FieldType == typeof(string)) F("Texts", f.Name, f.GetValue(t));
        var v = new Values(); v.Inline[0] = -1; v.Inline[3] = 44; v.Structs[1] = new Mixed { A = 5, Second = Root.Leaf }; v.Union = new Overlap { Ref = Root.Other, D = -2.5 }; Root.Values = v;
        var structs = new[] { typeof(Memory<byte>), typeof(FourInts), typeof(ThreeMixed), typeof(Overlap), typeof((int, string)), typeof(ArraySegment<int>), typeof(Mixed?) };
        foreach (var f in typeof(Values).GetFields()) if (!structs.Contains(f.FieldType) && !f.FieldType.IsPointer && f.Name != "Function") F("Values", f.Name, f.GetValue(v));
        F("Values", "Pointer", 0x7fffffffffff); F("Values", "Twice", 16); F("Values", "Function", 0x1234); F("Values", "Memory._index", 2); F("Values", "Memory._length", 3); F("Values", "Inline[0]", -1); F("Values", "Inline[3]", 44); F("Values", "Structs[1].A", 5); F("Values", "Structs[1].Second", Root.Leaf);
        F("Values", "Union.Ref", Root.Other); F("Values", "Union.D", -2.5); F("Values", "Union.L", BitConverter.DoubleToInt64Bits(-2.5)); F("Values", "Union.High", (int)(BitConverter.DoubleToInt64Bits(-2.5) >> 32)); F("Values", "Tuple.Item1", 4); F("Values", "Tuple.Item2", "four"); F("Values", "Segment._offset", 1);
        F("Values", "SomeStruct.value.A", 3); F("Values", "SomeStruct.hasValue", true); F("Values", "NoStruct.hasValue", false); R("Values", "Structs[1].Second", null, Root.Leaf); R("Values", "Union.Ref", null, Root.Other);
        Root.Person = new Person("Ada", 36); F("Person", "Name", "Ada"); F("Person", "Age", 36); F("Person", "<Note>k__BackingField", "n");
    }

    static void Boxed()
    {
        F("BoxedInt", "m_value", 42); F("BoxedMixed", "A", 9); F("BoxedTuple", "Item3", 3.0); F("BoxedTuple", "Item2", "two"); F("BoxedInline", "[2]", 0); F("BoxedChar", "m_value", 'c');
    }

    static void Collections()
    {
        object leaf = Root.Leaf, other = Root.Other;
        var list = new List<int> { 1, 2, 3, 4 }; list.RemoveAt(1); Root.List = list; All("List", 1, 3, 4);
        var d = new Dictionary<string, int>(); for (int i = 0; i < 40; i++) d["k" + i] = i; for (int i = 0; i < 40; i++) if (i % 5 != 0) d.Remove("k" + i); Root.Dictionary = d; Keyed("Dictionary", d.Select(p => ((object)p.Key, (object)p.Value)).ToArray());
        var h = new HashSet<string> { "a", "b", "c" }; h.Remove("b"); Root.HashSet = h; All("HashSet", h.ToArray<object>());
        var q = new Queue<int>(4); for (int i = 0; i < 4; i++) q.Enqueue(i); q.Dequeue(); q.Dequeue(); q.Enqueue(4); q.Enqueue(5); Root.Queue = q; All("Queue", 2, 3, 4, 5);
        var s = new Stack<object>(); s.Push(leaf); s.Push(other); Root.Stack = s; All("Stack", other, leaf);
        Root.Linked = new LinkedList<string>(new[] { "x", "y", "z" }); All("Linked", "x", "y", "z");
        var sd = new SortedDictionary<int, string>(); for (int i = 0; i < 20; i++) sd[(i * 7) % 20] = "s" + (i * 7) % 20; Root.SortedDict = sd; Keyed("SortedDict", sd.Select(p => ((object)p.Key, (object)p.Value)).ToArray());
        Root.SortedSet = new SortedSet<int>(new[] { 5, 1, 4, 2, 3 }); All("SortedSet", 1, 2, 3, 4, 5); Root.SortedList = new SortedList<string, object> { ["b"] = leaf, ["a"] = other }; Keyed("SortedList", ("a", other), ("b", leaf));
        var pq = new PriorityQueue<string, int>(); pq.Enqueue("low", 9); pq.Enqueue("high", 1); Root.Priority = pq; Keyed("Priority", pq.UnorderedItems.Select(p => ((object)p.Priority, (object)p.Element)).ToArray());
        var cd = new ConcurrentDictionary<int, string>(); for (int i = 0; i < 10; i++) cd[i * 1000] = "c" + i; Root.ConcurrentDict = cd; Keyed("ConcurrentDict", cd.Select(p => ((object)p.Key, (object)p.Value)).ToArray());
        var cq = new ConcurrentQueue<int>(); for (int i = 0; i < 100; i++) cq.Enqueue(i); for (int i = 0; i < 37; i++) cq.TryDequeue(out _); Root.ConcurrentQueue = cq; All("ConcurrentQueue", cq.Select(i => (object)i).ToArray());
        Root.ConcurrentStack = new ConcurrentStack<int>(new[] { 1, 2, 3 }); All("ConcurrentStack", 3, 2, 1); var bag = new ConcurrentBag<int> { 7 }; Root.ConcurrentBag = bag; All("ConcurrentBag", 7); var bl = new BlockingCollection<int> { 8 }; Root.Blocking = bl; All("Blocking", 8);
        Root.ReadOnly = new ReadOnlyCollection<int>(new[] { 5, 6 }); All("ReadOnly", 5, 6); Root.ReadOnlyDict = new ReadOnlyDictionary<string, int>(new Dictionary<string, int> { ["r"] = 1 }); Keyed("ReadOnlyDict", ("r", 1)); Root.Coll = new ObservableCollection<string> { "o1", "o2" }; All("Coll", "o1", "o2"); Root.Mine = new MyList { 10, 20 }; All("Mine", 10, 20);
        var weak = new ConditionalWeakTable<object, object>(); weak.Add(leaf, other); Root.Weak = weak; Keyed("Weak", (leaf, other));
        if (Type.GetType("System.Collections.Generic.OrderedDictionary`2, System.Collections") is { } open) { var o = (IDictionary)Activator.CreateInstance(open.MakeGenericType(typeof(string), typeof(int))); o.Add("first", 1); o.Add("second", 2); o.Remove("first"); o.Add("third", 3); Root.Ordered = o; Keyed("Ordered", ("second", 2), ("third", 3)); }
    }

    static void Immutables()
    {
        object leaf = Root.Leaf; var numbers = Enumerable.Range(0, 30).ToArray();
        Root.ImmArray = ImmutableArray.Create(1, 2, 3); All("ImmArray", 1, 2, 3); Root.ImmList = ImmutableList.CreateRange(numbers).RemoveAt(3).Insert(0, 99); All("ImmList", ((ImmutableList<int>)Root.ImmList).Select(i => (object)i).ToArray());
        var d = ImmutableDictionary<int, string>.Empty; foreach (int i in numbers) d = d.Add(i, "v" + i); d = d.Remove(4); Root.ImmDict = d; Keyed("ImmDict", d.Select(p => ((object)p.Key, (object)p.Value)).ToArray());
        var c = ImmutableDictionary.Create<Clash, string>(); for (int i = 0; i < 5; i++) c = c.Add(new Clash(i), "x" + i); Root.Entries = c; Count("Entries", 5); for (int i = 0; i < 5; i++) Line("\"has\"", J("Entries"), J("x" + c.ElementAt(i).Key.Id));
        Root.ImmSet = ImmutableHashSet.CreateRange(new[] { "p", "q", "r" }); All("ImmSet", ((ImmutableHashSet<string>)Root.ImmSet).ToArray<object>()); Root.ImmSortedDict = ImmutableSortedDictionary<string, int>.Empty.Add("b", 2).Add("a", 1); Keyed("ImmSortedDict", ("a", 1), ("b", 2)); Root.ImmSortedSet = ImmutableSortedSet.Create(3, 1, 2); All("ImmSortedSet", 1, 2, 3);
        var q = ImmutableQueue<int>.Empty.Enqueue(1).Enqueue(2).Enqueue(3).Dequeue().Enqueue(4).Enqueue(5); Root.ImmQueue = q; All("ImmQueue", q.Select(i => (object)i).ToArray()); Root.ImmStack = ImmutableStack.Create("bottom", "top"); All("ImmStack", "top", "bottom");
        Root.FrozenDict = new Dictionary<string, int> { ["a"] = 1, ["bb"] = 2, ["ccc"] = 3 }.ToFrozenDictionary(); Keyed("FrozenDict", ((FrozenDictionary<string, int>)Root.FrozenDict).Select(p => ((object)p.Key, (object)p.Value)).ToArray());
        Root.FrozenInts = numbers.ToDictionary(i => i * 3, i => "f" + i).ToFrozenDictionary(); Keyed("FrozenInts", ((FrozenDictionary<int, string>)Root.FrozenInts).Select(p => ((object)p.Key, (object)p.Value)).ToArray()); Root.FrozenSet = new[] { "s1", "s22", "s333" }.ToFrozenSet(); All("FrozenSet", ((FrozenSet<string>)Root.FrozenSet).ToArray<object>());
    }
    record Clash(int Id) { public override int GetHashCode() => 1; }

    static void Old()
    {
        object leaf = Root.Leaf;
        Root.ArrayList = new ArrayList { leaf, leaf }; All("ArrayList", leaf, leaf); var t = new Hashtable { [leaf] = Root.Other }; t["gone"] = 1; t.Remove("gone"); Root.Hashtable = t; Keyed("Hashtable", (leaf, Root.Other));
        var q = new System.Collections.Queue(); q.Enqueue(leaf); q.Enqueue(Root.Other); Root.OldQueue = q; All("OldQueue", leaf, Root.Other); var s = new System.Collections.Stack(); s.Push(leaf); s.Push(Root.Other); Root.OldStack = s; All("OldStack", Root.Other, leaf); Root.OldSorted = new System.Collections.SortedList { ["k"] = leaf }; Count("OldSorted", 1);
    }

    static void Empties()
    {
        Root.EmptyList = new List<string>(); Root.EmptyDict = new Dictionary<int, int>(); Root.EmptyQueue = new ConcurrentQueue<int>(); Root.EmptyLinked = new LinkedList<int>(); Root.EmptyImmList = ImmutableList<int>.Empty; Root.EmptyImmDict = ImmutableDictionary<int, int>.Empty; Root.EmptyImmQueue = ImmutableQueue<int>.Empty; Root.EmptySorted = new SortedDictionary<int, int>(); Root.EmptyStack = ImmutableStack<int>.Empty;
        foreach (var n in new[] { "EmptyList", "EmptyDict", "EmptyQueue", "EmptyLinked", "EmptyImmList", "EmptyImmDict", "EmptyImmQueue", "EmptySorted", "EmptyStack" }) Count(n, 0);
    }
}
