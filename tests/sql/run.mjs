// Golden SQL and the properties of all tables, in better-sqlite3, whose SQLite is newer than the
// system's.
//
//   run.mjs --module clrdb.so [NAME=VALUE]... FILE.slt...
//
// The format of the files is described in runner.c; this program has the tag 'node'. Then the
// questions of properties.sql are asked of every table of the dump ${DUMP}. better-sqlite3 is found
// where $BETTER_SQLITE3 says, else by its name; without it the status is 77. The last line printed is
// 'N passed, N failed'.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
let Database;
try {
    Database = require(process.env.BETTER_SQLITE3 || "better-sqlite3");
} catch (error) {
    console.error(`better-sqlite3 is not installed (tests/node_env.sh installs it): ${error.message}`);
    process.exit(77);
}

const values = new Map();
const files = [];
let module;
for (let i = 2; i < process.argv.length; i++) {
    const argument = process.argv[i];
    const value = /^([A-Za-z_][A-Za-z_0-9]*)=(.*)$/s.exec(argument);
    if (argument === "--module") module = process.argv[++i];
    else if (value) values.set(value[1], value[2]);
    else files.push(argument);
}
if (!module || files.length === 0) {
    console.error("usage: run.mjs --module clrdb.so [NAME=VALUE]... FILE...");
    process.exit(2);
}

let passed = 0;
let failed = 0;
function fail(place, what, detail = "") {
    console.log(`${place}: ${what}${detail && `: ${detail}`}`);
    failed++;
}

function connect() {
    const db = new Database(":memory:");
    db.defaultSafeIntegers(true);
    db.loadExtension(module);
    return db;
}

// --- Rows as text ---------------------------------------------------------------------------------

