// What takes the heap:   node top.mjs CORE [rows]
// Needs better-sqlite3 (npm install better-sqlite3). The module is $CLRDB_MODULE, or 'clrdb' where
// the dynamic linker looks. Addresses do not fit a JavaScript number: safeIntegers gives BigInt.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const Database = require(process.env.BETTER_SQLITE3 ?? "better-sqlite3");
const [core, rows = "20"] = process.argv.slice(2);
if (!core) {
  console.error("usage: node top.mjs CORE [rows]");
  process.exit(2);
}

const db = new Database(":memory:").defaultSafeIntegers();
db.loadExtension(process.env.CLRDB_MODULE ?? "clrdb");
console.log(db.prepare("SELECT clr_attach(?)").pluck().get(core));

const top = db.prepare("SELECT name, object_count, total_size FROM type_stats ORDER BY total_size DESC LIMIT ?");
for (const { name, object_count, total_size } of top.iterate(BigInt(rows)))
  console.log(`${String(total_size).padStart(14)} ${String(object_count).padStart(11)}  ${name}`);
db.close();
