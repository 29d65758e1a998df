/** A process that owns a log and serves it in a folder, for tests that kill it. It prints a line when it serves the log. */
import { writeSync } from "node:fs";
import { join } from "node:path";

import { systemClock as clock } from "#std/clock.ts";
import { openSqliteStore } from "../sqlite.ts";
import { ServedLog } from "./served-log.ts";

const [folder = ""] = process.argv.slice(2);
await openSqliteStore({
  clock,
  dataDir: join(folder, "data"),
  compactionIntervalMs: 0,
  wrap: (log) => new ServedLog(log, { folder, clock, warn: () => undefined }),
});
writeSync(1, "serving\n");
