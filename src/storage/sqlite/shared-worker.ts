/** The entry of a thread that owns several logs. `shared-log-thread.ts` starts it. */
import { parentPort } from "node:worker_threads";

import { openSharedLogs } from "./log-thread.ts";

// Safe: a thread has a port, and this one is sent nothing else.
openSharedLogs(parentPort!);
