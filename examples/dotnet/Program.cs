// What takes the heap:   dotnet run -- CORE [rows]
// The module is $CLRDB_MODULE, or 'clrdb' where the dynamic linker looks.
using Microsoft.Data.Sqlite;

if (args.Length is < 1 or > 2)
{
    Console.Error.WriteLine("usage: dotnet run -- CORE [rows]");
    return 2;
}
using var connection = new SqliteConnection("Data Source=:memory:");
connection.Open();
connection.LoadExtension(Environment.GetEnvironmentVariable("CLRDB_MODULE") ?? "clrdb");

using var attach = connection.CreateCommand();
attach.CommandText = "SELECT clr_attach($core)";
attach.Parameters.AddWithValue("$core", args[0]);
Console.WriteLine(attach.ExecuteScalar());

using var top = connection.CreateCommand();
top.CommandText = "SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT $rows";
top.Parameters.AddWithValue("$rows", args.Length == 2 ? int.Parse(args[1]) : 20);
using var reader = top.ExecuteReader();
while (reader.Read())
    Console.WriteLine($"{reader.GetInt64(2),14} {reader.GetInt64(1),11}  {reader.GetString(0)}");
return 0;
