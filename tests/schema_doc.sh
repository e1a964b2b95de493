#!/bin/sh
# Writes what the declarations say into the documents: docs/schema.md, and the lists of tables and functions in
# docs/clrdb.7. Both come from the table clr_schema, which needs no dump.
#
#   schema_doc.sh MODULE SOURCE            prints docs/schema.md
#   schema_doc.sh MODULE SOURCE --check    fails if a document of the folder SOURCE says something else
#   schema_doc.sh MODULE SOURCE --update   writes them
#
# The text in front of the tables is docs/schema.head.md. In docs/clrdb.7 what stands between '.\" begin NAME' and
# '.\" end' is replaced.
set -eu
module=$1 source=$2 mode=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ask() { # what the SQL on standard input prints, one row a line
    sqlite3 -batch -bail -init /dev/null -cmd ".load \"$module\"" -cmd '.mode list' :memory:
}

# Things of one KIND: their sentence, an example, and their columns or arguments.
section() { # kind, head of the last column but one
    ask << SQL
CREATE TABLE lines AS SELECT row_number() OVER () AS n, * FROM clr_schema;
WITH things AS (SELECT table_name AS thing, n AS first FROM lines WHERE kind = '$1')
SELECT line FROM (
  SELECT first, n, 0 AS part, char(10) || '### ' || table_name || iif(kind = 'function', access, '')
         || char(10) || char(10) || doc
         || ifnull(char(10) || char(10) || '    ' || replace(example, char(10), char(10) || '    '), '')
         || CASE WHEN NOT EXISTS (SELECT 1 FROM lines AS l WHERE l.table_name = thing AND l.column_name <> '') THEN ''
                 ELSE char(10) || char(10) || '| $2 | type | look-up | joins | meaning |'
                      || char(10) || '|---|---|---|---|---|' END AS line
    FROM things JOIN lines ON n = first
  UNION ALL
  SELECT first, n, 1, '| \`' || column_name || '\` | ' || lower(type) || ' | '
         || CASE access WHEN '' THEN '' ELSE '\`' || access || '\`' END || ' | '
         || ifnull('\`' || refers_to || '\`', '') || ' | ' || replace(doc, '|', '\\|') || ' |'
    FROM things JOIN lines ON table_name = thing AND column_name <> '')
 ORDER BY first, n, part;
SQL
}

{
    cat "$source/docs/schema.head.md"
    printf '\n## Tables\n'
    section table column
    printf '\n## Views\n'
    section view column
    printf '\n## Functions\n'
    section function argument
} > "$work/schema.md"
grep -q '^### objects$' "$work/schema.md"

# The lists of the manual page. A backslash and a dot at the start of a line mean something to it.
ask > "$work/tables" << 'SQL'
SELECT '.TP' || char(10) || '.B ' || table_name || char(10) || replace(doc, '\', '\e') FROM clr_schema WHERE kind = 'table';
SQL
ask > "$work/views" << 'SQL'
SELECT '.TP' || char(10) || '.B ' || table_name || char(10) || replace(doc, '\', '\e') FROM clr_schema WHERE kind = 'view';
SQL
ask > "$work/functions" << 'SQL'
SELECT '.TP' || char(10) || '.B ' || table_name || access || char(10) || replace(doc, '\', '\e')
  FROM clr_schema WHERE kind = 'function' AND table_name NOT IN ('clr_attach', 'clr_detach');
SQL
awk -v work="$work" '
    /^\.\\" begin / { print; file = work "/" $3; while ((getline line < file) > 0) print line; inside = 1 }
    /^\.\\" end/ { inside = 0 }
    !inside { print }
' "$source/docs/clrdb.7" > "$work/clrdb.7"
grep -q '^\.B objects$' "$work/clrdb.7"

case $mode in
'') cat "$work/schema.md" ;;
--update)
    cp "$work/schema.md" "$source/docs/schema.md"
    cp "$work/clrdb.7" "$source/docs/clrdb.7"
    ;;
--check)
    for page in schema.md clrdb.7; do
        diff -u "$source/docs/$page" "$work/$page" || {
            echo "docs/$page is not what the declarations say: tests/schema_doc.sh $module $source --update" >&2
            exit 1
        }
    done
    ;;
*) echo "schema_doc.sh: unknown $mode" >&2 && exit 2 ;;
esac
