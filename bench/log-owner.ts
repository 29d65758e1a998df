/** A process that owns a log and serves it in a folder, for `processes.bench.ts`. */
import { join } from "node:path";
import { systemClock as clock } from "#std/clock.ts";
import { ServedLog } from "#storage/served.ts";
import { openSqliteStore } from "#storage/sqlite.ts";

const [folder = ""] = process.argv.slice(2);
await openSqliteStore({
  clock,
  dataDir: join(folder, "data"),
  wrap: (log) => new ServedLog(log, { folder, clock, warn: (problem) => console.error(problem) }),
});
console.log("ready");
