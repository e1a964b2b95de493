-- Where each stretch of native code comes from in the source, for modules whose PDB is at hand: beside the
-- module, embedded in it, or in a folder of option 'modules'. Without a PDB file and line are NULL.
--   code -> native_codes.start: The code.
--   native_offset: Bytes from its start.
--   il_offset: Offset in the IL of the method.
--   file: Source file; NULL without a PDB.
--   line: Line in it, from 1.
-- Example: SELECT native_offset, il_offset, file, line FROM source_lines LIMIT 5
CREATE VIEW source_lines AS
SELECT code, native_offset, il_offset, file, line
FROM debug_bounds
WHERE kind = 'il';
