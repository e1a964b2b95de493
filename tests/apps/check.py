#!/usr/bin/python3
"""check.py MODULE CORE [FACTS] [--images FOLDER...] [--background] [--only AREA,...]

Holds a dump against what the program in it wrote about itself (FACTS, the format is in facts/Facts.cs), and checks
what must be true of every dump. A line is 'ok' or 'FAILED AREA: WHAT', with what was asked, expected and found; the
last is 'N passed, N failed'; what the runtime does not describe is skipped. --background only says, by its exit code,
whether a background GC is sweeping."""
import argparse
import collections
import re
import sqlite3
import sys
import tempfile
import time

arguments = argparse.ArgumentParser()
arguments.add_argument("module")
arguments.add_argument("core")
arguments.add_argument("facts", nargs="?")
arguments.add_argument("--images", nargs="*", default=[])
arguments.add_argument("--background", action="store_true")
arguments.add_argument("--only", default="")
options = arguments.parse_args()

connection = sqlite3.connect(":memory:")
connection.text_factory = lambda b: b.decode("utf-8", "replace")
connection.enable_load_extension(True)
connection.load_extension(options.module)
quoted = ",".join('"%s"' % f for f in options.images)
head = connection.execute("SELECT clr_attach(?, 'dump', ?)", (options.core, '{"modules":[%s]}' % quoted)).fetchone()[0]
passed = failed = skipped = 0
# What a runtime does not describe, a table refuses to serve with this text; it is no fault.
GAP = "does not describe"
SHOWN = 6


def rows(sql, *values):
    return connection.execute(sql, values).fetchall()


def text(value):
    if value is None:
        return "~"
    return repr(value) if isinstance(value, float) else str(value)


def wanted(value):
    """.NET writes an exponent as E+300."""
    return repr(float(value)) if re.fullmatch(r"-?[0-9.]+E[+-][0-9]+", value) else value


def say(good, area, what, *details):
    global passed, failed
    if options.only and area not in options.only.split(","):
        return
    if good:
        passed += 1
        print(f"ok {area}: {what}")
        return
    failed += 1
    print(f"FAILED {area}: {what}")
    for detail in details:
        print("    " + str(detail)[:1500].replace("\n", "\n    "))


def refused(area, what, sql, error):
    global skipped
    if GAP in str(error):
        skipped += 1
        print(f"skipped {area}: {what}: {error}")
    else:
        say(False, area, what, sql, error)


def none(area, what, sql, limit=SHOWN):
    """The query finds nothing: its rows are what is wrong."""
    try:
        found = rows(f"SELECT * FROM ({sql}) LIMIT {limit}")
    except sqlite3.Error as e:
        refused(area, what, sql, e)
        return
    say(not found, area, what, sql, f"{len(found)} rows or more", *found[:SHOWN])


def equal(area, what, one, other):
    try:
        a, b = rows(one), rows(other)
    except sqlite3.Error as e:
        refused(area, what, one + " / " + other, e)
        return
    say(a == b, area, what, one, f"  gives {a[:SHOWN]}", other, f"  gives {b[:SHOWN]}")


def gc_state():
    """0 marking, 1 planning or sweeping, 2 free; None where the runtime does not say."""
    found = rows("SELECT address FROM globals WHERE name = 'CurrentGCState'")
    if not found or not found[0][0]:
        return None
    word = rows("SELECT value FROM words(?, ?)", found[0][0] & ~7, (found[0][0] & ~7) + 8)
    return None if not word or word[0][0] is None else (word[0][0] >> 8 * (found[0][0] & 7)) & 0xffffffff


state = gc_state()
if options.background:
    moving = rows("SELECT gc_in_progress FROM dump_info")[0][0]
    print(f"{options.core}: CurrentGCState {state}, gc_in_progress {moving}", file=sys.stderr)
    torn = rows("SELECT count(*) FROM problems WHERE message LIKE '%a GC moved objects%'")[0][0]
    sys.exit(0 if state == 1 and not torn else 1)

