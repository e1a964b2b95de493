#!/bin/sh
# Writes docs/schema.md from the declarations: columns from the table clr_schema, the sentence on each
# table from the declaration's source, views from the comments of sql/*.sql.
#
#   schema_doc.sh MODULE SOURCE            prints the page
#   schema_doc.sh MODULE SOURCE --check    fails if docs/schema.md of the folder SOURCE says something else
#   schema_doc.sh MODULE SOURCE --update   writes it
#
# The text in front of the tables is docs/schema.head.md.
set -eu
module=$1 source=$2 mode=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# name|sentence for each 'struct clr_table' of ext/: .name and .doc, whose text may go over lines.
awk '
    function quoted(line, text) {
        text = ""
        while (match(line, /"([^"\\]|\\.)*"/)) {
            text = text substr(line, RSTART + 1, RLENGTH - 2)
            line = substr(line, RSTART + RLENGTH)
        }
        gsub(/\\"/, "\"", text)
        return text
    }
    /^ *\.name = "/ { name = quoted($0) }
    /^ *\.doc =/ { doc = ""; inside = 1 }
    inside { doc = doc quoted($0); if (/,$/) { print name "|" doc; inside = 0 } }
' "$source"/ext/tables/*.c > "$work/sentences"

sqlite3 -batch -bail -init /dev/null -cmd ".load \"$module\"" :memory: > "$work/tables" << SQL
.mode list
CREATE TABLE sentences(name, doc);
.import '$work/sentences' sentences
CREATE TABLE lines AS SELECT row_number() OVER () AS n, * FROM clr_schema;
WITH tables AS (SELECT table_name, min(n) AS first FROM lines GROUP BY table_name)
SELECT line FROM (
  SELECT first, 0 AS n, char(10) || '### ' || table_name || char(10) || char(10)
         || coalesce((SELECT doc || char(10) || char(10) FROM sentences WHERE name = table_name), '')
         || '| column | type | look-up | joins | meaning |' || char(10) || '|---|---|---|---|---|' AS line
    FROM tables
  UNION ALL
  SELECT first, n, '| \`' || column_name || '\` | ' || lower(type) || ' | '
         || CASE access WHEN '' THEN '' ELSE '\`' || access || '\`' END || ' | '
         || ifnull('\`' || refers_to || '\`', '') || ' | ' || replace(doc, '|', '\\|') || ' |'
    FROM lines JOIN tables USING (table_name))
 ORDER BY first, n;
SQL
[ -s "$work/tables" ]

# A view: a comment of '--' lines, then CREATE VIEW name, then what it selects.
awk '
    FNR == 1 { text = "" }
    /^-- ?/ { line = $0; sub(/^-- ?/, "", line); text = text (text == "" ? "" : " ") line; next }
    /^CREATE VIEW/ { printf "\n### %s\n\n%s\n", $3, text; text = "" }
' "$source"/sql/*.sql > "$work/views"

{
    cat "$source/docs/schema.head.md"
    printf '\n## Tables\n'
    cat "$work/tables"
    printf '\n## Views\n'
    cat "$work/views"
} > "$work/page"

case $mode in
'') cat "$work/page" ;;
--update) cp "$work/page" "$source/docs/schema.md" ;;
--check)
    diff -u "$source/docs/schema.md" "$work/page" || {
        echo "docs/schema.md is not what the declarations say: tests/schema_doc.sh $module $source --update" >&2
        exit 1
    }
    ;;
*) echo "schema_doc.sh: unknown $mode" >&2 && exit 2 ;;
esac
