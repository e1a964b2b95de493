// A web application under its own load: a minimal API, a SignalR hub with connections, a background service.
using System.Collections.Concurrent;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using Apps;
using Microsoft.AspNetCore.SignalR;
using Microsoft.AspNetCore.SignalR.Client;

string file = args[0];
WebApplicationBuilder builder = WebApplication.CreateBuilder();
builder.Logging.ClearProviders();
builder.WebHost.UseUrls("http://127.0.0.1:0");
builder.Services.AddSignalR();
builder.Services.AddSingleton<Store>();
builder.Services.AddHostedService<Worker>();
WebApplication app = builder.Build();
app.MapGet("/order/{id:int}", (int id, Store store) => store.Orders.TryGetValue(id, out Order o) ? Results.Ok(o) : Results.NotFound());
app.MapPost("/order", (Order o, Store store) => { store.Posted.AddOrUpdate(o.Id % 100, o, (_, _) => o); return Results.Ok(); });
app.MapHub<Chat>("/chat");
await app.StartAsync();
string url = app.Urls.First();
Store store = app.Services.GetRequiredService<Store>();
store.Fill();
store.Changed += Listeners.OnChanged;
store.Changed += new Listeners("bound").OnChangedHere;

var connections = new List<HubConnection>();
for (int i = 0; i < 10; i++)
{
    HubConnection c = new HubConnectionBuilder().WithUrl(url + "/chat").Build();
    c.On<string, string>("said", (who, what) => Interlocked.Increment(ref Counted.Heard));
    await c.StartAsync();
    connections.Add(c);
}
Kept.Connections = connections;
Kept.Store = store;
for (int i = 0; i < 10; i++) await connections[i].InvokeAsync("Join", "user-" + i);

var client = new HttpClient { BaseAddress = new Uri(url) };
for (int i = 0; i < 4; i++)
{
    int seed = i;
    _ = Task.Run(async () =>
    {
        var random = new Random(seed);
        while (true)
        {
            try
            {
                await client.GetStringAsync("/order/" + random.Next(900));
                await client.PostAsJsonAsync("/order", new Order { Id = random.Next(100000), Customer = "load", Lines = [new Line("x", 1, 2.5)] });
                await connections[random.Next(10)].SendAsync("Say", "text " + random.Next());
                Interlocked.Increment(ref Counted.Requests);
            }
            catch (HttpRequestException) { }
        }
    });
}
try { Broken.Outer("web"); } catch (Exception e) { Kept.Error = e; }
await Task.Delay(4000);
GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect();

Facts.Kept("store", store);
Facts.Elements("orders by name", store.ByName);
Facts.Elements("queue", store.Queue);
Facts.Elements("concurrent orders", store.Orders);
Facts.Elements("hub's users", Chat.Users);
Facts.Kept("order 17", store.Orders[17]);
Facts.Elements("lines of order 17", store.Orders[17].Lines);
Facts.Delegate("event", store.Handlers);
Facts.Has("event_subscribers", "subscribers of the store", $"SELECT event, method_name, target_type FROM event_subscribers WHERE publisher = {Facts.Object(store)}", ["Changed", "Listeners.OnChanged", null], ["Changed", "Listeners.OnChangedHere", "Listeners"]);
Facts.Exception("kept exception", Kept.Error);
Facts.Statics(typeof(Kept));
Facts.One("objects", "connections of the hub", "SELECT count(*) FROM objects WHERE type_name = 'Microsoft.AspNetCore.SignalR.HubConnectionContext' AND is_reachable", 10);
Facts.One("objects", "connections of the clients", "SELECT count(*) FROM objects WHERE type_name = 'Microsoft.AspNetCore.SignalR.Client.HubConnection' AND is_reachable", 10);
Facts.Is("field_values", "service's state", "SELECT f.value FROM objects AS o JOIN field_values AS f ON f.object = o.address WHERE o.type_name = 'Worker' AND f.field = 'Name'", ["the worker"]);
Facts.Ready(file);
Facts.Wait();

public class Order { public int Id { get; set; } public string Customer { get; set; } public double Total; public List<Line> Lines { get; set; } public Order Previous; }
public record Line(string Article, int Count, double Price);

public class Store
{
    public ConcurrentDictionary<int, Order> Orders = new();
    public ConcurrentDictionary<int, Order> Posted = new();
    public SortedDictionary<string, Order> ByName = new(StringComparer.Ordinal);
    public Queue<int> Queue = new();
    public event EventHandler<Order> Changed;
    public int Number = 42;
    public string Title = "store äöü \u4e2d";
    internal Delegate Handlers => Changed;

    public void Fill()
    {
        Order last = null;
        for (int i = 0; i < 500; i++)
        {
            last = new Order { Id = i, Customer = "customer-" + i, Total = i * 1.25, Previous = last, Lines = Enumerable.Range(0, i % 5).Select(k => new Line("article " + k, k, k * 0.5)).ToList() };
            Orders[i] = last;
            if (i % 10 == 0) ByName["name-" + i] = last;
        }
        for (int i = 0; i < 30; i++) Queue.Enqueue(i);
        for (int i = 0; i < 20; i++) Queue.Dequeue();
        for (int i = 0; i < 12; i++) Queue.Enqueue(100 + i);
    }
}

public class Listeners(string name)
{
    public string Name = name;
    public static void OnChanged(object sender, Order o) { }
    public void OnChangedHere(object sender, Order o) => Name = o.Customer;
}

public class Chat : Hub
{
    public static readonly ConcurrentDictionary<string, string> Users = new();
    public void Join(string who) => Users[who] = "joined " + who;
    public Task Say(string what) => Clients.All.SendAsync("said", Context.ConnectionId, what);
}

public class Worker : BackgroundService
{
    public string Name = "the worker";
    readonly Channel<long> channel = Channel.CreateBounded<long>(new BoundedChannelOptions(100) { FullMode = BoundedChannelFullMode.DropOldest });
    protected override async Task ExecuteAsync(CancellationToken stop)
    {
        using var timer = new PeriodicTimer(TimeSpan.FromMilliseconds(20));
        for (long i = 0; await timer.WaitForNextTickAsync(stop); i++) await channel.Writer.WriteAsync(i, stop);
    }
}

static class Broken
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static void Outer(string who)
    {
        try { Inner(who); }
        catch (FormatException e) { throw new InvalidOperationException("outer of " + who, e); }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Inner(string who) => throw new FormatException("inner of " + who);
}

static class Kept
{
    public static List<HubConnection> Connections;
    public static Store Store;
    public static Exception Error;
}

// Changes under load, so it is not among the facts.
static class Counted
{
    public static int Heard, Requests;
}
