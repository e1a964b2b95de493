// Code that comes into being while the program runs: plugins compiled by Roslyn into contexts that can be unloaded,
// compiled expressions and regular expressions, DynamicMethods, an emitted assembly, and async methods that wait.
using System.IO.MemoryMappedFiles;
using System.Linq.Expressions;
using System.Reflection;
using System.Reflection.Emit;
using System.Reflection.PortableExecutable;
using System.Runtime.CompilerServices;
using System.Runtime.Loader;
using System.Text.RegularExpressions;
using Apps;
using Microsoft.CodeAnalysis;
using Microsoft.CodeAnalysis.CSharp;

string file = args[0];
MetadataReference[] references = ((string)AppContext.GetData("TRUSTED_PLATFORM_ASSEMBLIES")).Split(':')
    .Select(p => (MetadataReference)MetadataReference.CreateFromFile(p)).ToArray();
// Roslyn reads the files that it refers to; this program maps one as well.
string core = typeof(object).Assembly.Location;
for (int i = 0; i < 20; i++) Kept.Mapped.Add(MemoryMappedFile.CreateFromFile(core, FileMode.Open, null, 0, MemoryMappedFileAccess.Read).CreateViewAccessor(0, 0, MemoryMappedFileAccess.Read));
unsafe { foreach (var m in Kept.Mapped) { byte* p = null; m.SafeMemoryMappedViewHandle.AcquirePointer(ref p); for (long o = 0; o < m.Capacity; o += 4096) Kept.Read += p[o]; } }

for (int i = 0; i < 6; i++)
{
    string source = $$"""
        using System.Collections.Generic;
        namespace Plugin{{i}} {
            public record struct Point(int X, int Y);
            public class State { public static State Instance; public static Dictionary<string, Point> Points = new(); public int Number; public List<string> Texts = new(); public object Self; }
            public static class Entry {
                public static object Start(int n) {
                    var s = new State { Number = n * 10 + {{i}} }; s.Self = s;
                    for (int k = 0; k < n; k++) { s.Texts.Add("plugin {{i}} text " + k); State.Points["p" + k] = new Point(k, k * k); }
                    State.Instance = s; return s;
                }
            }
        }
        """;
    CSharpCompilation compilation = CSharpCompilation.Create("Plugin" + i, [CSharpSyntaxTree.ParseText(source)], references, new CSharpCompilationOptions(OutputKind.DynamicallyLinkedLibrary, optimizationLevel: OptimizationLevel.Release));
    using var image = new MemoryStream();
    var result = compilation.Emit(image);
    if (!result.Success) throw new InvalidOperationException(string.Join('\n', result.Diagnostics));
    if (i == 5) Plugins.Drop(image); else Plugins.Load(i, image);
    Kept.Compilations.Add(compilation);
}

// Expressions, regular expressions, DynamicMethods.
for (int i = 0; i < 20; i++)
{
    ParameterExpression x = Expression.Parameter(typeof(List<string>), "x");
    int n = i;
    Kept.Compiled.Add(Expression.Lambda<Func<List<string>, int>>(Expression.Add(Expression.Property(x, "Count"), Expression.Constant(n)), x).Compile());
    Kept.Regexes.Add(new Regex("^(a{" + (i + 1) + "})+$", RegexOptions.Compiled));
    Kept.Regexes[i].IsMatch(new string('a', i));
    Kept.Compiled[i]([]);
    var made = new DynamicMethod("Made" + i, typeof(int), [typeof(object), typeof(int)], typeof(Kept).Module, true);
    ILGenerator il = made.GetILGenerator();
    il.Emit(OpCodes.Ldarg_1); il.Emit(OpCodes.Ldc_I4, i); il.Emit(OpCodes.Add); il.Emit(OpCodes.Ret);
    var f = made.CreateDelegate<Func<int, int>>("bound " + i);
    if (f(1) != 1 + i) throw new InvalidOperationException();
    Kept.Made.Add(f);
}
Kept.Regexes.Add(new Regex("^a+$", RegexOptions.Compiled));
Kept.Regexes[^1].IsMatch("aaa");

// An emitted assembly.
AssemblyBuilder emitted = AssemblyBuilder.DefineDynamicAssembly(new AssemblyName("Emitted"), AssemblyBuilderAccess.Run);
TypeBuilder builder = emitted.DefineDynamicModule("Emitted").DefineType("Emitted.Thing", TypeAttributes.Public);
builder.DefineField("Number", typeof(int), FieldAttributes.Public);
builder.DefineField("Text", typeof(string), FieldAttributes.Public);
Type thing = builder.CreateType();
Kept.Thing = Activator.CreateInstance(thing);
thing.GetField("Number").SetValue(Kept.Thing, 4711);
thing.GetField("Text").SetValue(Kept.Thing, "emitted text");

