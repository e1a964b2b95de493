// A system of actors that send to one another without end.
using Akka.Actor;
using Akka.Event;
using Akka.Routing;
using Apps;

string file = args[0];
ActorSystem system = ActorSystem.Create("bank", "akka { loglevel = OFF, stdout-loglevel = OFF }");
var accounts = new List<IActorRef>();
for (int i = 0; i < 100; i++) accounts.Add(system.ActorOf(Props.Create(() => new Account(i)), "account-" + i));
IActorRef pool = system.ActorOf(Props.Create(() => new Auditor()).WithRouter(new RoundRobinPool(5)), "auditors");
Kept.System = system;
Kept.Accounts = accounts;
foreach (IActorRef a in accounts) a.Tell(new Deposit(100, "opening"));
var opened = accounts.Select(a => a.Ask<long>("balance", TimeSpan.FromSeconds(20)).Result).Sum();
if (opened != 100 * 100) throw new InvalidOperationException("opened " + opened);
for (int i = 0; i < 50; i++) accounts[i].Tell(new Start(accounts[99 - i], pool));
Thread.Sleep(2500);

var random = new Random(1);
Facts.One("objects", "actors", "SELECT count(*) FROM objects WHERE type_name = 'Account' AND is_reachable", 100);
Facts.One("objects", "auditors", "SELECT count(*) FROM objects WHERE type_name = 'Auditor' AND is_reachable", 5);
Facts.Elements("references to actors", Kept.Accounts);
Facts.Is("field_values", "names of accounts", "SELECT f.value FROM objects AS o JOIN field_values AS f ON f.object = o.address WHERE o.type_name = 'Account' AND f.field = 'Name'", Enumerable.Range(0, 100).Select(i => new object[] { "account number " + i }).ToArray());
Facts.Is("elements", "openings", "SELECT (SELECT value FROM field_values WHERE object = e.target AND field LIKE '%Reason%') FROM objects AS o JOIN field_values AS f ON f.object = o.address AND f.field = 'First' JOIN elements AS e ON e.object = f.target WHERE o.type_name = 'Account'", Enumerable.Range(0, 100).Select(i => new object[] { "opening" }).ToArray());
Facts.Statics(typeof(Kept));
Facts.Ready(file);
Facts.Wait();

record Deposit(long Amount, string Reason);
record Start(IActorRef Other, IActorRef Audit);

class Account : ReceiveActor
{
    public string Name;
    public long Balance;
    public List<Deposit> First = new();
    IActorRef other, audit;

    public Account(int n)
    {
        Name = "account number " + n;
        Receive<Deposit>(d =>
        {
            Balance += d.Amount;
            if (First.Count == 0) First.Add(d);
            if (audit != null) { audit.Tell(d); other.Tell(new Deposit(1, "back")); }
            else if (d.Reason == "back") Sender.Tell(new Deposit(1, "forth"));
        });
        Receive<string>(_ => Sender.Tell(Balance));
        Receive<Start>(s => { other = s.Other; audit = s.Audit; other.Tell(new Deposit(1, "back")); });
    }
}

class Auditor : ReceiveActor
{
    long seen;
    public Auditor() => Receive<Deposit>(d => seen += d.Amount);
}

static class Kept
{
    public static ActorSystem System;
    public static List<IActorRef> Accounts;
}
