// What a program knows of itself, written down as questions in SQL with the rows that must come back.
//
// A line of the file is MODE <tab> AREA <tab> WHAT <tab> SQL <tab> ROWS. MODE is "is" (exactly these rows, in any
// order) or "has" (these rows are among the answer's). ROWS are separated by 0x1e, their columns by 0x1f; NULL is
// the text ~. Tab, newline and backslash are written \t, \n and \\.
//
// An object has no address that lasts, so it is named by its type and its identity hash code.
using System.Collections;
using System.Diagnostics;
using System.Globalization;
using System.Reflection;
using System.Runtime;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Loader;
using System.Text;

namespace Apps;

public static class Facts
{
    static readonly StringBuilder lines = new();
    static readonly object gate = new();
    static int count;

    public static void Is(string area, string what, string sql, params object[][] rows) => Add("is", area, what, sql, rows);

    public static void Has(string area, string what, string sql, params object[][] rows) => Add("has", area, what, sql, rows);

    public static void One(string area, string what, string sql, params object[] row) => Add("is", area, what, sql, row);

    static void Add(string mode, string area, string what, string sql, params object[][] rows)
    {
        string text = string.Join('\x1e', rows.Select(r => string.Join('\x1f', r.Select(Text))));
        lock (gate)
        {
            count++;
            lines.Append(mode).Append('\t').Append(area).Append('\t').Append(Escape(what)).Append('\t')
                 .Append(Escape(sql)).Append('\t').Append(Escape(text)).Append('\n');
        }
    }

    static string Escape(string s) => s.Replace("\\", "\\\\").Replace("\t", "\\t").Replace("\n", "\\n").Replace("\r", "\\r");

    static string Text(object v) => v switch
    {
        null => "~",
        bool b => b ? "1" : "0",
        double d => d.ToString("R", CultureInfo.InvariantCulture),
        float f => ((double)f).ToString("R", CultureInfo.InvariantCulture),
        IFormattable f => f.ToString(null, CultureInfo.InvariantCulture),
        _ => v.ToString(),
    };

    static string Quote(string s) => "'" + s.Replace("'", "''") + "'";

    public static string Name(Type t)
    {
        if (t.IsArray)
        {
            // C# writes the rank of the outermost array first, reflection the innermost: arrays of arrays here are
            // of one rank only.
            return Name(t.GetElementType()) + "[" + new string(',', t.GetArrayRank() - 1) + "]";
        }
        if (t.IsPointer) return Name(t.GetElementType()) + "*";
        if (t.IsGenericParameter) return t.Name;
        Type[] all = t.GetGenericArguments();
        var chain = new List<Type>();
        for (Type d = t; d != null; d = d.DeclaringType) chain.Insert(0, d);
        var s = new StringBuilder(string.IsNullOrEmpty(t.Namespace) ? "" : t.Namespace + ".");
        int used = 0;
        for (int i = 0; i < chain.Count; i++)
        {
            if (i > 0) s.Append('+');
            string n = chain[i].Name;
            int tick = n.LastIndexOf('`');
            int own = 0;
            if (tick >= 0 && int.TryParse(n.AsSpan(tick + 1), out own)) n = n[..tick];
            s.Append(n);
            if (own > 0) s.Append('<').Append(string.Join(", ", all.Skip(used).Take(own).Select(Name))).Append('>');
            used += own;
        }
        return s.ToString();
    }

    // The address of o, as an expression in SQL.
    public static string Object(object o) =>
        $"(SELECT address FROM objects WHERE type_name = {Quote(Name(o.GetType()))} AND hash_code = {RuntimeHelpers.GetHashCode(o)})";

    public static string TypeAddress(Type t) =>
        $"(SELECT address FROM types WHERE name = {Quote(Name(t))} AND module IN (SELECT address FROM modules WHERE mvid = '{t.Module.ModuleVersionId}'))";

    static bool Plain(Type t) => t.IsPrimitive && t != typeof(IntPtr) && t != typeof(UIntPtr) && t != typeof(char) || t == typeof(string);

    static IEnumerable<FieldInfo> FieldsOf(Type t)
    {
        for (; t != null && t != typeof(object); t = t.BaseType)
            foreach (FieldInfo f in t.GetFields(BindingFlags.Instance | BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic))
                yield return f;
    }

