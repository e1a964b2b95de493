// Objects of the library that mean one thing: a number, a text, a name, an address. 'value' of a struct is that
// thing; clr_text has it in any case.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Net;
using System.Numerics;
using System.Reflection;
using System.Runtime.Intrinsics;
using System.Text;
using System.Text.Json;
using Microsoft.FSharp.Core;

namespace Truth;

class LibraryStructs
{
    public BigInteger Zero = 0, Small = -42, IntMin = int.MinValue, Large = BigInteger.Pow(10, 40), Minus = -BigInteger.Pow(2, 100), Word = (BigInteger)ulong.MaxValue + 1;
    public Complex Complex = new(1.5, -2), ImaginaryOne = Complex.ImaginaryOne;
    public Vector128<int> Ints = Vector128.Create(1, 2, 3, 4); public Vector64<byte> Bytes = Vector64.Create((byte)1, 2, 3, 4, 5, 6, 7, 255); public Vector256<double> Reals = Vector256.Create(0.5, 1, 2, -3);
    public ReadOnlyMemory<char> Chars = "memory of a string".AsMemory(), Slice = "memory of a string".AsMemory(10, 8), OfArray = new[] { 'a', 'b', 'c' }.AsMemory(1), NoChars; public Memory<char> Writable = new[] { 'x', 'y' };
    public JsonElement JsonObject = Parse("{\"a\": [1, 2, true]}"), JsonText = Parse("\"text\\n\""), JsonNumber = Parse("-12.5e3"), JsonTrue = Parse("true"), JsonNull = Parse("null"), JsonArray = Parse("[1,[2],{}]"), JsonInner = Parse("{\"a\": {\"b\": 7}}").GetProperty("a"), JsonNone;
    static JsonElement Parse(string text) => JsonDocument.Parse(text).RootElement;
}

class Callee { public int Id = 51; public void Instance(object sender, EventArgs e) { } public static void Static() { } public int Function(string s) => s.Length; public virtual void Virtual() { } public void Generic<T>(T x) { } public class Nested { public void Called() { } } }
static class Extension { public static void Extend(this Callee callee) { } }
interface ICalled { void Call(); }
class Explicit : ICalled { void ICalled.Call() { } }

static class Library
{
    static readonly List<(string Id, string Contains, string Text)> _texts = new();
    static void Text(string id, object o, string contains, string text = null) { Cases.Add(id, o); _texts.Add((id, contains, text ?? Spelling.Name(o.GetType()) + " " + contains)); }

    public static void Make()
    {
        Cases.Add("library structs", new LibraryStructs());
        Cases.Add("big numbers", new[] { BigInteger.One, BigInteger.Pow(10, 30) }); Cases.Add("big number keys", new Dictionary<BigInteger, string> { [BigInteger.Pow(2, 70)] = "2^70" }); Cases.Add("nullable big numbers", new BigInteger?[] { 5, null });

        foreach (BigInteger b in new[] { BigInteger.Pow(10, 40), -5 }) Text("boxed big number " + b.Sign, b, b.ToString());
        Text("boxed complex", new Complex(1, 2.5), new Complex(1, 2.5).ToString(CultureInfo.InvariantCulture)); Text("boxed vector", Vector128.Create(1, 2, 3, 4), Vector128.Create(1, 2, 3, 4).ToString());
        Text("boxed memory", "memory".AsMemory(), "memory", "System.ReadOnlyMemory<System.Char> \"memory\"");

        var builder = new StringBuilder(16); for (int i = 0; i < 20; i++) builder.Append("chunk").Append(i).Append(' ');
        Text("string builder of chunks", builder, builder.ToString().Substring(0, 100), "System.Text.StringBuilder " + Spelling.Quote(builder.ToString()));
        Text("string builder", new StringBuilder("short"), "short", "System.Text.StringBuilder \"short\""); Text("string builder empty", new StringBuilder(), "System.Text.StringBuilder", "System.Text.StringBuilder \"\"");
        Text("string builder after removal", new StringBuilder("0123456789").Remove(2, 5).Insert(1, "-"), "0-1789", "System.Text.StringBuilder \"0-1789\"");

        foreach (string ip in new[] { "127.0.0.1", "192.168.200.255", "::1", "2001:db8::8:800:200c:417a", "fe80::1%3", "::ffff:10.1.2.3", "0.0.0.0", "::" }) Text("ip " + ip, IPAddress.Parse(ip), IPAddress.Parse(ip).ToString());
        Text("ip loopback", IPAddress.Loopback, "127.0.0.1", "System.Net.IPAddress+ReadOnlyIPAddress 127.0.0.1");
        Text("ip end point", new IPEndPoint(IPAddress.Parse("10.0.0.1"), 8080), "10.0.0.1:8080"); Text("ip end point 6", new IPEndPoint(IPAddress.Parse("::1"), 443), "[::1]:443");
        Text("uri", new Uri("https://example.org/a?b=c"), "https://example.org/a?b=c"); Text("version", new Version(1, 2, 3), "1.2.3");
        Text("bit array text", new BitArray(new[] { true, false, true }), "101");

        foreach (var (id, type) in new[] { ("plain", typeof(Item)), ("generic", typeof(Dictionary<string, List<int>>)), ("nested", typeof(Callee.Nested)), ("array", typeof(int[,])), ("pointer", typeof(int*)), ("nested generic", typeof(G1<int>.G2<string>)), ("primitive", typeof(int)), ("nullable", typeof(int?)), ("struct", typeof(P3)) })
            Text("type " + id, type, Spelling.Name(type), "typeof(" + Spelling.Name(type) + ")");
        Text("type open", typeof(Dictionary<,>), "System.Collections.Generic.Dictionary", "typeof(System.Collections.Generic.Dictionary<TKey, TValue>)");

        MethodInfo Method(Type t, string name) => t.GetMethod(name, BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.Static | BindingFlags.Instance);
        void Info(string id, MemberInfo m, string name) => Text(id, m, name, Spelling.Name(m.GetType()) + " " + name);
        Info("method instance", Method(typeof(Callee), "Instance"), "Truth.Callee.Instance"); Info("method static", Method(typeof(Callee), "Static"), "Truth.Callee.Static"); Info("method of the library", typeof(string).GetMethod("IsNullOrEmpty"), "System.String.IsNullOrEmpty");
        Info("method of a generic type", typeof(List<int>).GetMethod("Clear"), "System.Collections.Generic.List<System.Int32>.Clear"); Info("constructor", typeof(Item).GetConstructors()[0], "Truth.Item..ctor");
        Info("field info", typeof(Callee).GetField("Id"), "Truth.Callee.Id"); Info("property info", typeof(HiddenBase).GetProperty("Same"), "Truth.HiddenBase.Same");

        var callee = Cases.Add("callee", new Callee());
        void Delegate(string id, Delegate d, string method, bool target) => Text(id, d, method, Spelling.Name(d.GetType()) + " " + method + (target ? " on " + Spelling.Name(d.Target.GetType()) : ""));
        Delegate("delegate instance", new EventHandler(callee.Instance), "Truth.Callee.Instance", true); Delegate("delegate static", new Action(Callee.Static), "Truth.Callee.Static", false); Delegate("delegate function", new Func<string, int>(callee.Function), "Truth.Callee.Function", true);
        Delegate("delegate virtual", new Action(callee.Virtual), "Truth.Callee.Virtual", true); Delegate("delegate nested", new Action(new Callee.Nested().Called), "Truth.Callee+Nested.Called", true);
        Delegate("delegate extension", new Action(callee.Extend), "Truth.Extension.Extend", true); Delegate("delegate interface", new Action(((ICalled)new Explicit()).Call), "Truth.Explicit.Truth.ICalled.Call", true);
        Delegate("delegate of the library", new Func<string, bool>(string.IsNullOrEmpty), "System.String.IsNullOrEmpty", false);

        Text("f# some", FSharpOption<int>.Some(5), "Some(5)", "Some(5)"); Text("f# some text", FSharpOption<string>.Some("s"), "Some(\"s\")", "Some(\"s\")");
        Text("f# choice", FSharpChoice<int, string>.NewChoice2Of2("c"), "Choice2Of2", "Choice2Of2(\"c\")"); Text("f# value option", FSharpValueOption<int>.NewValueSome(6), "ValueSome(6)", "ValueSome(6)");
        Text("f# ok", FSharpResult<int, string>.NewOk(7), "Ok(7)", "Ok(7)"); Text("f# error", FSharpResult<int, string>.NewError("bad"), "Error(\"bad\")", "Error(\"bad\")");
        Cases.Add("f# none in a field", new Real<FSharpOption<int>> { Value = FSharpOption<int>.None });
    }

