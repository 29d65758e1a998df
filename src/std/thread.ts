/** Starts a thread on a file of our own: TypeScript in the source tree, an entry of the bundle in the package. */
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * `file` is what `import.meta.resolve` says; the bundle has its path there (`scripts/build.ts`). Throws
 * when the thread cannot be started.
 */
export function startThread(file: string, options: Omit<WorkerOptions, "execArgv">): Worker {
  // The thread does not get the flags of this process.
  const execArgv = file.endsWith(".ts") ? ["--conditions=source"] : [];
  return new Worker(new URL(file), { ...options, execArgv });
}