    // The object is there once, is reachable, and its fields hold what they hold.
    public static void Kept(string what, object o)
    {
        One("objects", what + ": is reachable", $"SELECT count(*), min(is_reachable) FROM objects WHERE type_name = {Quote(Name(o.GetType()))} AND hash_code = {RuntimeHelpers.GetHashCode(o)}", 1, 1);
        One("objects", what + ": a path leads to it", $"SELECT count(*) FROM path_to_root WHERE of_object = {Object(o)} AND hop = 0 AND root_kind IS NOT NULL", 1);
        if (o is string || o.GetType().IsArray) return;
        var values = new List<object[]>();
        var targets = new List<object[]>();
        foreach (FieldInfo f in FieldsOf(o.GetType()))
        {
            object v = f.GetValue(o);
            if (Plain(f.FieldType) && !(f.FieldType == typeof(string) && v == null)) values.Add([f.Name, v]);
            else if (!f.FieldType.IsValueType && !f.FieldType.IsPointer && f.FieldType != typeof(string))
                targets.Add([f.Name, v == null ? null : Name(v.GetType())]);
        }
        if (values.Count > 0) Has("field_values", what + ": values", $"SELECT field, value FROM field_values WHERE object = {Object(o)}", values.ToArray());
        if (targets.Count > 0) Has("field_values", what + ": targets", $"SELECT f.field, t.type_name FROM field_values AS f LEFT JOIN objects AS t ON t.address = f.target WHERE f.object = {Object(o)} AND f.kind NOT IN ('valuetype')", targets.ToArray());
        object[][] edges = targets.Where(t => t[1] != null).ToArray();
        if (edges.Length > 0) Has("refs", what + ": edges", $"SELECT r.field, t.type_name FROM refs AS r JOIN objects AS t ON t.address = r.target WHERE r.source = {Object(o)}", edges);
    }

    static object Shown(object v) => v == null ? null : Plain(v.GetType()) ? v : v.GetType().IsValueType ? null : Name(v.GetType());

    // A collection's elements: numbers and texts by value, other objects by type.
    public static void Elements(string what, IEnumerable collection)
    {
        var rows = new List<object[]>();
        bool keys = false;
        foreach (object e in collection)
        {
            Type t = e?.GetType();
            if (t is { IsGenericType: true } && t.GetGenericTypeDefinition() == typeof(KeyValuePair<,>) && !collection.GetType().IsArray && !collection.GetType().Name.StartsWith("List"))
            {
                keys = true;
                rows.Add([Shown(t.GetProperty("Key").GetValue(e)), Shown(t.GetProperty("Value").GetValue(e))]);
            }
            else if (e is DictionaryEntry d) { keys = true; rows.Add([Shown(d.Key), Shown(d.Value)]); }
            else rows.Add([Shown(e)]);
        }
        string side(string v, string t) => $"CASE WHEN e.{v} IS NULL AND e.{t} IS NOT NULL THEN (SELECT type_name FROM objects WHERE address = e.{t}) ELSE e.{v} END";
        Is("elements", what + ": elements", $"SELECT {(keys ? side("key", "key_target") + ", " : "")}{side("value", "target")} FROM elements AS e WHERE e.object = {Object(collection)}", rows.ToArray());
    }

    // The static fields of a type that this thread sees.
    public static void Statics(Type t)
    {
        var rows = new List<object[]>();
        foreach (FieldInfo f in t.GetFields(BindingFlags.Static | BindingFlags.DeclaredOnly | BindingFlags.Public | BindingFlags.NonPublic))
        {
            if (f.IsLiteral || f.IsDefined(typeof(ThreadStaticAttribute))) continue;
            object v = f.GetValue(null);
            if (Plain(f.FieldType)) { if (v != null) rows.Add([f.Name, v, null]); }
            else if (!f.FieldType.IsValueType && !f.FieldType.IsPointer && v != null) rows.Add([f.Name, null, Name(v.GetType())]);
        }
        Has("statics", "statics of " + Name(t), $"SELECT s.name, s.value, CASE WHEN s.value IS NULL THEN o.type_name END FROM statics AS s LEFT JOIN objects AS o ON o.address = s.object WHERE s.type = {TypeAddress(t)}", rows.ToArray());
    }

    // A thread static of the thread that asks.
    public static void ThreadStatic(Type t, string field, object value) =>
        One("statics", $"thread static {field} of thread {Environment.CurrentManagedThreadId}", $"SELECT value FROM statics WHERE type = {TypeAddress(t)} AND name = '{field}' AND storage = 'thread_static' AND thread = (SELECT address FROM threads WHERE managed_id = {Environment.CurrentManagedThreadId})", value);

    public static void Thread(Thread t) =>
        One("threads", "thread " + t.Name, $"SELECT managed_id, is_background, is_threadpool FROM threads WHERE name = {Quote(t.Name)}", t.ManagedThreadId, t.IsBackground, t.IsThreadPoolThread);

