-- Objects that must not move: what holds each, by a pinned handle or from native code. An object that
-- two hold is two rows.
CREATE VIEW pinned AS
SELECT r.object, o.type_name, o.size, o.generation, r.kind, r.name, r.thread
FROM roots AS r CROSS JOIN objects AS o ON o.address = r.object
WHERE r.is_pinned;
