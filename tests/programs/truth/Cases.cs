// Objects that records name by an id. Queries find them in three tables that the first record makes: 'cases', 'items'
// and 'roots_of' are made from tables that every runtime serves, and take no address from anywhere.
using System.Collections.Generic;

namespace Truth;

sealed class Case { public string Id; public object Object; }

// What stands in collections where a reference is wanted.
sealed class Item : System.IComparable<Item>
{
    public int Id;
    public Item(int id) { Id = id; }
    public int CompareTo(Item other) => Id.CompareTo(other.Id);
    public override int GetHashCode() => Id;
    public override bool Equals(object other) => other is Item item && item.Id == Id;
}

static class Cases
{
    public static readonly List<Case> All = new();

    public static T Add<T>(string id, T value) { All.Add(new Case { Id = id, Object = value }); return value; }

    public static void Tables()
    {
        // Objects that hold Case and Item in arrays only, so that a dictionary's spare copies do not count.
        Golden.Ok("CREATE TEMP TABLE cases AS SELECT clr_field(o.address, 'Id') AS id, r.target AS object\n"
            + "  FROM types AS t JOIN objects AS o ON o.type = t.address LEFT JOIN refs AS r ON r.source = o.address AND r.field = 'Object'\n"
            + " WHERE t.name = 'Truth.Case'");
        Golden.Ok("CREATE TEMP TABLE items AS SELECT o.address AS object, clr_field(o.address, 'Id') AS id\n"
            + "  FROM types AS t JOIN objects AS o ON o.type = t.address WHERE t.name = 'Truth.Item'");
        Golden.One("SELECT count(*) FROM cases", All.Count);
        Golden.One("SELECT complete FROM dump_info", 1);
    }

    public static string At(string id) => "(SELECT object FROM cases WHERE id = '" + id + "')";
}
