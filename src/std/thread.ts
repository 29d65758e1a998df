/** Starts a thread on a file of our own: TypeScript in the source tree, an entry of the bundle in the package. */
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * Starts a thread. `file` is the result of `import.meta.resolve`, which the bundle replaces by its own path
 * (`scripts/build.ts`). Throws when the thread cannot be started.
 */
export function startThread(file: string, options: Omit<WorkerOptions, "execArgv">): Worker {
  // The thread does not get the flags of this process.
  const execArgv = file.endsWith(".ts") ? ["--conditions=source"] : [];
  return new Worker(new URL(file), { ...options, execArgv });
}
