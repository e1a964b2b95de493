-- Strings that are there several times: bytes of one, and what all but one take. Dead ones count too:
-- join objects.is_reachable to leave them out.
--   value: The text.
--   count: Strings that have it.
--   size: Bytes of one.
--   wasted_bytes: Bytes of all but one.
--   sample -> objects.address: One of them.
-- Example: SELECT value, count, wasted_bytes FROM duplicate_strings LIMIT 5
CREATE VIEW duplicate_strings AS
SELECT s.value, d.count, d.size, d.wasted_bytes, d.sample
FROM (SELECT count(*) AS count,
             min(size) AS size,
             sum(size) - min(size) AS wasted_bytes,
             min(object) AS sample
      FROM strings
      WHERE content_hash IS NOT NULL
      GROUP BY content_hash
      HAVING count(*) > 1) AS d
     JOIN strings AS s ON s.object = d.sample
ORDER BY d.wasted_bytes DESC;

-- Arrays of one type with the same elements, byte for byte; empty ones too. References are the same if
-- they lead to the same objects.
--   type_name: Name of their type.
--   length: Elements of one.
--   count: Arrays that are the same.
--   size: Bytes of one.
--   wasted_bytes: Bytes of all but one.
--   sample -> objects.address: One of them.
-- Example: SELECT type_name, length, count, wasted_bytes FROM duplicate_arrays LIMIT 5
CREATE VIEW duplicate_arrays AS
SELECT o.type_name, o.length,
       count(*) AS count,
       min(o.size) AS size,
       sum(o.size) - min(o.size) AS wasted_bytes,
       min(o.address) AS sample
FROM types AS t CROSS JOIN objects AS o ON o.type = t.address
WHERE t.kind IN ('array', 'szarray') AND o.content_hash IS NOT NULL
GROUP BY t.address, o.length, o.content_hash
HAVING count(*) > 1
ORDER BY wasted_bytes DESC;
