-- The property that every table must have: whatever is asked of it, it answers what an ordinary
-- table with the same rows answers. This script writes the questions, from the declarations.
--
-- In:  temp.subject         name, source (the virtual table), copy (the ordinary one), fixed (a
--                           condition that gives required values, else '1'), level (1: few
--                           operands, 2: all)
--      temp.subject_column  name, column_name, type, access (as clr_schema says), key (1: part of
--                           the key), rowid (1: the key is this INTEGER column alone)
-- Out: temp.pair            id, name, question (of the source), answer (the same of the copy)
-- Both are run, and must give the same rows in the same order. Questions whose order is not
-- determined give one row.

DROP TABLE IF EXISTS temp.pair;
CREATE TABLE temp.pair(id INTEGER PRIMARY KEY, name, question, answer);

-- Operands, as SQL. {mid} is a value in the middle of the column. (-9223372036854775808.0 is left out:
-- SQLite itself finds a rowid of that value by a scan, and by its index not.)
DROP TABLE IF EXISTS temp.operand;
CREATE TABLE temp.operand(sql, level);
INSERT INTO temp.operand VALUES
  ('NULL', 1), ('0', 1), ('1', 2), ('-1', 1), ('1e300', 1), ('-1e300', 1), ('9e999', 1), ('-9e999', 1),
  ('0.5', 2), ('''5''', 2), (''' 5 ''', 2), ('''5.0''', 2), ('''5x''', 1), ('''0x5''', 2), ('''''', 1),
  ('''zzz''', 1), ('x''''', 1), ('x''35''', 2), ('9223372036854775807', 1), ('-9223372036854775808', 1),
  ('9223372036854775808.0', 1), ('-9.3e18', 1), ('''9223372036854775808''', 2),
  ('(SELECT min({C}) FROM {K})', 2), ('(SELECT max({C}) FROM {K})', 1), ('+(SELECT max({C}) FROM {K})', 2),
  ('{mid}', 1), ('+{mid}', 1), ('{mid} + 1', 1), ('{mid} - 1', 2), ('{mid} + 0.5', 1), ('{mid} - 0.5', 2),
  ('CAST({mid} AS TEXT)', 1), ('CAST({mid} AS REAL)', 1), ('CAST({mid} AS BLOB)', 1),
  ('{mid} || ''.0''', 1), ('''0'' || {mid}', 2), ('{mid} || '' ''', 2), ('CAST({mid} AS INTEGER)', 2),
  ('CAST({mid} AS NUMERIC)', 1), ('upper({mid})', 2);

-- Conditions on a column {C} with an operand {V}.
DROP TABLE IF EXISTS temp.condition;
CREATE TABLE temp.condition(sql, access, level);
INSERT INTO temp.condition VALUES
  ('{C} = {V}', '=', 1), ('{V} = {C}', '=', 2), ('{C} IS {V}', '=', 2), ('{C} <> {V}', '=', 2),
  ('{C} IN ({V}, {mid}, -3)', '=', 1), ('{C} = {V} OR {C} = {mid}', '=', 1), ('{C} = {mid} AND {C} = {V}', '=', 2),
  ('{C} = {V} COLLATE NOCASE', '=', 2), ('{C} = {V} COLLATE RTRIM', '=', 2),
  ('{C} > {V}', '..', 1), ('{C} >= {V}', '..', 1), ('{C} < {V}', '..', 1), ('{C} <= {V}', '..', 1),
  ('{C} BETWEEN {V} AND {mid}', '..', 1), ('{C} BETWEEN {mid} AND {V}', '..', 1),
  ('{C} > {V} AND {C} < {mid}', '..', 2), ('{C} > {mid} AND {C} >= {V}', '..', 2),
  ('{C} < {V} OR {C} > {mid}', '..', 1), ('NOT {C} > {V}', '..', 2);

