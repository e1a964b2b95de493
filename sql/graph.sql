-- What only roots hold: together these retain everything that is reachable, and none retains another. A root is
-- named only where it alone leads to the object.
--   object -> objects.address: The object.
--   type_name: Name of its type.
--   size: Bytes of it alone.
--   retained_size: Bytes that would be free if it went away.
--   retained_count: Objects that would be free with it.
--   root_kind: Kind of the one root that keeps it, as roots.kind; NULL if several do.
--   root_name: Name of that root, as roots.name; 'several roots' if several do.
--   root_count: Roots that lead to it, as objects.root_count.
-- Example: SELECT type_name, retained_size, root_name FROM dominators LIMIT 5
CREATE VIEW dominators AS
WITH top AS MATERIALIZED (
  SELECT address, type_name, size, retained_size, retained_count
  FROM objects
  WHERE dominator = 0
  ORDER BY retained_size DESC)
SELECT t.address AS object, t.type_name, t.size, t.retained_size, t.retained_count,
       (SELECT r.kind FROM objects AS o JOIN roots AS r ON r.id = o.root
         WHERE o.address = t.address AND o.root_count = 1) AS root_kind,
       (SELECT iif(o.root_count = 1, (SELECT r.name FROM roots AS r WHERE r.id = o.root), 'several roots')
          FROM objects AS o WHERE o.address = t.address) AS root_name,
       (SELECT o.root_count FROM objects AS o WHERE o.address = t.address) AS root_count
FROM top AS t;

-- Where much accumulates: nodes of the tree of paths that hold many objects of one kind themselves. What the
-- runtime keeps in frozen segments (literals) is nobody's leak and no row.
--   id -> path_tree.id: The node of the tree.
--   type_name: Name of the type that accumulates.
--   object_count: Objects of the node.
--   total_size: Bytes with all nodes below.
--   path: The path from a root to them.
-- Example: SELECT object_count, total_size, path FROM leak_suspects
CREATE VIEW leak_suspects AS
SELECT id, type_name, object_count, total_size, path
FROM path_tree
WHERE object_count >= 100 AND root_kind <> 'frozen'
  AND size * 100 >= (SELECT sum(size) FROM path_tree)
ORDER BY total_size DESC;