print(head)
print(f"CurrentGCState {state}")
start = time.process_time()

# 1. What must hold of every dump.
whole = "SELECT NOT EXISTS (SELECT 1 FROM problems WHERE severity = 'error' AND message LIKE '%" + GAP + "%')"
equal("dump_info", "the heap is whole", "SELECT complete FROM dump_info", whole)
if state in (0, 1):
    equal("dump_info", "says that a GC is under way", "SELECT gc_in_progress FROM dump_info", "SELECT 1")
say(rows("SELECT runtime_version FROM dump_info")[0][0] is not None, "dump_info", "has the runtime's version")
equal("objects", "sizes add up to the segments", "SELECT sum(size * (NOT is_free)), sum(NOT is_free) FROM objects",
      "SELECT sum(object_bytes), sum(object_count) FROM segments")
equal("objects", "add up to type_stats", "SELECT count(*), sum(size) FROM objects",
      "SELECT sum(object_count), sum(total_size) FROM type_stats")
equal("objects", "reachable ones add up to type_stats", "SELECT count(*), sum(size) FROM objects WHERE is_reachable",
      "SELECT sum(reachable_count), sum(reachable_size) FROM type_stats")
none("refs", "what is reachable leads to objects",
     "SELECT clr_hex(r.source), s.type_name, r.field, clr_hex(r.target) FROM refs AS r JOIN objects AS s "
     "ON s.address = r.source LEFT JOIN objects AS t ON t.address = r.target WHERE s.is_reachable AND "
     "(t.address IS NULL OR t.is_free)")
none("roots", "lead to objects", "SELECT id, kind, name, clr_hex(object) FROM roots WHERE object NOT IN "
     "(SELECT address FROM objects)")
none("objects", "what a reachable object refers to is reachable",
     "SELECT clr_hex(r.source), r.kind, r.field, clr_hex(r.target) FROM refs AS r JOIN objects AS s "
     "ON s.address = r.source JOIN objects AS t ON t.address = r.target WHERE s.is_reachable AND NOT t.is_reachable")
# A reference that a slot holds: every object's word in place is a row of refs, also of dead ones.
equal("refs", "each element of an array of references that is not null is a row",
      "SELECT count(*) FROM (SELECT o.address FROM objects AS o WHERE o.type_name = 'System.Object[]' AND o.length > 0"
      " AND o.length < 1000 AND NOT o.is_free LIMIT 5000) AS a JOIN elements AS e ON e.object = a.address"
      " WHERE e.target <> 0",
      "SELECT count(*) FROM (SELECT o.address FROM objects AS o WHERE o.type_name = 'System.Object[]' AND o.length > 0"
      " AND o.length < 1000 AND NOT o.is_free LIMIT 5000) AS a JOIN refs AS r ON r.source = a.address"
      " WHERE r.kind = 'element'")
for name, in rows("SELECT name FROM type_stats WHERE name LIKE '%[]' AND object_count > 0 AND name IN "
                  "('System.String[]', 'Short[]') UNION SELECT 'Short' WHERE EXISTS "
                  "(SELECT 1 FROM type_stats WHERE name = 'Short')"):
    equal("refs", f"of {name}, dead ones too: each field that leads to an object is a row",
          f"SELECT count(*) FROM (SELECT address FROM objects WHERE type_name = '{name}' LIMIT 200000) AS o JOIN "
          + ("elements AS e ON e.object = o.address JOIN objects AS t ON t.address = e.target WHERE NOT t.is_free" if name.endswith("[]") else
             "field_values AS e ON e.object = o.address JOIN objects AS t ON t.address = e.target WHERE NOT t.is_free"),
          f"SELECT count(*) FROM (SELECT address FROM objects WHERE type_name = '{name}' LIMIT 200000) AS o JOIN "
          "refs AS r ON r.source = o.address WHERE r.kind <> 'loader_allocator'")

