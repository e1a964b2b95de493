// What must not pass in silence, asked of objects that this program has.
using System;

namespace Truth;

static class Aloud
{
    public static void Write()
    {
        string list = Cases.At("list");
        Golden.Section("said aloud: an instruction is of a method");
        Golden.One("SELECT instr(clr_what(ip), 'Truth.Exceptions.Throw') > 0 FROM exception_frames WHERE row = 0 AND object = " + Cases.At("thrown again"), 1);
        Golden.Section("said aloud: addresses as text");
        Golden.One("SELECT clr_address(printf('%d', object)) = object FROM cases WHERE id = 'list'", 1);
        Golden.One("SELECT clr_address(clr_hex(object)) = object FROM cases WHERE id = 'list'", 1);
        Golden.Section("spelling: look-ups take addresses as text");
        foreach (var (table, column) in new[] { ("objects", "address"), ("refs", "source"), ("refs", "target"), ("field_values", "object"), ("elements", "object") })
            Golden.One($"SELECT count(*) > 0 FROM {table} WHERE {column} = (SELECT clr_hex({(column == "target" ? "target) FROM refs WHERE source = " + list + " AND field = '_items'" : "object) FROM cases WHERE id = 'list'")})", 1);
        Golden.Section("spelling: what is no object, and no number of paths");
        foreach (string table in new[] { "field_values", "elements" }) Golden.Error("no object", $"SELECT * FROM {table} WHERE object = {list} + 8");
        Golden.Error("paths", $"SELECT * FROM path_to_root({list}, 0)"); Golden.Error("paths", $"SELECT * FROM path_to_root({list}, -1)");
    }
}
