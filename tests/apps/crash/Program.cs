// Dies; the runtime writes the dump itself. Mode crash: an exception that nobody catches, with inner ones. Mode
// overflow: a stack that ends.
using System.Runtime.CompilerServices;
using Apps;

string file = args[0], mode = args.Length > 1 ? args[1] : "crash";
for (int i = 0; i < 1000; i++) Kept.Items.Add(new Item { Number = i, Text = "item " + i });
Facts.Kept("item 5", Kept.Items[5]);
Facts.Elements("items", Kept.Items);
Facts.Sum(typeof(Item), 1000);
Facts.Statics(typeof(Kept));
var worker = new Thread(() => Thread.Sleep(Timeout.Infinite)) { Name = "sleeper", IsBackground = true };
worker.Start();
Facts.Thread(worker);
if (mode == "crash")
{
    Facts.Has("exceptions", "the exception that ends the program", "SELECT e.type_name, e.message, i.type_name, i.message, j.type_name FROM exceptions AS e JOIN exceptions AS i ON i.object = e.inner_exception JOIN exceptions AS j ON j.object = i.inner_exception WHERE e.thread IS NOT NULL", ["System.InvalidOperationException", "the end", "System.ApplicationException", "middle", "System.DivideByZeroException"]);
    Facts.Has("threads", "its thread", $"SELECT t.managed_id, o.type_name FROM threads AS t JOIN objects AS o ON o.address = t.exception", [Environment.CurrentManagedThreadId, "System.InvalidOperationException"]);
    Facts.Is("exception_frames", "its frames, methods and lines of the throws", "SELECT f.method_name, f.line > 0 FROM exceptions AS e JOIN exception_frames AS f ON f.object = e.object WHERE e.message = 'middle'", ["Fails.Inner", 1], ["Fails.Outer", 1]);
    Facts.One("dump_info", "signal", "SELECT signal FROM dump_info", 6);
    Facts.Ready(file);
    Fails.Outer();
}
else
{
    Facts.Ready(file);
    Fails.Overflow(1);
}

class Item { public int Number; public string Text; }

static class Kept
{
    public static List<Item> Items = new();
}

static class Fails
{
    static int zero;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Outer()
    {
        try { Inner(); }
        catch (Exception e) { throw new InvalidOperationException("the end", e); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Inner()
    {
        try { zero = 1 / zero; }
        catch (Exception e) { throw new ApplicationException("middle", e); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Overflow(int n) => Overflow(n + 1) + Kept.Items[n % 1000].Number;
}
