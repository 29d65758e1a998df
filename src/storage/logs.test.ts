/** Every log keeps its contract. */
import { after } from "node:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";

import { DelayedLog } from "./delayed-log-for-tests.ts";
import { logContract } from "./log.contract.ts";
import { openMemoryLog } from "./memory.ts";
import { SharedLog } from "./shared-log-for-tests.ts";
import { SqliteLog } from "./sqlite/log.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-logs-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const options = { clock: systemClock, compactionIntervalMs: 0 };

logContract({
  name: "memory",
  async open(follower) {
    const log = openMemoryLog(options);
    await log.follow(follower);
    return log;
  },
});

let folders = 0;

logContract({
  name: "sqlite",
  async open(follower) {
    const log = await SqliteLog.open({ ...options, dataDir: join(folder, String(folders++)), historyBytes: 1e6 });
    log.useIndex(follower);
    await log.follow(follower);
    return log;
  },
});

logContract({
  name: "a log far away",
  async open(follower) {
    const log = new DelayedLog(openMemoryLog(options), seededRandom(1), 1);
    await log.follow(follower);
    return log;
  },
});

logContract({
  name: "a log that servers share",
  expires: false,
  async open(follower) {
    const log = new SharedLog().open();
    await log.follow(follower);
    return log;
  },
});