    // What the library itself writes of a struct.
    static object Written(object v) => v switch
    {
        ReadOnlyMemory<char> m => m.ToString(),
        Memory<char> m => m.ToString(),
        JsonElement { ValueKind: JsonValueKind.Undefined } => null,
        JsonElement e => e.ValueKind == JsonValueKind.String ? e.GetString() : e.GetRawText(),
        Vector128<int> or Vector64<byte> or Vector256<double> => ((FormattableString)$"{v}").ToString(CultureInfo.InvariantCulture),
        _ => v,
    };

    public static void Write()
    {
        Golden.Section("library: structs that mean one value");
        object s = Cases.All.First(c => c.Id == "library structs").Object;
        foreach (FieldInfo f in typeof(LibraryStructs).GetFields(BindingFlags.Public | BindingFlags.Instance))
            Golden.Query("SELECT field, CAST(value AS TEXT) FROM field_values WHERE object = " + Cases.At("library structs") + $" AND (field = '{f.Name}' OR field LIKE '{f.Name}.%')", Golden.Row(f.Name, Written(f.GetValue(s)) is var w && w is BigInteger b ? b.ToString() : w));
        Golden.Query("SELECT CAST(value AS TEXT) FROM elements WHERE object = " + Cases.At("big numbers"), Golden.Row("1"), Golden.Row(BigInteger.Pow(10, 30).ToString()));
        Golden.Query("SELECT CAST(key AS TEXT), value FROM elements WHERE object = " + Cases.At("big number keys"), Golden.Row(BigInteger.Pow(2, 70).ToString(), "2^70"));
        Golden.Query("SELECT CAST(value AS TEXT) FROM elements WHERE object = " + Cases.At("nullable big numbers"), Golden.Row("5"), Golden.Row((object)null));
        Golden.Section("library: clr_text says what it is");
        foreach (var (id, contains, _) in _texts) Golden.One("SELECT instr(clr_text(object), " + Golden.Sql(contains) + ") > 0 FROM cases WHERE id = " + Golden.Sql(id), 1);
        Golden.Section("spelling: library objects in clr_text");
        foreach (var (id, _, text) in _texts) Golden.One("SELECT clr_text(object) FROM cases WHERE id = " + Golden.Sql(id), text);
        Golden.One("SELECT clr_text(object) FROM cases WHERE id = 'f# none in a field'", "Truth.Real<Microsoft.FSharp.Core.FSharpOption<System.Int32>> {Value=null}");
        _texts.Clear();
    }
}