// Async methods that wait.
for (int i = 0; i < 30; i++) Kept.Waiting.Add(Waits.Outer(i, "wait " + i));
for (int i = 0; i < 5; i++) Kept.Waiting.Add(Waits.Values(i).AsTask());

// Hot methods, so that some are promoted.
for (int round = 0; round < 60; round++) { for (int i = 0; i < 200; i++) Hot.Run(i); Thread.Sleep(10); }
new Thread(() => { while (true) for (int i = 0; i < 100000; i++) Hot.Run(i); }) { Name = "hot", IsBackground = true }.Start();

GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect();

foreach (object state in Kept.States) Facts.Kept("plugin state " + state.GetType().Namespace, state);
foreach (object texts in Kept.Texts) Facts.Elements("plugin texts", (System.Collections.IEnumerable)texts);
Facts.Kept("emitted object", Kept.Thing);
foreach (Func<int, int> f in Kept.Made.Take(3))
    Facts.One("delegates", "DynamicMethod " + f.Method.Name, $"SELECT m.name, m.is_dynamic, (SELECT value FROM strings WHERE object = d.target) FROM delegates AS d JOIN methods AS m ON m.address = d.method WHERE d.object = {Facts.Object(f)}", f.Method.Name, 1, f.Target);
Facts.One("methods", "DynamicMethods have signatures", "SELECT count(*) FROM methods WHERE is_dynamic AND name LIKE 'Made%' AND signature LIKE '%(System.Object%, System.Int32%)'", 20);
Facts.One("methods", "signatures of methods made at run time", "SELECT count(*) FROM methods WHERE is_dynamic AND signature IS NULL", 0);
Facts.One("load_contexts", "contexts of plugins", "SELECT count(*) FROM load_contexts WHERE name LIKE 'plugin-%' AND is_collectible", 5);
Facts.One("modules", "the dropped plugin is gone", "SELECT count(*) FROM modules WHERE assembly = 'Plugin5'", 0);
Facts.One("objects", "async methods that wait: their locals", "SELECT count(*) FROM objects WHERE type_name = 'Apps.Local' AND is_reachable", 65);
Facts.Elements("tasks", Kept.Waiting);
Facts.Statics(typeof(Kept));
Facts.One("methods", "promoted method", "SELECT count(*) FROM methods AS m JOIN native_codes AS c ON c.start = m.native_code WHERE m.name = 'Run' AND m.type = " + Facts.TypeAddress(typeof(Hot)) + " AND c.kind = 'jit' AND c.is_active", 1);
Facts.Ready(file);
Facts.Wait();

namespace Apps
{
    static class Kept
    {
        public static List<MemoryMappedViewAccessor> Mapped = new();
        public static long Read;
        public static List<object> States = new(), Texts = new();
        public static List<AssemblyLoadContext> Contexts = new();
        public static List<CSharpCompilation> Compilations = new();
        public static List<Func<List<string>, int>> Compiled = new();
        public static List<Regex> Regexes = new();
        public static List<Func<int, int>> Made = new();
        public static object Thing;
        public static List<Task> Waiting = new();
        public static TaskCompletionSource<int> Gate = new();
    }

    static class Plugins
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        static object Start(AssemblyLoadContext context, MemoryStream image, int n)
        {
            image.Position = 0;
            Assembly a = context.LoadFromStream(image);
            return a.GetTypes().First(t => t.Name == "Entry").GetMethod("Start").Invoke(null, [n]);
        }

        public static void Load(int i, MemoryStream image)
        {
            var context = new AssemblyLoadContext("plugin-" + i, true);
            object state = Start(context, image, 10 + i);
            Kept.Contexts.Add(context);
            Kept.States.Add(state);
            Kept.Texts.Add(state.GetType().GetField("Texts").GetValue(state));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Drop(MemoryStream image)
        {
            var context = new AssemblyLoadContext("dropped", true);
            Start(context, image, 3);
            context.Unload();
        }
    }

    class Local { public string Text; }

    static class Waits
    {
        public static async Task<int> Outer(int n, string text)
        {
            var local = new Local { Text = text };
            int r = await Middle(n + 1, local);
            return r + local.Text.Length;
        }

        static async Task<int> Middle(int n, Local outer)
        {
            var local = new Local { Text = "middle " + n };
            int r = await Kept.Gate.Task;
            return r + n + local.Text.Length + outer.Text.Length;
        }

        public static async ValueTask<string> Values(int n)
        {
            var local = new Local { Text = "value " + n };
            await foreach (int i in Sequence(n)) if (i < 0) return "";
            return local.Text;
        }

        static async IAsyncEnumerable<int> Sequence(int n)
        {
            yield return n;
            await Kept.Gate.Task.ConfigureAwait(false);
            yield return n + 1;
        }
    }

    static class Hot
    {
        static int sum;

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static void Run(int i) => sum += i;
    }
}
