#!/usr/bin/python3
"""What takes the heap:   leaks.py CORE [rows]

Needs a Python whose sqlite3 can load extensions: Debian's can, many that were built by hand cannot.
The module is $CLRDB_MODULE, or 'clrdb' where the dynamic linker looks."""
import os
import sqlite3
import sys


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    connection = sqlite3.connect(":memory:")
    if not hasattr(connection, "enable_load_extension"):
        sys.exit("this Python's sqlite3 cannot load extensions: use /usr/bin/python3")
    connection.enable_load_extension(True)
    connection.load_extension(os.environ.get("CLRDB_MODULE", "clrdb"))
    connection.enable_load_extension(False)

    print(connection.execute("SELECT clr_attach(?)", (sys.argv[1],)).fetchone()[0])
    complete, problems = connection.execute(
        "SELECT complete, (SELECT count(*) FROM problems) FROM dump_info").fetchone()
    if not complete:
        print(f"not everything could be read: {problems} rows in problems")
    rows = connection.execute(
        "SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT ?",
        (int(sys.argv[2]) if len(sys.argv) == 3 else 20,))
    for name, count, size in rows:
        print(f"{size:>14,} {count:>11,}  {name}")


main()
