-- What only roots hold: together these retain everything that is reachable, and none retains another.
--   object -> objects.address: The object.
--   type_name: Name of its type.
--   size: Bytes of it alone.
--   retained_size: Bytes that would be free if it went away.
--   retained_count: Objects that would be free with it.
--   root_kind: Kind of the nearest root that leads to it, as roots.kind.
--   root_name: Name of that root, as roots.name.
-- Example: SELECT type_name, retained_size, root_name FROM dominators LIMIT 5
CREATE VIEW dominators AS
SELECT o.address AS object, o.type_name, o.size, o.retained_size, o.retained_count,
       (SELECT p.root_kind FROM path_to_root(o.address) AS p WHERE p.hop = 0) AS root_kind,
       (SELECT p.root_name FROM path_to_root(o.address) AS p WHERE p.hop = 0) AS root_name
FROM objects AS o
WHERE o.dominator = 0
ORDER BY o.retained_size DESC;

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
