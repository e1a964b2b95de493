#!/bin/sh
# Compares a dump of shapes.cs with what the program said of itself before it was dumped (shapes.cs
# says how that is written).
#
#   check.sh MODULE DUMP      prints what differs; the last line is 'N passed, N failed'
#
# How to make the dump: README.md here.
set -eu
module=$1 dump=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sqlite3 -batch -bail -init /dev/null :memory: > "$work/out" << SQL
.load "$module"
.output /dev/null
SELECT clr_attach('$dump');
.output stdout
CREATE TEMP TABLE named AS
  SELECT f.field AS name, f.target AS object, f.value AS text
    FROM objects AS o JOIN field_values AS f ON f.object = o.address
   WHERE o.type_name = 'Shapes.Roots' AND f.target <> 0;
CREATE TEMP TABLE said AS
  SELECT key AS n, value->>0 AS what, value->>1 AS name, value->>2 AS a, value->>3 AS b, value->>4 AS c,
         value->>5 AS d, value->>6 AS e, value->>7 AS f, named.object AS object
    FROM json_each((SELECT text FROM named WHERE name = 'Expected'))
    LEFT JOIN named ON named.name = value->>1;

-- A value, as type and text: integers and reals with what they are, text in hex, objects by name.
CREATE TEMP VIEW same(n, same, got) AS
SELECT n, CASE b WHEN 'n' THEN v IS NULL
                 WHEN 'i' THEN typeof(v) = 'integer' AND v = CAST(c AS INTEGER)
                 WHEN 'r' THEN typeof(v) = 'real' AND v = CAST(c AS REAL) AND printf('%+f', v) LIKE substr(printf('%+f', CAST(c AS REAL)), 1, 1) || '%'
                 WHEN 't' THEN typeof(v) = 'text' AND hex(v) = c
                 WHEN 'o' THEN v = (SELECT object FROM named WHERE name = c) END, quote(v)
  FROM (SELECT *, clr_field(object, a) AS v FROM said WHERE what = 'field')
UNION ALL
SELECT n, count(*) = a, count(*) FROM said JOIN elements AS x USING (object) WHERE what = 'count' GROUP BY n
UNION ALL
SELECT n, a = 0, 0 FROM said WHERE what = 'count' AND object NOT IN (SELECT x.object FROM said AS y JOIN elements AS x USING (object) WHERE y.what = 'count')
UNION ALL
SELECT n, (b IS NULL OR x.indices = b)
          AND CASE c WHEN 'n' THEN x.key IS NULL WHEN 't' THEN hex(x.key) = d WHEN 'o' THEN x.key_target = (SELECT object FROM named WHERE name = d) ELSE x.key = CAST(d AS INTEGER) END
          AND CASE e WHEN 'n' THEN x.value IS NULL WHEN 't' THEN hex(x.value) = f AND typeof(x.value) = 'text' WHEN 'o' THEN x.target = (SELECT object FROM named WHERE name = f)
                     WHEN 'r' THEN x.value = CAST(f AS REAL) ELSE x.value = CAST(f AS INTEGER) END,
       coalesce(x.indices, '') || ' ' || quote(x.key) || ' ' || quote(x.value)
  FROM said JOIN elements AS x ON x.object = said.object AND x.position = a WHERE what = 'element'
UNION ALL
SELECT n, EXISTS (SELECT 1 FROM refs AS r WHERE r.source = object AND r.field = a AND r.element IS b
                   AND r.target = (SELECT object FROM named WHERE name = c)), NULL
  FROM said WHERE what = 'ref'
UNION ALL
SELECT n, (SELECT count(*) FROM refs AS r WHERE r.source = object) = a, (SELECT count(*) FROM refs AS r WHERE r.source = object)
  FROM said WHERE what = 'refs'
UNION ALL
SELECT n, EXISTS (SELECT 1 FROM elements AS x WHERE x.object = said.object AND x.value = a), NULL FROM said WHERE what = 'has';

SELECT 'differs: ' || what || ' ' || name || ' ' || a || ' ' || b || ' ' || c || ' ' || d || ' ' || e || ' ' || f || ' -> ' || coalesce(got, 'nothing')
  FROM (SELECT n, what, name, quote(a) AS a, quote(b) AS b, quote(c) AS c, quote(d) AS d, quote(e) AS e, quote(f) AS f FROM said)
  LEFT JOIN same USING (n) WHERE same IS NOT 1;
SELECT sum(same IS 1) || ' passed, ' || sum(same IS NOT 1) || ' failed' FROM said LEFT JOIN same USING (n);
SQL
cat "$work/out"
tail -n 1 "$work/out" | grep -q '^[1-9][0-9]* passed, 0 failed$'
