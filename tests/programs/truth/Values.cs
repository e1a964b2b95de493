// Values of fields, elements, keys and statics whose type decides how they are read: Nullable of structs, fixed
// buffers, fields of type object, numbers that need all their digits, texts that break a line.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Reflection;
using System.Reflection.Emit;
using System.Runtime.CompilerServices;

namespace Truth;

struct P3 { public int X, Y; public string Z; public P3(int x, int y, string z) { X = x; Y = y; Z = z; } }
struct Nest { public P3? Inner; public int After; }
struct OneField { public int Only; }

class Nullables
{
    public P3? Some = new P3(1, 2, "z"), None; public Nest? Nested = new Nest { Inner = new P3(3, 4, "n"), After = 5 }, NestedNone = new Nest { After = 6 };
    public OneField? One = new OneField { Only = 8 }, NoOne; public (int A, string B)? Tuple = (7, "t"), NoTuple; public KeyValuePair<string, P3>? Pair = new("k", new P3(9, 10, "p"));
    public int? Int = -7, NoInt; public bool? Yes = true, No = false, NoBool; public char? Letter = 'x', Lone = '\ud800', NoChar; public double? Real = 0.1, NoReal;
    public DateTime? Date = DateTime.UnixEpoch, NoDate; public Guid? Guid = System.Guid.Empty, NoGuid; public Color? Color = Truth.Color.Green, NoColor; public decimal? Money = 1.50m; public long? Long = long.MinValue;
    public int Last = 99;
    public static P3? StaticSome = new P3(11, 12, "s"), StaticNone; public static int? StaticInt = 13, StaticNoInt; public static bool? StaticYes = true; public static char? StaticLetter = 'q';
}

unsafe struct Fixed { public fixed int Numbers[4]; public fixed char Letters[3]; public fixed byte Bytes[5]; public fixed double Reals[2]; public fixed bool Flags[2]; public fixed long One[1]; public int After; }
unsafe class FixedHolder { public int Before = 1; public Fixed F; public byte Last = 2; }

class ObjectFields
{
    public object Text = "text", Empty = "", Int = 42, Long = long.MinValue, Unsigned = ulong.MaxValue, Real = 1.5, Letter = 'c', Yes = true, No = false, Enum = Color.Green, Date = DateTime.UnixEpoch, Money = 3.50m,
        Guid = new Guid("00112233-4455-6677-8899-aabbccddeeff"), Span = TimeSpan.FromSeconds(90), Nullable = (int?)5, Null, Array = new int[2], Item = new Item(6), Struct = new P3(1, 2, "boxed");
    public IComparable Comparable = "comparable", ComparableInt = 7; public IFormattable Formattable = 8; public ValueType Value = 9; public System.Enum AnEnum = Color.Red; public IConvertible Convertible = 10; public IEnumerable<char> Letters = "letters";
    public dynamic Dynamic = "dynamic";
}
class GenericField<T> { public T Value; public T[] Values; }

class Real<T> { public T Value; }
class CharHolder { public char Value; }
class Name { public string Text; }

static class Values
{
    static readonly List<(string Case, string Path, object Value)> _fields = new();
    static readonly List<(string Id, double Value, string Text)> _reals = new();
    static readonly List<(string Id, string Text)> _texts = new();
    static readonly List<(string Id, char Char)> _chars = new();

    public static void Make() { MakeNullables(); MakeFixed(); MakeObjects(); MakeReals(); MakeTexts(); MakeNested(); MakeArrays(); }

    public static void Write() { WriteNullables(); WriteFixed(); WriteObjects(); WriteReals(); WriteTexts(); WriteNested(); WriteArrays(); _fields.Clear(); _reals.Clear(); _texts.Clear(); _chars.Clear(); }

    // The rows of field_values below one name: the name itself where it is one value, its members where it has some.
    static void Field(string id, string field, params (string Path, object Value)[] rows) =>
        Golden.Query("SELECT field, value FROM field_values WHERE object = " + Cases.At(id) + $" AND (field = '{field}' OR field LIKE '{field}.%' OR field LIKE '{field}[%')", rows.Select(r => Golden.Row(r.Path, r.Value)));
    static void Get(string id, string path, object value) => Golden.One($"SELECT clr_field(object, '{path}') FROM cases WHERE id = '{id}'", value);

