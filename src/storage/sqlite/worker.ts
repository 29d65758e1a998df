/** The entry of the thread that owns the log file. `worker-client.ts` starts it. */
import { parentPort, workerData } from "node:worker_threads";

import { openLogThread } from "./log-thread.ts";
import type { WorkerStart } from "./messages.ts";

// Safe: a thread has a port, and this one is given this data.
await openLogThread(parentPort!, workerData as WorkerStart);
