// An application with a database, a cache and typed HTTP clients, under load by four threads.
using System.Collections.Concurrent;
using System.Collections.Immutable;
using System.Net;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Apps;
using Microsoft.EntityFrameworkCore;
using Microsoft.Data.Sqlite;
using Microsoft.Extensions.Caching.Memory;
using Microsoft.Extensions.DependencyInjection;

string file = args[0];
var connection = new SqliteConnection("Data Source=:memory:");
connection.Open();
var services = new ServiceCollection();
services.AddMemoryCache();
services.AddHttpClient<Prices>(c => c.BaseAddress = new Uri("http://prices.invalid/")).ConfigurePrimaryHttpMessageHandler(() => new Canned());
services.AddDbContext<Library>(o => o.UseSqlite(connection), ServiceLifetime.Transient);
ServiceProvider provider = services.BuildServiceProvider();
IMemoryCache cache = provider.GetRequiredService<IMemoryCache>();

Library library = provider.GetRequiredService<Library>();
library.Database.EnsureCreated();
for (int a = 0; a < 40; a++)
{
    var author = new Author { Name = "author-" + a };
    for (int b = 0; b < 10; b++) author.Books.Add(new Book { Title = $"book {a}/{b}", Pages = a * 10 + b, Bought = new DateTime(2020, 1, 1).AddDays(a) });
    library.Add(author);
}
library.SaveChanges();
Kept.Library = library;
Kept.Authors = library.Authors.Include(a => a.Books).OrderBy(a => a.Id).ToList();
for (int i = 0; i < 200; i++) cache.Set("key-" + i, new Cached { Number = i, Text = "cached " + i }, new MemoryCacheEntryOptions { Size = 1, Priority = CacheItemPriority.NeverRemove });
Kept.Cache = cache;
Kept.Made = GC.GetAllocatedBytesForCurrentThread();
Kept.Points = Make.Points(5000);
Kept.Made = GC.GetAllocatedBytesForCurrentThread() - Kept.Made;
Make.Collections();
Make.Dropped(3000);
Make.Handles();
Make.Table();
var prices = provider.GetRequiredService<Prices>();
Kept.Prices = prices;

var barrier = new CountdownEvent(4);
var threads = new List<Thread>();
for (int i = 0; i < 4; i++)
{
    int seed = i;
    var t = new Thread(() => Make.Local(seed, barrier, provider, cache)) { Name = "load-" + i, IsBackground = true };
    threads.Add(t);
    t.Start();
}
barrier.Wait();
try { Make.Fail(); } catch (Exception e) { Kept.Error = e; }
Make.Aggregate();
Thread.Sleep(3000);
GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect();

Facts.Kept("author 1", Kept.Authors[1]);
Facts.Kept("book 1/1", Kept.Authors[1].Books[1]);
Facts.Elements("authors", Kept.Authors);
Facts.Elements("books of author 1", Kept.Authors[1].Books);
for (int i = 0; i < 200; i += 40) Facts.Kept("cached " + i, cache.Get("key-" + i));
Facts.Sum(typeof(Cached), 201); // and the one that a delegate is bound to
Facts.Sum(typeof(Point), 5000, Kept.Made - Kept.PointsArray);
Facts.Dropped(typeof(Gone), true);
Facts.Elements("list of numbers", Kept.Numbers);
Facts.Elements("hash set", Kept.Set);
Facts.Elements("sorted set", Kept.Sorted);
Facts.Elements("linked list", Kept.Linked);
Facts.Elements("stack", Kept.Stack);
Facts.Elements("dictionary", Kept.Map);
Facts.Elements("immutable list", Kept.Immutable);
Facts.Elements("immutable dictionary", Kept.ImmutableMap);
Facts.Elements("concurrent queue", Kept.Concurrent);
Facts.Elements("jagged array", Kept.Jagged);
Facts.Elements("array of doubles", Kept.Doubles);
Facts.Statics(typeof(Kept));
Facts.One("statics", "number that is a struct's field", $"SELECT value FROM field_values WHERE object = {Facts.Object(Kept.Boxed)} AND field = 'Y'", 7);
Facts.Delegate("delegate", Kept.Handler);
Facts.Exception("kept exception", Kept.Error);
Facts.Exception("aggregate", Kept.Aggregate);
foreach (Thread t in threads) Facts.Thread(t);
Facts.One("handles", "handles of each kind", "SELECT sum(h.kind = 'weak_short'), sum(h.kind = 'weak_long'), sum(h.kind = 'strong'), sum(h.kind = 'pinned') FROM handles AS h JOIN objects AS o ON o.address = h.object WHERE o.type_name IN ('Marked', 'Marked[]', 'MarkedValue[]')", 3, 2, 4, 5);
Facts.One("handles", "entries of a ConditionalWeakTable", "SELECT count(*) FROM handles AS h JOIN objects AS k ON k.address = h.object JOIN objects AS v ON v.address = h.secondary WHERE h.kind = 'dependent' AND k.type_name = 'Key' AND v.type_name = 'Value' AND v.is_reachable", 25);
Facts.One("finalizer_queue", "objects with finalizers", "SELECT count(*) FROM finalizer_queue AS q JOIN objects AS o ON o.address = q.object WHERE o.type_name = 'Finalized' AND q.list = 'registered'", 11);
Facts.One("objects", "an object with a sync block keeps its hash code", $"SELECT sync_block > 0 FROM objects WHERE address = {Facts.Object(Kept.Locked)}", 1);
Facts.Ready(file);
lock (Kept.Locked) Facts.Wait();

