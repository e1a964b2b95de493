// Puts on its heap what readers of dumps say wrongly, and writes what is true of it as golden records, before it prints
// "ready PID" and waits on standard input.
//
// From the environment: RECORDS, the file of records (standard output without it); SIZE, that of the long lists (1000);
// MODE, an end that the process takes in place of all that: crash-stackoverflow, crash-unhandled, crash-nullreference,
// crash-failfast.
using System;
using System.Runtime;
using System.Threading;
using Truth;

if (int.TryParse(Environment.GetEnvironmentVariable("SIZE"), out int size)) Holding.Size = size;
if (Environment.GetEnvironmentVariable("MODE") is { Length: > 0 } mode) { Exceptions.Crash(mode); return 1; }

// All in threads of their own, so that no frame of this one holds what was made.
OnThread(() => { Collections.Make(); Values.Make(); Library.Make(); Holding.Make(); Delegates.Make(); Plugins.Make(); Exceptions.Make(); });
OnThread(() => { GC.Collect(); GC.WaitForPendingFinalizers(); GC.Collect(); });
OnThread(() =>
{
    Golden.Open(); Cases.Tables();
    Collections.Write(); Values.Write(); Library.Write(); Delegates.Write(); Plugins.Write(); Exceptions.Write(); Aloud.Write(); Holding.Write();
    Golden.Close();
});
// What the work above took is given back: the dump holds committed memory.
OnThread(() => { for (int i = 0; i < 3; i++) { GC.Collect(2, GCCollectionMode.Aggressive, true, true); GC.WaitForPendingFinalizers(); } });
Console.WriteLine("ready " + Environment.ProcessId);
Console.Out.Flush();
Console.In.ReadLine();
return 0;

static void OnThread(ThreadStart body) { var t = new Thread(body, 16 << 20); t.Start(); t.Join(); }
