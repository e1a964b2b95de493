// Eight threads fill and drop lists while background collections follow one another: a dump of it falls into
// marking or sweeping. What it keeps is there before the load begins.
using Apps;

string file = args[0];
Kept.Make();
for (int i = 0; i < 8; i++)
{
    int seed = i;
    new Thread(() => Load.Run(seed)) { Name = "load-" + i, IsBackground = true }.Start();
}
Facts.Kept("list", Kept.Items);
Facts.Elements("list", Kept.Names);
Facts.Elements("map", Kept.Map);
Facts.Sum(typeof(Item), Kept.Count);
Facts.Statics(typeof(Kept));
var collector = new Thread(() => { while (true) GC.Collect(2, GCCollectionMode.Forced, blocking: false); }) { Name = "collector", IsBackground = true };
collector.Start();
Facts.Thread(collector);
Thread.Sleep(1500);
Facts.Ready(file);
Facts.Wait();

class Item { public int Id; public string Name; public Item Next; public int[] Data; }

static class Kept
{
    public const int Count = 20000;
    public static List<Item> Items = new();
    public static List<string> Names = new();
    public static Dictionary<int, string> Map = new();
    public static long Sum;

    public static void Make()
    {
        Item last = null;
        for (int i = 0; i < Count; i++)
        {
            last = new Item { Id = i, Name = "item-" + i, Next = last, Data = new int[i % 50] };
            Items.Add(last);
            Sum += i;
        }
        for (int i = 0; i < 500; i++) { Names.Add("name-" + i); Map[i * 7] = "value-" + i; }
    }
}

class Short { public object Next; public Short Other; public byte[] Data; }

static class Load
{
    [ThreadStatic] static List<object> list;

    public static void Run(int seed)
    {
        var random = new Random(seed);
        while (true)
        {
            list = new List<object>();
            Short last = null;
            int n = random.Next(10000, 30000);
            for (int i = 0; i < n; i++)
            {
                last = new Short { Next = list.Count > 0 ? list[random.Next(list.Count)] : null, Other = last, Data = i % 16 == 0 ? new byte[random.Next(500)] : null };
                list.Add(last);
            }
            Thread.Sleep(random.Next(30));
        }
    }
}