    // Members of a struct by reflection, as dotted paths. A Nullable is NULL or what is in it.
    static IEnumerable<(string, object)> Members(string path, object value)
    {
        if (value == null || value is string || value.GetType().IsPrimitive || value is Enum or decimal or DateTime or Guid) { yield return (path, value); yield break; }
        foreach (FieldInfo f in value.GetType().GetFields(BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance))
            foreach (var member in Members(path + "." + f.Name, f.GetValue(value))) yield return member;
    }

    static string Braces(object value) => value == null ? "null"
        : "{" + string.Join(", ", value.GetType().GetFields(BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Instance).Select(f => f.Name + "=" + (f.GetValue(value) is string s ? Spelling.Quote(s) : f.GetValue(value)))) + "}";

    static void MakeNullables()
    {
        Cases.Add("nullables", new Nullables());
        P3?[] array = { new P3(1, 2, "first"), null, new P3(5, 6, "third") };
        Cases.Add("nullable array", array); Cases.Add("nullable list", new List<P3?>(array)); Cases.Add("nullable ints", new int?[] { 1, null, 3 }); Cases.Add("nullable bools", new bool?[] { true, null, false });
        Cases.Add("nullable chars", new char?[] { 'a', null }); Cases.Add("nullable dates", new DateTime?[] { DateTime.UnixEpoch, null });
        Cases.Add("nullable keys", new Dictionary<P3?, int> { [array[0]] = 10, [array[2]] = 30 }); Cases.Add("nullable int keys", new Dictionary<int?, bool?> { [1] = true, [2] = null });
        Cases.Add("nullable values", new Dictionary<int, P3?> { [1] = array[0], [2] = null }); Cases.Add("nullable grid", new P3?[1, 2] { { array[0], null } });
    }

