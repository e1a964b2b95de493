-- What only roots hold: together these retain everything that is reachable, and none retains another.
CREATE VIEW dominators AS
SELECT o.address AS object, o.type_name, o.size, o.retained_size, o.retained_count,
       (SELECT p.root_kind FROM path_to_root(o.address) AS p WHERE p.hop = 0) AS root_kind,
       (SELECT p.root_name FROM path_to_root(o.address) AS p WHERE p.hop = 0) AS root_name
FROM objects AS o
WHERE o.dominator = 0
ORDER BY o.retained_size DESC;

-- Where much accumulates: nodes of the tree of paths that hold many objects of one kind themselves.
CREATE VIEW leak_suspects AS
SELECT id, type_name, object_count, total_size, path
FROM path_tree
WHERE object_count >= 100
  AND size * 100 >= (SELECT sum(size) FROM path_tree)
ORDER BY total_size DESC;
