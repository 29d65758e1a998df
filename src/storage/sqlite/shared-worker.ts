/** The entry of a thread that owns several logs. `shared-log-thread.ts` starts it. */
import { parentPort } from "node:worker_threads";

import { openSharedLog } from "./log-thread.ts";
import type { SharedLogStart } from "./messages.ts";

// Safe: a thread has a port, and this one is sent nothing else.
parentPort!.on("message", (start: SharedLogStart) => void openSharedLog(start));