-- What is asked under a condition: one row that names the rows found; then things in order.
DROP TABLE IF EXISTS temp.frame;
CREATE TABLE temp.frame(sql, level);
INSERT INTO temp.frame VALUES
  ('SELECT {C} FROM {S} WHERE {F} AND ({P}) ORDER BY {C} LIMIT 7', 1),
  ('SELECT {C} FROM {S} WHERE {F} AND ({P}) ORDER BY {C} DESC LIMIT 7 OFFSET 2', 1),
  ('SELECT DISTINCT {C} FROM {S} WHERE {F} AND ({P}) ORDER BY {C} DESC LIMIT 7', 1),
  ('SELECT count(*) FROM (SELECT DISTINCT {C} FROM {S} WHERE {F} AND ({P}))', 1),
  ('SELECT {C}, count(*) FROM {S} WHERE {F} AND ({P}) GROUP BY {C} ORDER BY {C} LIMIT 7', 1),
  ('SELECT {C}, row_number() OVER (ORDER BY {C}) FROM {S} WHERE {F} AND ({P}) ORDER BY 2 LIMIT 7', 2),
  ('SELECT max({C}), min({C}) FROM {S} WHERE {F} AND ({P})', 1);

-- The rows found, as one row: how many, and a sum over each part of the key.
DROP TABLE IF EXISTS temp.fingerprint;
CREATE TABLE temp.fingerprint AS
SELECT name, 'count(*)' || ifnull(group_concat(
    printf(', min(%s), max(%s), sum(CASE typeof(%s) WHEN ''integer'' THEN %s %% 999983 ELSE length(%s) + ifnull(unicode(%s), 0) END)',
           column_name, column_name, column_name, column_name, column_name, column_name), ''), '') AS sql
  FROM temp.subject LEFT JOIN (SELECT * FROM temp.subject_column WHERE key) USING (name) GROUP BY name;

-- Columns that can be looked up; the rowid of a table is one of them.
DROP TABLE IF EXISTS temp.looked_up;
CREATE TABLE temp.looked_up AS
SELECT name, column_name AS c, access, type FROM temp.subject_column
 WHERE access IN ('=', '..', '=,..') OR (key AND access = '')
UNION ALL
SELECT name, 'rowid', access, type FROM temp.subject_column WHERE rowid;

DROP TABLE IF EXISTS temp.asked;
CREATE TABLE temp.asked(name, c, sql);

-- 1. Every condition that the column serves, with every operand.
INSERT INTO temp.asked
SELECT s.name, l.c, replace('SELECT {N} FROM {S} WHERE {F} AND ({P})', '{P}', replace(q.sql, '{V}', o.sql))
  FROM temp.subject AS s JOIN temp.looked_up AS l USING (name)
  JOIN temp.condition AS q ON q.level <= s.level AND instr(l.access, q.access)
  JOIN temp.operand AS o ON o.level <= s.level
 -- An address in quotes beside a number is an error.
 WHERE NOT (l.type = 'INTEGER' AND o.sql = '''0x5''');

-- 2. Two columns at once: {C} and {D}, with a value {V} of the second.
INSERT INTO temp.asked
SELECT s.name, a.c, replace(replace(q.sql, '{V}', '(SELECT {D} FROM {K} WHERE {D} IS NOT NULL ORDER BY {D} LIMIT 1 OFFSET (SELECT count({D}) / 3 FROM {K}))'), '{D}', b.c)
  FROM temp.subject AS s JOIN temp.looked_up AS a USING (name) JOIN temp.looked_up AS b USING (name)
  JOIN (SELECT 'SELECT {N} FROM {S} WHERE {F} AND {C} = {mid} AND {D} = {V}' AS sql
        UNION ALL SELECT 'SELECT {N} FROM {S} WHERE {F} AND {C} = {mid} AND {D} > {V}'
        UNION ALL SELECT 'SELECT {N} FROM {S} WHERE {F} AND ({C} = {mid} OR {D} = {V})'
        UNION ALL SELECT 'SELECT {N} FROM {S} WHERE ({F} AND {C} = {mid}) OR ({F} AND {D} <= {V})'
        UNION ALL SELECT 'SELECT {D} FROM {S} WHERE {F} AND {C} = {mid} ORDER BY {D} DESC LIMIT 5'
        UNION ALL SELECT 'SELECT {C}, {D} FROM {S} WHERE {F} ORDER BY {C}, {D} LIMIT 5') AS q
 WHERE a.c <> b.c;

