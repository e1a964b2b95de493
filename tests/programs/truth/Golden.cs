// Writes golden records: the truth about this process, as tests/sql/runner.c reads it.
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;

namespace Truth;

static class Golden
{
    static TextWriter _out;

    public static void Open()
    {
        string path = Environment.GetEnvironmentVariable("RECORDS");
        _out = string.IsNullOrEmpty(path) ? Console.Out : new StreamWriter(path, false, new UTF8Encoding(false));
        _out.Write("# What the dumped process said of itself, on .NET " + Environment.Version.Major + ".\n\n");
        Ok("SELECT clr_attach('${DUMP}')");
    }

    public static void Close() { _out.Flush(); if (_out != Console.Out) _out.Dispose(); _out = null; }

    // A section is what a list of failures is grouped by.
    // On .NET 8 static fields are hard to find: what needs them is told apart there.
    public static void Section(string name, bool statics = false) => _out.Write("# == " + name + (statics && Environment.Version.Major == 8 ? " (needs static fields)" : "") + "\n\n");
    public static void Ok(string sql) => _out.Write("statement ok\n" + sql + "\n\n");
    public static void Error(string text, string sql) => _out.Write("statement error " + text + "\n" + sql + "\n\n");
    public static void Query(string sql, params object[][] rows) => Write("query", sql, rows.Select(Line));
    public static void Query(string sql, IEnumerable<object[]> rows) => Write("query", sql, rows.Select(Line));
    public static void Sorted(string sql, IEnumerable<object[]> rows) => Write("query rowsort", sql, rows.Select(Line).OrderBy(l => l, Comparer<string>.Create(Bytes)));
    // One row of one column.
    public static void One(string sql, object value) => Query(sql, Row(value));
    public static object[] Row(params object[] columns) => columns;

    static void Write(string kind, string sql, IEnumerable<string> rows)
    {
        _out.Write(kind + "\n" + sql + "\n----\n");
        foreach (string row in rows) _out.Write(row + "\n");
        _out.Write("\n");
    }

    static int Bytes(string a, string b) => Encoding.UTF8.GetBytes(a).AsSpan().SequenceCompareTo(Encoding.UTF8.GetBytes(b));
    static string Line(object[] columns) => string.Join("|", columns.Select(Column));

    static string Column(object value)
    {
        value = Scalar(value);
        if (value == null) return "NULL";
        if (value is double d) { string s = d.ToString("R", CultureInfo.InvariantCulture); return s.Contains('.') ? s : s + ".0"; }
        if (value is long) return ((long)value).ToString(CultureInfo.InvariantCulture);
        string text = (string)value;
        if (text.Length == 0) return "(empty)";
        var b = new StringBuilder();
        if (text == "NULL" || text.StartsWith("(empty)", StringComparison.Ordinal) || text.StartsWith("x'", StringComparison.Ordinal)) b.Append('\\');
        for (int i = 0; i < text.Length; i++)
        {
            char c = text[i];
            int found = "\\|\t\n\r".IndexOf(c);
            if (found >= 0) b.Append('\\').Append("\\|tnr"[found]);
            else if (c == 0) b.Append("\\0");
            else if (c < 0x20 || c == 0x7f || (c == ' ' && i + 1 == text.Length)) b.Append("\\x").Append(((int)c).ToString("x2"));
            else b.Append(c);
        }
        return b.ToString();
    }

    // A value as the columns named 'value' give it: NULL, a long, a double or a text. What has fields of its own,
    // and references other than strings, are NULL.
    public static object Scalar(object v)
    {
        var inv = CultureInfo.InvariantCulture;
        switch (v)
        {
            case null: return null;
            case string or long or double: return v is double x && !double.IsFinite(x) ? Real(x) : v;
            case bool b: return b ? 1L : 0L;
            case Enum e: { string s = e.ToString(); return s[0] == '-' || char.IsDigit(s[0]) ? Scalar(Convert.ChangeType(e, e.GetTypeCode(), inv)) : s; }
            case char c: return c.ToString();
            case ulong u: return u > long.MaxValue ? u.ToString(inv) : (long)u;
            case nuint n: return Scalar((ulong)n);
            case sbyte or byte or short or ushort or int or uint or nint: return long.Parse(((IFormattable)v).ToString(null, inv), inv);
            case float f: return Scalar((double)f);
            case decimal d: return d.ToString(inv);
            case DateTime d: return (d.Kind == DateTimeKind.Local ? DateTime.SpecifyKind(d, DateTimeKind.Unspecified) : d).ToString("O", inv);
            case DateTimeOffset or DateOnly or TimeOnly: return ((IFormattable)v).ToString("O", inv);
            case TimeSpan t: return t.ToString("c", inv);
            case Guid g: return g.ToString();
            case Rune or Index or Range: return v.ToString();
            case System.Numerics.BigInteger or System.Numerics.Complex: return ((IFormattable)v).ToString(null, inv);
            default: return null;
        }
    }

    static string Real(double d) => double.IsNaN(d) ? "NaN" : d > 0 ? "Infinity" : "-Infinity";

    // SQL that is 1 if the column is this REAL, bit for bit: mantissa and power of two, both exact in SQLite.
    public static string Exactly(string column, double d)
    {
        long bits = BitConverter.DoubleToInt64Bits(d), mantissa = bits & ((1L << 52) - 1);
        int exponent = (int)(bits >> 52 & 0x7ff);
        if (exponent == 0) exponent = 1; else mantissa |= 1L << 52;
        exponent -= 1075;
        var power = new StringBuilder();
        for (int left = Math.Abs(exponent); left > 0; left -= Math.Min(left, 60))
            power.Append(exponent < 0 ? " / " : " * ").Append("CAST(").Append(1L << Math.Min(left, 60)).Append(" AS REAL)");
        string sign = d < 0 ? "-" : "";
        return $"typeof({column}) = 'real' AND {column} = {sign}CAST({mantissa} AS REAL){power}";
    }

    // A text within SQL.
    public static string Sql(string text) => "'" + text.Replace("'", "''") + "'";
}
