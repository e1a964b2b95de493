// How texts are spelled: what docs/schema.md says, and where it says nothing, what C# says (README.md lists it).
using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;

namespace Truth;

static class Spelling
{
    const int MostUnits = 120;

    // A string as clr_text writes it.
    public static string Quote(string s)
    {
        int taken = Math.Min(s.Length, MostUnits);
        if (taken < s.Length && char.IsHighSurrogate(s[taken - 1]) && char.IsLowSurrogate(s[taken])) taken--;
        return "\"" + Escape(s.Substring(0, taken), '"') + "\"" + (taken < s.Length ? $"… ({s.Length} characters)" : "");
    }

    public static string Escape(string s, char quote)
    {
        var b = new StringBuilder();
        for (int i = 0; i < s.Length; i++)
        {
            char c = s[i];
            if (char.IsHighSurrogate(c) && i + 1 < s.Length && char.IsLowSurrogate(s[i + 1])) { b.Append(c).Append(s[++i]); continue; }
            switch (c)
            {
                case '\n': b.Append("\\n"); continue;
                case '\r': b.Append("\\r"); continue;
                case '\t': b.Append("\\t"); continue;
                case '\0': b.Append("\\0"); continue;
                case '\\': b.Append("\\\\"); continue;
            }
            if (c == quote) b.Append('\\').Append(c);
            else if (c < 0x20 || c == 0x7f) b.Append("\\x").Append(((int)c).ToString("x2"));
            else if (CharUnicodeInfo.GetUnicodeCategory(c) is UnicodeCategory.Control or UnicodeCategory.Format or UnicodeCategory.LineSeparator or UnicodeCategory.ParagraphSeparator or UnicodeCategory.Surrogate)
                b.Append("\\u").Append(((int)c).ToString("x4"));
            else b.Append(c);
        }
        return b.ToString();
    }

    // A type as the tables name it: with namespace, '+' for nested, and arguments where C# has them.
    public static string Name(Type t)
    {
        if (t.IsPointer) return Name(t.GetElementType()) + "*";
        if (t.IsArray) return Name(t.GetElementType()) + (t.IsSZArray ? "[]" : t.GetArrayRank() == 1 ? "[*]" : "[" + new string(',', t.GetArrayRank() - 1) + "]");
        if (t.IsGenericParameter) return t.Name;
        var chain = new List<Type>();
        for (Type at = t; at != null; at = at.DeclaringType) chain.Insert(0, at);
        var arguments = t.GetGenericArguments();
        int used = 0;
        var b = new StringBuilder(string.IsNullOrEmpty(t.Namespace) ? "" : t.Namespace + ".");
        foreach (Type at in chain)
        {
            if (at != chain[0]) b.Append('+');
            int tick = at.Name.IndexOf('`');
            b.Append(tick < 0 ? at.Name : at.Name.Substring(0, tick));
            int count = at.GetGenericArguments().Length;
            if (count > used) { b.Append('<').Append(string.Join(", ", arguments.Skip(used).Take(count - used).Select(Name))).Append('>'); used = count; }
        }
        return b.ToString();
    }

    // float and double: the shortest text that gives the same number again.
    public static string Real(double d) => d.ToString("R", CultureInfo.InvariantCulture);
    public static string Real(float f) => f.ToString("R", CultureInfo.InvariantCulture);
}
