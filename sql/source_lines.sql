-- Where each stretch of native code comes from in the source, for modules whose PDB is at hand: beside the
-- module, embedded in it, or in a folder of option 'modules'. Without a PDB file and line are NULL.
CREATE VIEW source_lines AS
SELECT code, native_offset, il_offset, file, line
FROM debug_bounds
WHERE kind = 'il';