const escapes = { "\\": "\\\\", "|": "\\|", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0" };
function textValue(text) {
    if (text === "") return "(empty)";
    const start = text === "NULL" || text.startsWith("(empty)") || text.startsWith("x'") ? "\\" : "";
    return start + text.replace(/[\\|\x00-\x1f\x7f]| $/g, c =>
        escapes[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

// Reals with 15 digits, as SQLite's '%!.15g': what newer versions print is longer.
function realValue(real) {
    if (!Number.isFinite(real)) return real > 0 ? "Inf" : "-Inf";
    const [, sign, first, more, exponent] = /^(-?)(\d)\.(\d+)e([+-]\d+)$/.exec(real.toExponential(14));
    const power = Number(exponent);
    const digits = (first + more).replace(/0+$/, "");
    if (power < -4 || power > 14) {
        const scale = `${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
        return `${sign}${first}.${digits.slice(1) || "0"}e${scale}`;
    }
    if (power < 0) return `${sign}0.${"0".repeat(-power - 1)}${digits || "0"}`;
    const whole = digits.padEnd(power + 1, "0");
    return `${sign}${whole.slice(0, power + 1)}.${whole.slice(power + 1) || "0"}`;
}

function column(value) {
    if (value === null) return "NULL";
    if (typeof value === "bigint") return value.toString();
    if (typeof value === "number") return realValue(value);
    if (Buffer.isBuffer(value)) return `x'${value.toString("hex")}'`;
    return textValue(value);
}

// --- Running SQL ----------------------------------------------------------------------------------

// better-sqlite3 prepares one statement at a time and does not say where it ends.
function* statements(sql) {
    let start = 0;
    for (const token of sql.matchAll(/'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|;/g)) {
        if (token[0] !== ";") continue;
        const text = sql.slice(start, token.index);
        if (text.replace(/--[^\n]*/g, "").trim()) yield text;
        start = token.index + 1;
    }
    if (sql.slice(start).replace(/--[^\n]*/g, "").trim()) yield sql.slice(start);
}

function run(db, sql) {
    for (const text of statements(sql)) {
        const statement = db.prepare(text);
        if (statement.reader) statement.all();
        else statement.run();
    }
}

function rows(db, sql) {
    return db.prepare(sql).raw().all().map(row => row.map(column).join("|"));
}

function plan(db, sql) {
    return db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
        .map(row => row.detail.replace(/(VIRTUAL TABLE INDEX )\d+:/, "$1"));
}

// --- Golden files -----------------------------------------------------------------------------------

function substitute(text) {
    return text.replace(/\$\{(\w+)\}/g, (_, name) => {
        const value = values.get(name) ?? process.env[name];
        if (value === undefined) throw new Error(`unknown \${${name}}`);
        return value;
    });
}

// Compares as bytes, like the other runner.
const byBytes = (a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b));

function runRecord(state, place, head, sql, expected) {
    const [kind, ...rest] = head.split(" ");
    if (kind === "statement" && rest[0] === "ok") {
        run(state.db, substitute(sql));
    } else if (kind === "statement" && rest[0] === "error") {
        const wanted = substitute(rest.slice(1).join(" "));
        let message;
        try {
            run(state.db, substitute(sql));
        } catch (error) {
            message = error.message;
        }
        if (!wanted || message === undefined || !message.includes(wanted))
            return fail(place, message === undefined ? "no error" : "another error", message);
    } else if ((kind === "query" && (!rest.length || head === "query rowsort")) || head === "plan") {
        if (!expected) return fail(place, "no line '----' after the SQL");
        const got = kind === "plan" ? plan(state.db, substitute(sql)) : rows(state.db, substitute(sql));
        if (head === "query rowsort") got.sort(byBytes);
        if (got.length !== expected.length || got.some((row, i) => row !== expected[i])) {
            const at = got.findIndex((row, i) => row !== expected[i]);
            const i = at < 0 ? got.length : at;
            return fail(place, "other rows", `row ${i + 1} expected ${expected[i]}, got ${got[i]}`);
        }
    } else if (head === "reconnect") {
        state.db.close();
        state.db = connect();
    } else {
        return fail(place, "unknown record", head);
    }
    passed++;
}

function runFile(file) {
    const lines = readFileSync(file, "utf8").split("\n");
    const state = { db: connect() };
    let records = 0;
    let skip = false;
    for (let i = 0; i < lines.length; i++) {
        const head = lines[i];
        if (!head || head.startsWith("#")) continue;
        const condition = /^(skipif|onlyif) (.*)$/.exec(head);
        if (condition) {
            skip ||= (condition[2] === "node") === (condition[1] === "skipif");
            continue;
        }
        const place = `${file}:${i + 1}`;
        let sql = "";
        let expected;
        while (head !== "reconnect" && i + 1 < lines.length && lines[i + 1] !== "") {
            const line = lines[++i];
            if (expected) expected.push(line);
            else if (line === "----") expected = [];
            else sql += `${line}\n`;
        }
        records++;
        try {
            if (!skip) runRecord(state, place, head, sql, expected);
        } catch (error) {
            fail(place, "fails", error.message);
        }
        skip = false;
    }
    state.db.close();
    if (records === 0) fail(file, "no records");
}

// --- Properties ---------------------------------------------------------------------------------------

// Values for tables that give rows for a value only, as in unit/test_tables.c.
const samples = JSON.parse(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "samples.json"), "utf8"));

// A table with the rows of the dump's, declared alike.
function copyTable(db, table) {
    const name = table.replace(/^.*\./, "");
    const fixed = samples[name];
    const columns = db.prepare(`SELECT s.column_name AS name, s.type, s.access, x.pk > 0 AS key
        FROM clr_schema AS s JOIN pragma_table_xinfo(?, 'dump') AS x ON x.name = s.column_name
        WHERE s.table_name = ? AND s.kind = 'column'`).all(name, name);
    if (!fixed && columns.some(c => c.access === "argument" || c.access === "= required"))
        return fail(name, "needs a value: add it to samples.json");
    const keys = columns.filter(c => c.key);
    const rowid = keys.length === 1 && keys[0].type === "INTEGER" ? keys[0] : undefined;
    const declared = columns.map(c => `${c.name} ${c.type}${c === rowid ? " PRIMARY KEY" : ""}`);
    if (keys.length && !rowid) declared.push(`PRIMARY KEY(${keys.map(c => c.name).join(", ")})`);
    db.exec(`CREATE TABLE copy_${name}(${declared.join(", ")});
        INSERT INTO copy_${name} SELECT ${columns.map(c => c.name).join(", ")} FROM dump.${name} WHERE ${fixed ?? "1"}`);
    db.prepare("INSERT INTO temp.subject VALUES(?, ?, ?, ?, 1)")
        .run(name, `dump.${name}`, `copy_${name}`, fixed ?? "1");
    const describe = db.prepare("INSERT INTO temp.subject_column VALUES(?, ?, ?, ?, ?, ?)");
    for (const c of columns) {
        describe.run(name, c.name, c.type, c.access, c.key, c === rowid ? 1 : 0);
        if (c.access && c !== rowid) db.exec(`CREATE INDEX copy_${name}_${c.name} ON copy_${name}(${c.name})`);
    }
}

function runProperties() {
    const db = connect();
    db.prepare("SELECT clr_attach(?)").get(substitute("${DUMP}"));
    db.exec(`CREATE TEMP TABLE subject(name, source, copy, fixed, level);
        CREATE TEMP TABLE subject_column(name, column_name, type, access, key, rowid)`);
    // 'problems' last: reading the others adds rows to it.
    const tables = db.prepare("SELECT name FROM dump.sqlite_schema WHERE type = 'table' ORDER BY name = 'problems', name").pluck().all();
    for (const table of tables) copyTable(db, table);
    db.exec(readFileSync(join(dirname(fileURLToPath(import.meta.url)), "properties.sql"), "utf8"));
    const answer = sql => {
        try {
            return rows(db, sql).join("\n");
        } catch (error) {
            return `error: ${error.message}`;
        }
    };
    let shown = 0;
    const pairs = db.prepare("SELECT question, answer FROM temp.pair ORDER BY id").raw().all();
    for (const [question, wanted] of pairs) {
        const got = answer(question);
        const right = answer(wanted);
        if (got === right && !got.startsWith("error: ")) passed++;
        else if (shown++ < 10) fail("properties", question, `gives ${got}, not ${right}`);
        else failed++;
    }
    if (pairs.length < 2000) fail("properties", `${pairs.length} questions only`);
    db.close();
}

for (const file of files) {
    try {
        runFile(file);
    } catch (error) {
        fail(basename(file), "cannot be run", error.message);
    }
}
runProperties();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
