-- Objects that must not move: what holds each, by a pinned handle or from native code. An object that
-- two hold is two rows.
--   object -> objects.address: The object.
--   type_name: Name of its type.
--   size: Bytes of it.
--   generation: As objects.generation.
--   kind: What holds it, as roots.kind.
--   name: As roots.name.
--   thread -> threads.address: The thread whose stack holds it; NULL for handles.
-- Example: SELECT type_name, kind, name FROM pinned
CREATE VIEW pinned AS
SELECT r.object, o.type_name, o.size, o.generation, r.kind, r.name, r.thread
FROM roots AS r CROSS JOIN objects AS o ON o.address = r.object
WHERE r.is_pinned;
