/** Child processes that must not outlive this one, also when it ends by an error. */
import type { ChildProcess } from "node:child_process";

const children = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of children) child.kill("SIGKILL");
});

export function endWithUs(child: ChildProcess): void {
  children.add(child);
  child.once("exit", () => children.delete(child));
}

/** Lets the signals that end a program end its children as well. */
export function endBySignals(): void {
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => process.exit(1));
}
