#!/bin/sh
# Asks a dump of leaks.cs who holds what, and compares with what the program did.
#
#   check.sh MODULE DUMP      prints what differs; the last line is 'N passed, N failed'
#
# How to make the dump: README.md here.
set -eu
module=$1 dump=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat > "$work/wanted" << 'TEXT'
thread static|Leaks.OnlyGenericThreadStatic|Leaks.PerThread<System.String>.Value|holder
thread static|Leaks.OnlyThreadStatic|Leaks.PerThread.Value|holder
weak table|static Leaks.Program.Key -> System.Object -> dependent Leaks.WeakTableValue
static|static Leaks.Statics.chain -> Leaks.Chain
static|static Leaks.Statics.chain -> Leaks.Chain -> Next Leaks.Chain
static|static Leaks.Statics.customer -> Leaks.Customer
static|static Leaks.Statics.pair -> Leaks.OrderPair -> Right Leaks.HeldByPair
static|static Leaks.Statics.index -> Leaks.Index
static|static Leaks.Statics.orders -> Leaks.Order
plugin dropped|0
plugin kept|static Leaks.Holder.plugin -> Kept.Thing -> loader_allocator System.Reflection.LoaderAllocator
three roots|0|0|Leaks.HeldThrice|static|Leaks.Second.Value
three roots|0|1|Leaks.HeldThrice|strong|strong
three roots|1|0|System.Object[]|static|Leaks.First.Value
three roots|1|1|Leaks.HeldThrice||
linked sources|50|Leaks.Service.Application
scope|40|Leaks.Subscription
cache|30
table that refers to itself|1
list and set|1
entries of a huge array that are dead|0
weak handles are no roots|0
complete|1
TEXT

sqlite3 -batch -bail -init /dev/null :memory: > "$work/out" << SQL
.load "$module"
.output /dev/null
SELECT clr_attach('$dump');
.output stdout
SELECT 'thread static', o.type_name, r.name, clr_string((SELECT target FROM refs WHERE source = t.object AND field = '_name'))
  FROM objects AS o JOIN roots AS r ON r.object = o.address JOIN threads AS t ON t.address = r.thread
 WHERE o.type_name IN ('Leaks.OnlyThreadStatic', 'Leaks.OnlyGenericThreadStatic') ORDER BY 2;
SELECT 'weak table', clr_path(address) FROM objects WHERE type_name = 'Leaks.WeakTableValue';
SELECT 'static', clr_path(address) AS path FROM objects
 WHERE type_name IN ('Leaks.Order', 'Leaks.Index', 'Leaks.Chain', 'Leaks.Customer', 'Leaks.HeldByPair') ORDER BY type_name, length(path);
-- The one that was dropped hangs on weak interior handles alone.
SELECT 'plugin dropped', o.is_reachable FROM objects AS o
 WHERE o.type_name = 'System.Reflection.LoaderAllocator'
   AND o.address NOT IN (SELECT r.target FROM objects AS t JOIN refs AS r ON r.source = t.address WHERE t.type_name = 'Kept.Thing');
SELECT 'plugin kept', clr_path(r.target) FROM objects AS o JOIN refs AS r ON r.source = o.address
 WHERE o.type_name = 'Kept.Thing' AND r.kind = 'loader_allocator';
SELECT 'three roots', iif(p.path < 2, 0, 1), iif(p.path < 2, p.path, p.hop), p.type_name, coalesce(p.root_kind, ''), coalesce(p.root_name, '')
  FROM objects AS o JOIN path_to_root(o.address, 10) AS p WHERE o.type_name = 'Leaks.HeldThrice';
-- Each linked source leaves a node in the list of the one that it is linked to.
SELECT 'linked sources', count(*), name FROM (
  SELECT s.target AS source, (SELECT name FROM roots WHERE object = s.target AND kind = 'static') AS name
    FROM objects AS n JOIN refs AS p ON p.source = n.address AND p.field = 'Registrations'
    JOIN refs AS s ON s.source = p.target AND s.field = 'Source'
   WHERE n.type_name = 'System.Threading.CancellationTokenSource+CallbackNode' AND n.is_reachable)
 WHERE name GLOB 'Leaks.*' GROUP BY source;
SELECT 'scope', count(*), o.type_name FROM objects AS s
  JOIN refs AS l ON l.source = s.address AND l.field = '_disposables' JOIN refs AS a ON a.source = l.target
  JOIN refs AS e ON e.source = a.target JOIN objects AS o ON o.address = e.target
 WHERE s.type_name = 'Leaks.Scope' GROUP BY o.type_name;
SELECT 'cache', count(*) FROM roots AS r JOIN refs AS e ON e.source = r.object AND e.field = '_entries'
  JOIN refs AS v ON v.source = e.target AND v.field = '[].value' WHERE r.name = 'Leaks.Service.Compiled';
SELECT 'table that refers to itself', count(*) FROM refs AS d JOIN refs AS b ON b.source = d.target AND b.field = 'Back'
  JOIN objects AS t ON t.address = b.target
 WHERE d.kind = 'dependent' AND t.type_name LIKE 'System.Runtime.CompilerServices.ConditionalWeakTable%';
-- What a list and a set share neither retains.
SELECT 'list and set', max(o.retained_count) < 1000 + max(s.reachable_count) / 100 FROM objects AS o, type_stats AS s
 WHERE o.type_name LIKE 'System.Collections.Generic.HashSet<Leaks.Item>' AND s.name = 'Leaks.Item';
SELECT 'entries of a huge array that are dead', count(*) FROM objects WHERE type_name = 'Leaks.OnlyFromHuge' AND is_reachable = 0;
SELECT 'weak handles are no roots', count(*) FROM handles AS h JOIN roots AS r ON r.address = h.address WHERE NOT h.is_strong;
SELECT 'complete', complete FROM dump_info;
SQL

passed=0 failed=0 n=0
while IFS= read -r line; do
    n=$((n + 1))
    if [ "$line" = "$(sed -n "${n}p" "$work/out")" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "wanted: $line"
        echo "got:    $(sed -n "${n}p" "$work/out")"
    fi
done < "$work/wanted"
if [ "$(wc -l < "$work/out")" -ne "$n" ]; then
    failed=$((failed + 1))
    echo "$(wc -l < "$work/out") lines instead of $n"
fi
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
