/** The contracts of logs and caches over the log of another process, and over that of its owner. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

import { systemClock as clock } from "#std/clock.ts";
import { logContract } from "../log.contract.ts";
import { SqliteLog } from "../sqlite/log.ts";
import { storeContract } from "../store.contract.ts";
import { LogWatchCache } from "../watch-cache/log-watch-cache.ts";
import { LogWithOwner } from "./served-for-tests.ts";
import { ServedLog } from "./served-log.ts";

const top = mkdtempSync(join(tmpdir(), "binnacle-served-"));
after(() => rmSync(top, { recursive: true, force: true }));

logContract({
  name: "a log that another process owns",
  async open(follower) {
    const log = await LogWithOwner.open();
    await log.follow(follower);
    return log;
  },
});

logContract({
  name: "a log that is served to other processes",
  async open(follower) {
    const folder = mkdtempSync(join(top, "log-"));
    const log = await SqliteLog.open({
      clock,
      compactionIntervalMs: 0,
      dataDir: join(folder, "data"),
      historyBytes: 1e6,
    });
    log.useIndex(follower);
    const served = new ServedLog(log, { folder, clock, warn: () => undefined });
    await served.follow(follower);
    return served;
  },
});

storeContract({
  name: "a log that another process owns",
  open: async (options) => LogWatchCache.open(await LogWithOwner.open(), options),
  hasLog: true,
  keepsTime: false,
});