    public static void Delegate(string what, Delegate d)
    {
        object[][] rows = d.GetInvocationList().Select(x => new object[] { Name(x.Method.DeclaringType) + "." + x.Method.Name, x.Target == null ? null : Name(x.Target.GetType()) }).ToArray();
        Is("delegates", what + ": calls", $"SELECT d.method_name, o.type_name FROM delegates AS d LEFT JOIN objects AS o ON o.address = d.target WHERE d.object = {Object(d)}", rows);
    }

    public static void Exception(string what, Exception e)
    {
        // What it was made with; Message may add to it.
        object made = typeof(Exception).GetField("_message", BindingFlags.Instance | BindingFlags.NonPublic).GetValue(e);
        One("exceptions", what, $"SELECT type_name, message, hresult, (SELECT type_name FROM objects WHERE address = inner_exception) FROM exceptions WHERE object = {Object(e)}", Name(e.GetType()), made, e.HResult, e.InnerException == null ? null : Name(e.InnerException.GetType()));
        var rows = new StackTrace(e, true).GetFrames().Where(f => f.GetFileLineNumber() > 0).Select(f => new object[] { f.GetMethod().Name, Path.GetFileName(f.GetFileName()), f.GetFileLineNumber() }).ToArray();
        if (rows.Length > 0) Has("exception_frames", what + ": lines", $"SELECT substr(method_name, -length(m)), f, line FROM (SELECT method_name, replace(method_name, rtrim(method_name, replace(method_name, '.', '')), '') AS m, replace(file, rtrim(file, replace(file, '/', '')), '') AS f, line FROM exception_frames WHERE object = {Object(e)})", rows);
        if (e.InnerException != null) Exception(what + ", inner", e.InnerException);
    }

    // All objects of a type that the program kept; made is what this thread allocated for them, 0 if not known.
    public static void Sum(Type t, int n, long made = 0)
    {
        One("type_stats", $"reachable objects of {Name(t)}", $"SELECT reachable_count FROM type_stats WHERE type = {TypeAddress(t)}", n);
        One("objects", $"reachable objects of {Name(t)}, one by one", $"SELECT count(*) FROM objects WHERE type_name = {Quote(Name(t))} AND is_reachable", n);
        if (made > 0) One("type_stats", $"bytes of {Name(t)}", $"SELECT reachable_size FROM type_stats WHERE type = {TypeAddress(t)}", made);
    }

    // Objects that nothing holds any more, before a full collection (gone) or after it (not reachable).
    public static void Dropped(Type t, bool gone)
    {
        One("objects", $"dropped objects of {Name(t)} are not reachable", $"SELECT count(*) FROM objects WHERE type_name = {Quote(Name(t))} AND is_reachable", 0);
        if (gone) One("objects", $"dropped objects of {Name(t)} are gone", $"SELECT count(*) FROM objects WHERE type_name = {Quote(Name(t))}", 0);
    }

    // Everything about the process itself; then the file is written, and the line that the script waits for.
    public static void Ready(string file)
    {
        One("dump_info", "runtime version", "SELECT runtime_version FROM dump_info", Environment.Version.ToString());
        One("dump_info", "GC", "SELECT gc_mode FROM dump_info", GCSettings.IsServerGC ? "server" : "workstation");
        One("dump_info", "process", "SELECT process_id FROM dump_info", Environment.ProcessId);
        One("threads", "this thread", $"SELECT count(*) FROM threads WHERE managed_id = {Environment.CurrentManagedThreadId} AND os_id > 0", 1);
        var modules = AppDomain.CurrentDomain.GetAssemblies().Where(a => !a.IsDynamic)
            .Select(a => new object[] { a.GetName().Name, a.GetName().Version?.ToString(), a.ManifestModule.ModuleVersionId.ToString(), AssemblyLoadContext.GetLoadContext(a)?.Name ?? "" }).ToArray();
        Has("modules", "modules and their ids", "SELECT m.assembly, m.version, m.mvid, ifnull(c.name, '') FROM modules AS m LEFT JOIN load_contexts AS c ON c.address = m.load_context", modules);
        var emitted = AppDomain.CurrentDomain.GetAssemblies().Where(a => a.IsDynamic).Select(a => new object[] { a.GetName().Name }).ToArray();
        if (emitted.Length > 0) Has("modules", "emitted modules", "SELECT assembly FROM modules WHERE is_dynamic", emitted);
        Has("load_contexts", "load contexts", "SELECT name, is_collectible FROM load_contexts WHERE NOT is_unloading", AssemblyLoadContext.All.Where(c => c.Name != null).Select(c => new object[] { c.Name, c.IsCollectible }).ToArray());
        lock (gate) File.WriteAllText(file, lines.ToString());
        Console.WriteLine($"ready {Environment.ProcessId} {count}");
    }

    // Waits until the script closes standard input.
    public static void Wait()
    {
        Console.In.ReadToEnd();
        Environment.Exit(0);
    }
}