public class Author { public int Id { get; set; } public string Name { get; set; } public List<Book> Books { get; set; } = new(); }
public class Book { public int Id { get; set; } public string Title { get; set; } public int Pages { get; set; } public DateTime Bought { get; set; } public Author Author { get; set; } }
public class Library(DbContextOptions<Library> o) : DbContext(o)
{
    public DbSet<Author> Authors { get; set; }
    public DbSet<Book> Books { get; set; }
}
public class Prices(HttpClient client) { public Task<string> Get(int id) => client.GetStringAsync("book/" + id); }
public class Canned : HttpMessageHandler
{
    protected override Task<HttpResponseMessage> SendAsync(HttpRequestMessage r, CancellationToken c) => Task.FromResult(new HttpResponseMessage(HttpStatusCode.OK) { Content = new StringContent("{\"price\": 1.5}"), RequestMessage = r });
}
public class Cached { public int Number; public string Text; }
public class Point { public int X; public long Y; public double Z; public byte B; public string Text; }
public class Gone { public object Next; public long A; }
public class Marked { public int N; }
public struct MarkedValue { public int N; }
public class Key { public int N; }
public class Value { public Key Back; }
public class Finalized { ~Finalized() => Kept.Finalizations++; }
public struct Pair { public int X, Y; public override readonly string ToString() => X + "/" + Y; }
public delegate string Handle(int n);

static class Kept
{
    public static Library Library;
    public static List<Author> Authors;
    public static IMemoryCache Cache;
    public static Prices Prices;
    public static Point[] Points;
    public static long Made, PointsArray;
    public static List<int> Numbers = new();
    public static HashSet<string> Set = new();
    public static SortedSet<int> Sorted = new();
    public static LinkedList<string> Linked = new();
    public static Stack<long> Stack = new();
    public static Dictionary<string, int> Map = new();
    public static ImmutableList<string> Immutable = ImmutableList<string>.Empty;
    public static ImmutableDictionary<int, string> ImmutableMap = ImmutableDictionary<int, string>.Empty;
    public static ConcurrentQueue<string> Concurrent = new();
    public static int[][] Jagged;
    public static double[] Doubles = [0.5, -1.25, 1e300, double.Epsilon];
    public static object Boxed = new Pair { X = 3, Y = 7 };
    public static Handle Handler;
    public static Exception Error, Aggregate;
    public static object Locked = new();
    public static List<GCHandle> Handles = new();
    public static List<object> Alive = new();
    public static ConditionalWeakTable<Key, Value> Table = new();
    public static int Finalizations;
    public static bool Yes = true;
    public static double Ratio = 0.1;
    public static string Text = "static äöü \ud83d\ude00";
}

static class Make
{
    [ThreadStatic] static int number;
    [ThreadStatic] static string text;
    [ThreadStatic] static List<string> own;

