/**
 * Starts a thread on a file of our own: TypeScript in the source tree, an entry of the bundle in the package, a text in
 * the executable (`scripts/build-executable.ts`).
 */
import { readFileSync } from "node:fs";
import { isSea } from "node:sea";
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * Starts a thread. `file` is the result of `import.meta.resolve`, which the bundle replaces by its own path
 * (`scripts/build.ts`). Throws when the thread cannot be started.
 */
export function startThread(file: string, options: Omit<WorkerOptions, "execArgv">): Worker {
  // The thread does not get the flags of this process.
  const execArgv = file.endsWith(".ts") ? ["--conditions=source"] : [];
  return new Worker(isSea() ? textOf(file) : new URL(file), { ...options, execArgv });
}

/** Returns a URL that has the code of a file: the runtime looks for the files of threads outside of the executable. */
const textOf = (file: string): URL =>
  new URL(`data:text/javascript;base64,${readFileSync(new URL(file)).toString("base64")}`);