# 2. A look-up and a scan agree, and what a column names is there.
JOINS = [("objects", "type", "types"), ("types", "module", "modules"), ("types", "parent", "types"),
         ("fields", "type", "types"), ("methods", "type", "types"), ("methods", "module", "modules"),
         ("native_codes", "method", "methods"), ("statics", "type", "types"), ("statics", "object", "objects"),
         ("delegates", "object", "objects"), ("delegates", "method", "methods"), ("handles", "object", "objects"),
         ("roots", "object", "objects"), ("roots", "thread", "threads"), ("modules", "load_context", "load_contexts"),
         ("finalizer_queue", "object", "objects"), ("exceptions", "object", "objects"),
         ("exception_frames", "method", "methods")]
for table, column, other in JOINS:
    try:
        keys = {r[0] for r in rows(f"SELECT address FROM {other}")}
        named = [r[0] for r in rows(f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL AND {column} <> 0")]
    except sqlite3.Error as e:
        refused(table, f"{column} names rows of {other}", table, e)
        continue
    lost = collections.Counter(v for v in named if v not in keys)
    found = [v for v in list(lost)[:500] if rows(f"SELECT 1 FROM {other} WHERE address = ?", v)]
    say(not found, other, f"a look-up by {table}.{column} finds what the scan lists",
        f"SELECT count(*) FROM {other} WHERE address = ... gives a row that no scan has, for {len(found)} of {len(lost)}",
        *[(hex(v), rows(f"SELECT * FROM {other} WHERE address = ?", v)[0]) for v in found[:3]])
    if state in (0, 1) and other == "objects":
        continue
    say(not lost, table, f"{column} names rows of {other}",
        f"SELECT {column} FROM {table} WHERE {column} NOT IN (SELECT address FROM {other})",
        f"{sum(lost.values())} rows, {len(lost)} values: " + ", ".join(hex(v) for v in list(lost)[:SHOWN]))

# 3. Types, methods, code.
none("types", "classes with tokens have their names",
     "SELECT t.name, count(*), sum(o.object_count) FROM types AS t JOIN type_stats AS o ON o.type = t.address WHERE "
     "t.token IS NULL AND t.kind NOT IN ('array', 'szarray', 'free', 'string') AND o.object_count > 0 GROUP BY t.name "
     "HAVING count(*) > 1")
none("types", "no name is a fallback", "SELECT name FROM types WHERE name LIKE '<unknown%' OR name LIKE '%!0x%'")
none("refs", "each edge of a field has its name",
     "SELECT o.type_name, r.offset, count(*) FROM refs AS r JOIN objects AS o ON o.address = r.source WHERE "
     "r.kind = 'member' AND (r.field IS NULL OR r.field LIKE '+%') GROUP BY 1, 2")
none("methods", "have signatures", "SELECT name, is_dynamic, count(*) FROM methods WHERE signature IS NULL GROUP BY 1, 2")
none("native_codes", "a promoted method does not run its ReadyToRun code",
     "SELECT m.name, m.signature FROM methods AS m JOIN native_codes AS c ON c.start = m.native_code JOIN native_codes "
     "AS j ON j.method = m.address AND j.kind = 'jit' WHERE c.kind = 'r2r'", 1000)
none("native_codes", "one code of a method is active",
     "SELECT method, sum(is_active) FROM native_codes WHERE method IS NOT NULL GROUP BY method HAVING sum(is_active) > 1")

# 4. Problems: a warning or error of a whole dump is false until it is understood.
for severity, area, count, message in rows("SELECT severity, area, count, message FROM problems"):
    if severity in ("warning", "error") and GAP not in message:
        say(False, "problems", f"{severity} about {area}", f"{count} x {message}")
none("problems", "one row a cause", "SELECT area, severity, count(*), min(message) FROM problems GROUP BY 1, 2 "
     "HAVING count(*) > 8")

# A machine without the process's files: what is lost is still one row a cause.
with tempfile.TemporaryDirectory() as empty:
    rows("SELECT clr_attach(?, 'bare', ?)", options.core, '{"sysroot":"%s"}' % empty)
    rows("SELECT count(*) FROM bare.native_codes")
    rows("SELECT count(*) FROM bare.debug_bounds")
    none("problems", "one row a cause without the process's files", "SELECT area, severity, count(*), min(message) FROM "
         "bare.problems GROUP BY 1, 2 HAVING count(*) > 8")

# 5. Views: no scan in a scan, bounded time.
for name, in rows("SELECT name FROM dump.sqlite_master WHERE type = 'view' ORDER BY 1"):
    plan = rows(f"EXPLAIN QUERY PLAN SELECT * FROM {name}")
    detail = {r[0]: r[3] for r in plan}
    children = collections.defaultdict(list)
    for r in plan:
        children[r[1]].append(r[3])
    nested = []
    for parent, steps in children.items():
        loops = [s for s in steps if s.startswith(("SCAN ", "SEARCH "))]
        correlated = detail.get(parent, "").startswith("CORRELATED")
        nested += [s for i, s in enumerate(loops) if s.endswith(":scan") and (i > 0 or correlated)]
    say(not nested, "plans", f"{name} has no scan in a scan", *nested, *[r[3] for r in plan])
    began = time.process_time()
    try:
        count = rows(f"SELECT count(*) FROM {name}")[0][0]
        taken = time.process_time() - began
        say(taken < 2, "views", f"{name} takes less than 2 s of CPU", f"{taken:.1f} s, {count} rows")
        if taken > 0.5:
            print(f"    {name}: {taken:.1f} s, {count} rows")
    except sqlite3.Error as e:
        say(False, "views", name, e)
none("leak_suspects", "literals are nobody's leak",
     "SELECT object_count, path FROM leak_suspects WHERE path LIKE 'frozen%'")
none("images", "each is a module of its own",
     "SELECT path, count(*), max(size) FROM images WHERE path IS NOT NULL GROUP BY path HAVING count(*) > 1")
none("images", "none is larger than its mappings can be",
     "SELECT path, size FROM images WHERE size > 100000000")


# 6. What the program said.
def unescape(s):
    out, i = [], 0
    while i < len(s):
        if s[i] == "\\":
            out.append({"t": "\t", "n": "\n", "r": "\r", "\\": "\\"}[s[i + 1]])
            i += 2
        else:
            out.append(s[i])
            i += 1
    return "".join(out)


if options.facts:
    with open(options.facts, encoding="utf-8", newline="\n") as lines:
        for line in lines.read().split("\n"):
            if not line:
                continue
            mode, area, what, sql, expected = line.split("\t")
            what, sql = unescape(what), unescape(sql)
            want = [tuple(wanted(v) for v in r.split("\x1f")) for r in unescape(expected).split("\x1e")] if expected else []
            try:
                got = [tuple(text(v) for v in r) for r in rows(sql)]
            except sqlite3.Error as e:
                refused(area, what, sql, e)
                continue
            missing = collections.Counter(want) - collections.Counter(got)
            extra = collections.Counter(got) - collections.Counter(want) if mode == "is" else None
            say(not missing and not extra, area, what, sql,
                *[f"missing {list(missing)[:SHOWN]}"] * bool(missing), *[f"extra {list(extra or [])[:SHOWN]}"] * bool(extra),
                f"found {got[:SHOWN]}")

# 7. Nothing of the above made the heap less whole.
equal("dump_info", "the heap is whole after everything was read", "SELECT complete FROM dump_info", whole)
for severity, area, count, message in rows("SELECT severity, area, count, message FROM problems"):
    print(f"    problem: {severity} {area} {count} x {message[:300]}")
print(f"{time.process_time() - start:.1f} s of CPU")
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(1 if failed else 0)
