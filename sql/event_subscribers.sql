-- Who listens to whom. An event is what the metadata of a type calls one and keeps in a field of the same
-- name (fields.is_event). Dead publishers are included: join objects.is_reachable to leave them out.
-- A static event has no publisher object: publisher is NULL and publisher_type the declaring type.
--   publisher -> objects.address: The object with the event; NULL if the event is static.
--   publisher_type: Name of its type.
--   event: Name of the event.
--   delegate -> delegates.object: What is called.
--   target -> objects.address: The subscriber; NULL if the method is static.
--   target_type: Name of its type.
--   method -> methods.address: The method that is called.
--   method_name: Its name, as delegates.method_name.
-- Example: SELECT publisher_type, event, target_type, method_name FROM event_subscribers
CREATE VIEW event_subscribers AS
SELECT p.address AS publisher, p.type_name AS publisher_type, f.name AS event, r.target AS delegate,
       d.target, t.type_name AS target_type, d.method, d.method_name
FROM fields AS f
     JOIN objects AS p ON p.type = f.type
     JOIN refs AS r ON r.source = p.address AND r.offset = f.offset AND r.kind = 'member'
     JOIN delegates AS d ON d.object = r.target
     LEFT JOIN objects AS t ON t.address = d.target
WHERE f.is_event AND NOT f.is_static
UNION ALL
SELECT NULL, y.name, f.name, r.object, d.target, t.type_name, d.method, d.method_name
FROM fields AS f
     JOIN types AS y ON y.address = f.type
     JOIN roots AS r ON r.kind = 'static' AND r.name = y.name || '.' || f.name
     JOIN delegates AS d ON d.object = r.object
     LEFT JOIN objects AS t ON t.address = d.target
WHERE f.is_event AND f.is_static;
