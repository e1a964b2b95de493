-- The first questions to a process that has grown:   clrdb CORE < leak.sql
.mode column
.headers on

.print Is the dump whole?
SELECT runtime_version, gc_mode, object_count, object_bytes, unwalked_bytes, complete FROM dump_info;

.print
.print Types that take most of the heap
SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT 15;

.print
.print Generations: what is in 2 and in loh was meant to stay
SELECT generation, name, object_count, object_bytes, free_bytes FROM size_by_generation;

.print
.print The largest objects
SELECT clr_hex(address) AS address, type_name, size FROM objects
 WHERE size >= 85000 AND NOT is_free ORDER BY size DESC LIMIT 10;

.print
.print Strings that are there more than once
SELECT count(*) AS copies, sum(size) - min(size) AS wasted, substr(min(value), 1, 40) AS value
  FROM strings GROUP BY content_hash, length HAVING count(*) > 1 ORDER BY wasted DESC LIMIT 10;
