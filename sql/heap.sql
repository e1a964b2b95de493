-- Sums by generation, over all heaps. A segment of one generation is summed by the walk; only where a
-- segment holds several (the ephemeral one of segments builds) are its objects counted one by one.
--   generation: 0 to 2, 3 large objects, 4 pinned, 5 frozen.
--   name: gen0, gen1, gen2, loh, poh or frozen.
--   object_count: Objects, without free blocks.
--   object_bytes: Bytes of these objects.
--   free_bytes: Bytes of free blocks.
-- Example: SELECT name, object_count, object_bytes FROM size_by_generation
CREATE VIEW size_by_generation AS
SELECT generation,
       CASE generation WHEN 0 THEN 'gen0' WHEN 1 THEN 'gen1' WHEN 2 THEN 'gen2'
                       WHEN 3 THEN 'loh' WHEN 4 THEN 'poh' WHEN 5 THEN 'frozen' END AS name,
       sum(objects) AS object_count,
       sum(used) AS object_bytes,
       sum(free) AS free_bytes
FROM (SELECT generation, object_count AS objects, object_bytes AS used, free_bytes AS free
      FROM segments
      WHERE generation IS NOT NULL
      UNION ALL
      SELECT o.generation, NOT o.is_free, iif(o.is_free, 0, o.size), iif(o.is_free, o.size, 0)
      FROM segments AS s JOIN objects AS o ON o.segment = s.address
      WHERE s.generation IS NULL)
GROUP BY generation;

-- Free blocks, and what lies behind each: the object that kept it from being merged or compacted away.
--   address -> objects.address: The free block.
--   size: Bytes of it.
--   generation: As objects.generation.
--   segment -> segments.address: Where it lies.
--   next_object -> objects.address: The object behind it; NULL at the end of a segment.
--   next_type: Name of the type of that object.
--   next_is_pinned: 1: a handle pins that object.
-- Example: SELECT size, generation, next_type FROM fragmentation ORDER BY size DESC LIMIT 5
CREATE VIEW fragmentation AS
SELECT f.address, f.size, f.generation, f.segment,
       n.address AS next_object,
       n.type_name AS next_type,
       (SELECT count(*) > 0 FROM handles AS h
         WHERE h.object = n.address AND h.kind IN ('pinned', 'async_pinned')) AS next_is_pinned
FROM objects AS f LEFT JOIN objects AS n ON n.address = f.address + f.size AND n.segment = f.segment
WHERE f.type_name = 'Free' AND f.is_free;