-- 3. Orders, under some conditions.
INSERT INTO temp.asked
SELECT s.name, l.c, replace(f.sql, '{P}', p.sql)
  FROM temp.subject AS s JOIN temp.looked_up AS l USING (name) JOIN temp.frame AS f ON f.level <= s.level
  JOIN (SELECT '1' AS sql UNION ALL SELECT '{C} >= {mid}' UNION ALL SELECT '{C} < {mid}'
        UNION ALL SELECT '{C} = {mid}' UNION ALL SELECT '{C} IN (0, {mid}, {mid} + 8)'
        UNION ALL SELECT '{C} = {mid} OR {C} > {mid}' UNION ALL SELECT '{C} IS NULL'
        UNION ALL SELECT '{C} IS NOT NULL') AS p;

-- 4. Joins: with the copy outside and inside, with itself, outer joins.
INSERT INTO temp.asked
SELECT s.name, l.c, j.sql
  FROM temp.subject AS s JOIN temp.looked_up AS l USING (name)
  JOIN (SELECT 'SELECT count(*), sum(a.{C} IS NOT NULL) FROM (SELECT * FROM {K} LIMIT 25) AS a JOIN {S} AS b ON b.{C} = a.{C}' AS sql
        UNION ALL SELECT 'SELECT count(*) FROM {S} AS b JOIN (SELECT * FROM {K} LIMIT 25) AS a ON +b.{C} = a.{C}'
        UNION ALL SELECT 'SELECT count(*), count(b.{C}) FROM (SELECT * FROM {K} LIMIT 25) AS a LEFT JOIN {S} AS b ON b.{C} = a.{C} || '''''
        UNION ALL SELECT 'SELECT count(*), count(b.{C}) FROM (SELECT * FROM {K} LIMIT 25) AS a LEFT JOIN {S} AS b ON b.{C} = a.{C} + 1'
        UNION ALL SELECT 'SELECT count(*) FROM (SELECT * FROM {K} LIMIT 25) AS a CROSS JOIN {S} AS b ON b.{C} BETWEEN a.{C} AND a.{C} + 100'
        UNION ALL SELECT 'SELECT count(*) FROM (SELECT {C} FROM {S} ORDER BY {C} DESC LIMIT 8) AS a JOIN {S} AS b ON a.{C} = b.{C}'
        UNION ALL SELECT 'SELECT count(*) FROM {K} AS a WHERE EXISTS (SELECT 1 FROM {S} AS b WHERE b.{C} = a.{C})'
        UNION ALL SELECT 'SELECT count(*) FROM {K} AS a WHERE a.{C} NOT IN (SELECT {C} FROM {S} WHERE {C} IS NOT NULL)') AS j
 WHERE s.fixed = '1' AND l.c <> 'rowid' AND l.access <> '';

INSERT INTO temp.pair(name, question, answer)
SELECT name, replace(sql, '{S}', source), replace(sql, '{S}', copy)
  FROM (SELECT name, source, copy, c,
               replace(replace(replace(replace(replace(a.sql, '{mid}',
                 '(SELECT {C} FROM {K} WHERE {C} IS NOT NULL ORDER BY {C} LIMIT 1 OFFSET (SELECT count({C}) / 2 FROM {K}))'),
                 '{N}', f.sql), '{F}', s.fixed), '{C}', c), '{K}', copy) AS sql
          FROM temp.asked AS a JOIN temp.subject AS s USING (name) JOIN temp.fingerprint AS f USING (name));