    static void WriteNullables()
    {
        var n = (Nullables)Cases.All.First(c => c.Id == "nullables").Object;
        Golden.Section("values: Nullable in fields");
        foreach (FieldInfo f in typeof(Nullables).GetFields(BindingFlags.Public | BindingFlags.Instance)) Field("nullables", f.Name, Members(f.Name, f.GetValue(n)).ToArray());
        Get("nullables", "Some.X", n.Some.Value.X); Get("nullables", "Some.Z", n.Some.Value.Z); Get("nullables", "Nested.Inner.Y", n.Nested.Value.Inner.Value.Y); Get("nullables", "Nested.After", n.Nested.Value.After);
        Get("nullables", "None", null); Get("nullables", "None.X", null); Get("nullables", "NestedNone.Inner.X", null); Get("nullables", "Int", n.Int); Get("nullables", "NoInt", null); Get("nullables", "Tuple.Item2", n.Tuple.Value.B);
        Golden.Section("values: Nullable in elements and keys");
        P3? first = new P3(1, 2, "first"), third = new P3(5, 6, "third");
        foreach (string id in new[] { "nullable array", "nullable list" }) Golden.Query("SELECT position, value FROM elements WHERE object = " + Cases.At(id), Golden.Row(0, Braces(first)), Golden.Row(1, null), Golden.Row(2, Braces(third)));
        Golden.Query("SELECT indices, value FROM elements WHERE object = " + Cases.At("nullable grid"), Golden.Row("0,0", Braces(first)), Golden.Row("0,1", null));
        Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At("nullable ints"), Golden.Row(1), Golden.Row((object)null), Golden.Row(3));
        Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At("nullable bools"), Golden.Row(true), Golden.Row((object)null), Golden.Row(false));
        Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At("nullable chars"), Golden.Row('a'), Golden.Row((object)null));
        Golden.Query("SELECT value FROM elements WHERE object = " + Cases.At("nullable dates"), Golden.Row(DateTime.UnixEpoch), Golden.Row((object)null));
        Golden.Query("SELECT key, value FROM elements WHERE object = " + Cases.At("nullable keys"), Golden.Row(Braces(first), 10), Golden.Row(Braces(third), 30));
        Golden.Query("SELECT key, value FROM elements WHERE object = " + Cases.At("nullable int keys"), Golden.Row(1, true), Golden.Row(2, null));
        Golden.Query("SELECT key, value FROM elements WHERE object = " + Cases.At("nullable values"), Golden.Row(1, Braces(first)), Golden.Row(2, null));
        Golden.Query("SELECT clr_field(object, '[0].X'), clr_field(object, '[1].X'), clr_field(object, '[2].Z') FROM cases WHERE id = 'nullable array'", Golden.Row(1, null, "third"));
        Golden.Section("values: Nullable in statics", true);
        Golden.Query("SELECT s.name, s.value FROM types AS t JOIN statics AS s ON s.type = t.address WHERE t.name = 'Truth.Nullables' AND s.name IN ('StaticInt', 'StaticNoInt', 'StaticYes', 'StaticLetter', 'StaticNone') ORDER BY 1",
            Golden.Row("StaticInt", Nullables.StaticInt), Golden.Row("StaticLetter", Nullables.StaticLetter), Golden.Row("StaticNoInt", Nullables.StaticNoInt), Golden.Row("StaticNone", null), Golden.Row("StaticYes", Nullables.StaticYes));
        Golden.Query("SELECT v.field, v.value FROM types AS t JOIN statics AS s ON s.type = t.address JOIN field_values AS v ON v.object = s.object WHERE t.name = 'Truth.Nullables' AND s.name = 'StaticSome' ORDER BY 1",
            Golden.Row("X", Nullables.StaticSome.Value.X), Golden.Row("Y", Nullables.StaticSome.Value.Y), Golden.Row("Z", Nullables.StaticSome.Value.Z));
        Golden.Section("values: Nullable in clr_text");
        Golden.One("SELECT instr(clr_text(object), 'hasValue') FROM cases WHERE id = 'nullables'", 0);
        Golden.One("SELECT instr(clr_text(object), 'hasValue') FROM cases WHERE id = 'nullable array'", 0);
        Golden.Section("spelling: Nullable in clr_text");
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'nullable array'", "System.Nullable<Truth.P3>[3] {" + Braces(first) + ", null, " + Braces(third) + "}");
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'nullable ints'", "System.Nullable<System.Int32>[3] {1, null, 3}");
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'nullable bools'", "System.Nullable<System.Boolean>[3] {true, null, false}");
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'nullable chars'", "System.Nullable<System.Char>[2] {'a', null}");
    }

    static unsafe void MakeFixed()
    {
        var h = Cases.Add("fixed", new FixedHolder());
        fixed (Fixed* f = &h.F)
        {
            for (int i = 0; i < 4; i++) f->Numbers[i] = 10 - i; for (int i = 0; i < 3; i++) f->Letters[i] = (char)('a' + i);
            for (int i = 0; i < 5; i++) f->Bytes[i] = (byte)(250 + i); f->Reals[0] = 0.5; f->Reals[1] = -2; f->Flags[0] = false; f->Flags[1] = true; f->One[0] = -1; f->After = 77;
        }
        Cases.Add("fixed boxed", (object)h.F); Cases.Add("fixed array", new[] { h.F, h.F });
    }

    static unsafe void WriteFixed()
    {
        Golden.Section("values: fixed buffers");
        var h = (FixedHolder)Cases.All.First(c => c.Id == "fixed").Object;
        var rows = new List<(string, object)>();
        Fixed f = h.F;
        for (int i = 0; i < 4; i++) rows.Add(($"Numbers[{i}]", f.Numbers[i])); for (int i = 0; i < 3; i++) rows.Add(($"Letters[{i}]", f.Letters[i])); for (int i = 0; i < 5; i++) rows.Add(($"Bytes[{i}]", f.Bytes[i]));
        for (int i = 0; i < 2; i++) rows.Add(($"Reals[{i}]", f.Reals[i])); for (int i = 0; i < 2; i++) rows.Add(($"Flags[{i}]", f.Flags[i])); rows.Add(("One[0]", f.One[0])); rows.Add(("After", f.After));
        Golden.Query("SELECT field, value FROM field_values WHERE object = " + Cases.At("fixed boxed"), rows.Select(r => Golden.Row(r.Item1, r.Item2)));
        Golden.Sorted("SELECT field, value FROM field_values WHERE object = " + Cases.At("fixed"), rows.Select(r => Golden.Row("F." + r.Item1, r.Item2)).Append(Golden.Row("Before", h.Before)).Append(Golden.Row("Last", h.Last)));
        foreach (var (path, value) in new[] { ("F.Numbers[0]", (object)f.Numbers[0]), ("F.Numbers[3]", f.Numbers[3]), ("F.Bytes[4]", f.Bytes[4]), ("F.Letters[1]", f.Letters[1]), ("F.After", f.After) }) Get("fixed", path, value);
        Golden.One("SELECT clr_field(object, '[1].Numbers[2]') FROM cases WHERE id = 'fixed array'", f.Numbers[2]);
        Golden.Section("spelling: an index out of range");
        Golden.Error("range", "SELECT clr_field(object, 'F.Numbers[4]') FROM cases WHERE id = 'fixed'");
    }

    static void MakeObjects()
    {
        Cases.Add("object fields", new ObjectFields());
        Cases.Add("generic of string", new GenericField<string> { Value = "g", Values = new[] { "h", null } }); Cases.Add("generic of object", new GenericField<object> { Value = "g", Values = new object[] { 1, "h" } }); Cases.Add("generic of nullable", new GenericField<int?> { Value = 4, Values = new int?[] { 5, null } });
        Cases.Add("boxed nullable", (object)(int?)5);
    }

    static void WriteObjects()
    {
        Golden.Section("values: fields of type object with strings and boxes");
        var o = Cases.All.First(c => c.Id == "object fields").Object;
        foreach (FieldInfo f in typeof(ObjectFields).GetFields(BindingFlags.Public | BindingFlags.Instance))
            Golden.Query("SELECT value, target <> 0 FROM field_values WHERE object = " + Cases.At("object fields") + $" AND field = '{f.Name}'", Golden.Row(f.GetValue(o), f.GetValue(o) != null));
        Golden.One("SELECT value FROM field_values WHERE field = 'Value' AND object = " + Cases.At("generic of string"), "g"); Golden.One("SELECT value FROM field_values WHERE field = 'Value' AND object = " + Cases.At("generic of object"), "g");
        Golden.One("SELECT value FROM field_values WHERE field = 'Value' AND object = " + Cases.At("generic of nullable"), 4);
        Golden.Query("SELECT e.value FROM field_values AS v JOIN elements AS e ON e.object = v.target WHERE v.field = 'Values' AND v.object = " + Cases.At("generic of object"), Golden.Row(1), Golden.Row("h"));
    }

    static void MakeReals()
    {
        int n = 0;
        foreach (double d in new[] { 0.1, 0.1 + 0.2, 1 / 3.0, 2 / 3.0, 1e21, 1e23, 123456789012345680, 5e-324, 2.2250738585072014e-308, double.MaxValue, 9007199254740993, 4.35, 100, 1e15, 1e16, 1e-5, 0.0001, 17179869184.00001 })
        { string id = "double " + n++; Cases.Add(id, new Real<double> { Value = d }); _reals.Add((id, d, Spelling.Real(d))); }
        foreach (float f in new[] { 0.1f, 1 / 3f, 16777216f, 3.4028235e38f, 1.401298e-45f, 8.5f, 0.3f, 1e10f })
        { string id = "float " + n++; Cases.Add(id, new Real<float> { Value = f }); _reals.Add((id, f, Spelling.Real(f))); }
        Cases.Add("double minus zero", new Real<double> { Value = -0.0 }); _reals.Add(("double minus zero", -0.0, "-0"));
        Cases.Add("reals", new[] { 0.1, 0.1 + 0.2, 1e23 });
    }

    static void WriteReals()
    {
        Golden.Section("values: float and double");
        foreach (var (id, value, _) in _reals) Golden.One("SELECT " + Golden.Exactly("value", value) + " FROM field_values WHERE object = " + Cases.At(id), 1);
        foreach (var (id, _, text) in _reals.Where(r => r.Value != 0 && !r.Text.Contains('E'))) Golden.One("SELECT clr_text(object) GLOB '*[=]" + text + "[^0-9]*' FROM cases WHERE id = '" + id + "'", 1);
        Golden.Section("spelling: float and double in clr_text");
        foreach (var (id, _, text) in _reals) Golden.One("SELECT clr_text(object) FROM cases WHERE id = '" + id + "'", $"Truth.Real<System.{(id.StartsWith("float") ? "Single" : "Double")}> {{Value={text}}}");
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'reals'", "System.Double[3] {0.1, 0.30000000000000004, 1E+23}");
    }

    static void MakeTexts()
    {
        void Text(string id, string text) { Cases.Add(id, new string(text.AsSpan())); _texts.Add((id, text)); }
        Text("plain", "plain text"); Text("quotes", "a \"b\" 'c' \\ d"); Text("lines", "1\n2\r\n3\t4"); Text("nul", "x\0y"); Text("controls", "\u0001\u001b[31m\u007f"); Text("next line", "a\u0085b"); Text("line separator", "a\u2028b"); Text("paragraph separator", "a\u2029b");
        Text("right to left override", "user\u202egpj.exe"); Text("isolates", "\u2066x\u2069"); Text("zero width", "a\u200bb\ufeffc"); Text("high alone", "a\ud800b"); Text("low alone", "a\udc00b"); Text("halves swapped", "\udc00\ud800"); Text("high at the end", "end\ud83d"); Text("pair", "\U0001F600 \u65e5\u672c");
        Text("pair at the cut", new string('a', 119) + "\U0001F600" + "bbb"); Text("pair before the cut", new string('a', 118) + "\U0001F600" + "bbb"); Text("long", new string('z', 500)); Text("exactly as long", new string('e', 120)); Text("empty", "");
        Text("high alone at the cut", new string('a', 119) + "\ud83d" + "bbb");
        foreach (var (id, c) in new[] { ("char", 'c'), ("char quote", '\''), ("char line separator", '\u2028'), ("char newline", '\n'), ("char lone", '\udc00') }) { Cases.Add(id, new CharHolder { Value = c }); _chars.Add((id, c)); }
        Cases.Add("message", new InvalidOperationException("path C:\\temp says \"no\"\nand 'stops'"));
        Cases.Add("message without words", new InvalidOperationException(null, null));
        // Names that the language has not, but metadata may have.
        var module = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Names"), AssemblyBuilderAccess.Run).DefineDynamicModule("Names");
        TypeBuilder odd = module.DefineType("Odd.New\nLine\u202e", TypeAttributes.Public); odd.DefineField("a\nb", typeof(int), FieldAttributes.Public); odd.DefineField("next\u2028one", typeof(object), FieldAttributes.Public);
        Type made = odd.CreateType(); object instance = Activator.CreateInstance(made); made.GetField("a\nb").SetValue(instance, 5); made.GetField("next\u2028one").SetValue(instance, new Item(41));
        Cases.Add("odd names", instance);
    }

    static bool Shown(string text) => text.All(c => c >= 0x20 && c != 0x7f && c != '\\' && c != '"' && c != '\ufeff' && !char.IsSurrogate(c) && (c < 0x80 || c > 0x9f)) && text.Length <= 120;

    static void WriteTexts()
    {
        Golden.Section("texts: strings.value");
        foreach (var (id, text) in _texts.Where(t => !t.Text.Contains('\0')))
            Golden.Query("SELECT s.value, s.length FROM strings AS s WHERE s.object = " + Cases.At(id), Golden.Row(Golden.Sql(text) == null ? null : Replace(text), text.Length));
        Golden.Section("texts: clr_text is one line that hides nothing and loses nothing");
        foreach (var (id, text) in _texts)
        {
            Golden.One("SELECT " + string.Join(" + ", new[] { 10, 13, 9, 0x85, 0x2028, 0x2029, 0x202e, 0x2066, 0x200b, 0xfeff, 0xfffd, 0x7f, 0x1b }.Select(c => $"(instr(clr_text(object), char({c})) > 0)")) + " FROM cases WHERE id = '" + id + "'", 0);
        }
        Golden.Query("SELECT count(*), count(DISTINCT clr_text(object)) FROM cases WHERE id IN ('high alone', 'low alone')", Golden.Row(2, 2));
        Golden.One("SELECT instr(clr_text(object), '\\ud83d') FROM cases WHERE id = 'pair at the cut'", 0);
        Golden.One("SELECT instr(clr_text(object), char(10)) + instr(clr_text(object), char(0x202e)) + instr(clr_text(object), char(0x2028)) FROM cases WHERE id = 'odd names'", 0);
        Golden.One("SELECT instr(clr_path(r.target), char(10)) + instr(clr_path(r.target), char(0x202e)) + instr(clr_path(r.target), char(0x2028)) FROM cases AS c JOIN refs AS r ON r.source = c.object WHERE c.id = 'odd names' AND r.kind = 'member'", 0);
        Golden.One("SELECT count(*) FROM types WHERE name = 'Odd.New' || char(10) || 'Line' || char(0x202e)", 1);
        Golden.Section("spelling: texts in clr_text");
        foreach (var (id, text) in _texts) Golden.One("SELECT clr_text(object) FROM cases WHERE id = '" + id + "'", Spelling.Quote(text));
        foreach (var (id, c) in _chars) Golden.One("SELECT clr_text(object) FROM cases WHERE id = '" + id + "'", "Truth.CharHolder {Value='" + Spelling.Escape(c.ToString(), '\'') + "'}");
        var e = (Exception)Cases.All.First(c => c.Id == "message").Object;
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'message'", "System.InvalidOperationException: " + Spelling.Escape(e.Message, '\uffff'));
        Golden.One("SELECT message FROM exceptions WHERE object = " + Cases.At("message"), e.Message);
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'odd names'", "Odd.New\\nLine\\u202e {a\\nb=5, next\\u2028one=Truth.Item}");
    }

    // Of UTF-16 as UTF-8: a lone surrogate is U+FFFD.
    static string Replace(string text) => System.Text.Encoding.UTF8.GetString(System.Text.Encoding.UTF8.GetBytes(text));

    static void MakeNested()
    {
        Cases.Add("deep a", new N1.N2.N3.N4.N5.N6.N7.N8.N9.N10.N11.N12.N13.N14.N15.N16.N17.N18.N19.A()); Cases.Add("deep b", new N1.N2.N3.N4.N5.N6.N7.N8.N9.N10.N11.N12.N13.N14.N15.N16.N17.N18.N19.B());
        Cases.Add("deep generic", new G1<int>.G2<string>.G3<Item>.G4()); Cases.Add("deep array", new G1<int>.G2<string>.G3<Item>.G4[2][]);
        Type most = typeof(Item);
        for (int i = 0; i < 20; i++) most = typeof(List<>).MakeGenericType(most);
        Cases.Add("list of lists", Activator.CreateInstance(most));
        Cases.Add("long name a", Activator.CreateInstance(Seven(typeof(int), 5))); Cases.Add("long name b", Activator.CreateInstance(Seven(typeof(byte), 5)));
    }

    // 7^depth names: the last argument differs alone.
    static Type Seven(Type last, int depth)
    {
        Type t = typeof(long), l = last;
        for (int i = 0; i < depth; i++) { Type next = typeof(Seven<,,,,,,>).MakeGenericType(t, t, t, t, t, t, t); l = typeof(Seven<,,,,,,>).MakeGenericType(t, t, t, t, t, t, l); t = next; }
        return l;
    }

    static void WriteNested()
    {
        Golden.Section("names: nested deep, and long");
        foreach (string id in new[] { "deep a", "deep b", "deep generic", "deep array", "list of lists" })
            Golden.One("SELECT o.type_name FROM cases AS c JOIN objects AS o ON o.address = c.object WHERE c.id = '" + id + "'", Spelling.Name(Cases.All.First(c => c.Id == id).Object.GetType()));
        string a = Spelling.Name(Cases.All.First(c => c.Id == "long name a").Object.GetType()), b = Spelling.Name(Cases.All.First(c => c.Id == "long name b").Object.GetType());
        Golden.Query("SELECT count(*), count(DISTINCT o.type_name) FROM cases AS c JOIN objects AS o ON o.address = c.object WHERE c.id LIKE 'long name _'", Golden.Row(2, 2));
        Golden.One("SELECT count(*) FROM (SELECT name FROM type_stats WHERE object_count > 0 AND name LIKE 'Truth.Seven<%' GROUP BY name)", 2);
        Golden.One("SELECT count(*) FROM (SELECT name FROM type_stats WHERE object_count > 0 AND name LIKE 'Truth.N1%' GROUP BY name)", 2);
        Golden.Section("spelling: names over 64 KiB");
        Golden.Query("SELECT length(o.type_name), substr(o.type_name, -20, 14) FROM cases AS c JOIN objects AS o ON o.address = c.object WHERE c.id LIKE 'long name _' ORDER BY c.id", Golden.Row(a.Length, a.Substring(a.Length - 20, 14)), Golden.Row(b.Length, b.Substring(b.Length - 20, 14)));
    }

    static void MakeArrays()
    {
        var grid = new object[2, 3]; for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) grid[i, j] = new Item(100 + 10 * i + j);
        Cases.Add("grid", grid);
        Array shifted = Array.CreateInstance(typeof(Item), new[] { 2, 2 }, new[] { -1, 10 }); shifted.SetValue(new Item(200), -1, 10); shifted.SetValue(new Item(201), 0, 11); Cases.Add("shifted grid", shifted);
        Array line = Array.CreateInstance(typeof(int), new[] { 3 }, new[] { 5 }); for (int i = 5; i < 8; i++) line.SetValue(10 * i, i); Cases.Add("line from 5", line);
        var cube = new int[2, 1, 3]; for (int i = 0; i < 2; i++) for (int k = 0; k < 3; k++) cube[i, 0, k] = 10 * i + k; Cases.Add("cube", cube);
        Cases.Add("structs grid", new P3[1, 2] { { new P3(1, 2, "a"), new P3(3, 4, "b") } }); Cases.Add("vector", new[] { 5, 6, 7 });
    }

    static IEnumerable<int[]> Indices(Array a)
    {
        var at = Enumerable.Range(0, a.Rank).Select(a.GetLowerBound).ToArray();
        for (int n = 0; n < a.Length; n++)
        {
            yield return (int[])at.Clone();
            for (int k = a.Rank - 1; k >= 0; k--) { if (++at[k] <= a.GetUpperBound(k)) break; at[k] = a.GetLowerBound(k); }
        }
    }

    static void WriteArrays()
    {
        Golden.Section("arrays: indices as in C#");
        foreach (string id in new[] { "grid", "shifted grid", "line from 5", "cube", "vector" })
        {
            var array = (Array)Cases.All.First(c => c.Id == id).Object;
            var all = Indices(array).Select(at => (Text: string.Join(",", at), Value: array.GetValue(at))).ToList();
            Golden.Query("SELECT e.indices, e.value, i.id FROM elements AS e LEFT JOIN items AS i ON i.object = e.target WHERE e.object = " + Cases.At(id) + " ORDER BY e.position",
                all.Select(v => Golden.Row(v.Text, v.Value is Item ? null : v.Value, (v.Value as Item)?.Id)));
            foreach (var (text, value) in all.Where(v => v.Value != null))
                Get(id, value is Item ? $"[{text}].Id" : $"[{text}]", (value as Item)?.Id ?? value);
            if (array.GetType().GetElementType().IsValueType) continue;
            foreach (var (text, value) in all.Where(v => v.Value is Item))
                Golden.One("SELECT instr(clr_path(i.object), '[" + text + "] Truth.Item') > 0 FROM items AS i WHERE i.id = " + ((Item)value).Id, 1);
        }
        Get("structs grid", "[0,1].Z", "b");
        Golden.One("SELECT p.field FROM items AS i JOIN path_to_root(i.object) AS p ON p.object = i.object WHERE i.id = 112", "[1,2]");
        Golden.One("SELECT p.field FROM items AS i JOIN path_to_root(i.object) AS p ON p.object = i.object WHERE i.id = 201", "[0,11]");
        Golden.Section("spelling: an index out of range");
        foreach (var (id, path) in new[] { ("grid", "[2,0]"), ("grid", "[0,3]"), ("shifted grid", "[0,0]"), ("shifted grid", "[1,10]"), ("line from 5", "[0]"), ("line from 5", "[8]"), ("vector", "[3]"), ("vector", "[-1]"), ("grid", "[-1,0]"), ("list", "_items[100]") })
            Golden.Error("range", $"SELECT clr_field(object, '{path}') FROM cases WHERE id = '{id}'");
        foreach (var (id, path) in new[] { ("grid", "[1]"), ("vector", "[1,1]"), ("cube", "[0,0]") })
            Golden.Error("dimensions", $"SELECT clr_field(object, '{path}') FROM cases WHERE id = '{id}'");
    }
}

class Seven<A, B, C, D, E, F, G> { }
class G1<T> { public class G2<U> { public class G3<V> { public class G4 { public T First; public U Second; public V Third; } } } }
class N1 { public class N2 { public class N3 { public class N4 { public class N5 { public class N6 { public class N7 { public class N8 { public class N9 { public class N10 { public class N11 { public class N12 { public class N13 { public class N14 { public class N15 { public class N16 { public class N17 { public class N18 { public class N19 { public class A { public int Id = 1; } public class B { public int Id = 2; } } } } } } } } } } } } } } } } } } } }