    public static Point[] Points(int n)
    {
        long before = GC.GetAllocatedBytesForCurrentThread();
        var a = new Point[n];
        Kept.PointsArray = GC.GetAllocatedBytesForCurrentThread() - before;
        for (int i = 0; i < n; i++) a[i] = new Point { X = i, Y = -i, Z = i / 3.0, B = (byte)i };
        return a;
    }

    public static void Collections()
    {
        for (int i = 0; i < 300; i++)
        {
            Kept.Numbers.Add(i * i - 100); Kept.Set.Add("set-" + i); Kept.Sorted.Add((i * 37) % 301); Kept.Linked.AddLast("link-" + i);
            Kept.Stack.Push((long)i << 33); Kept.Map["map-" + i] = i; Kept.Immutable = Kept.Immutable.Add("immutable-" + i);
            Kept.ImmutableMap = Kept.ImmutableMap.SetItem(i, "value-" + i); Kept.Concurrent.Enqueue("queued-" + i);
        }
        for (int i = 0; i < 300; i += 3) { Kept.Set.Remove("set-" + i); Kept.Map.Remove("map-" + i); Kept.ImmutableMap = Kept.ImmutableMap.Remove(i); }
        for (int i = 0; i < 50; i++) { Kept.Stack.Pop(); Kept.Concurrent.TryDequeue(out _); Kept.Map["again-" + i] = -i; }
        Kept.Jagged = Enumerable.Range(0, 5).Select(n => new int[n]).ToArray();
        Kept.Handler = Static;
        Kept.Handler += new Cached { Number = 5 }.Show;
        int captured = 9;
        Kept.Handler += n => (n + captured).ToString();
    }

    static string Static(int n) => n.ToString();
    static string Show(this Cached c, int n) => c.Text + n;

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Dropped(int n) { Gone last = null; for (int i = 0; i < n; i++) last = new Gone { Next = last, A = i }; }

    public static void Handles()
    {
        object M() { var m = new Marked(); Kept.Alive.Add(m); return m; }
        for (int i = 0; i < 3; i++) Kept.Handles.Add(GCHandle.Alloc(M(), GCHandleType.Weak));
        for (int i = 0; i < 2; i++) Kept.Handles.Add(GCHandle.Alloc(M(), GCHandleType.WeakTrackResurrection));
        for (int i = 0; i < 4; i++) Kept.Handles.Add(GCHandle.Alloc(new Marked(), GCHandleType.Normal));
        for (int i = 0; i < 5; i++) Kept.Handles.Add(GCHandle.Alloc(new MarkedValue[3], GCHandleType.Pinned));
        for (int i = 0; i < 11; i++) Kept.Alive.Add(new Finalized());
    }

    public static void Table()
    {
        for (int i = 0; i < 25; i++) { var k = new Key { N = i }; Kept.Alive.Add(k); Kept.Table.Add(k, new Value { Back = k }); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Fail()
    {
        try { Middle(3); }
        catch (Exception e) { throw new ApplicationException("outermost", e); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Middle(int n)
    {
        if (n > 0)
            Middle(n - 1);
        else
            throw new KeyNotFoundException("innermost " + n);
    }

    public static void Aggregate()
    {
        try { Task.WaitAll(Task.Run(() => throw new InvalidDataException("one")), Task.Run(() => throw new TimeoutException("two"))); }
        catch (Exception e) { Kept.Aggregate = e; }
    }

    public static void Local(int seed, CountdownEvent barrier, IServiceProvider provider, IMemoryCache cache)
    {
        number = seed + 1000; text = "thread text " + seed; own = ["own-" + seed];
        Facts.ThreadStatic(typeof(Make), nameof(number), number);
        Facts.ThreadStatic(typeof(Make), nameof(text), text);
        barrier.Signal();
        var random = new Random(seed);
        while (true)
        {
            lock (Kept.Library)
            {
                using Library library = provider.GetRequiredService<Library>();
                int from = random.Next(300);
                int n = library.Books.Where(b => b.Pages >= from && b.Pages < from + 20).Select(b => new { b.Title, b.Author.Name }).ToList().Count;
                cache.Set("load-" + random.Next(500), new byte[random.Next(1000)], TimeSpan.FromMilliseconds(200));
                if (n < 0) return;
            }
            provider.GetRequiredService<Prices>().Get(seed).Wait();
            Thread.Sleep(1);
        }
    }
}
