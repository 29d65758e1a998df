/** A V8 setting: where new objects are allocated. It is applied by the program, never in embedded servers. */
import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8 from allocating objects directly in the old generation. By default it does so at sites whose first objects
 * mostly lived long, as they do during the start; afterwards a third of all requests, with everything they reference,
 * stayed until the next full collection. Call it before anything else. Applies to known releases of Node only. Figures:
 * docs/performance.md.
 */
export function keepNewObjectsYoung(): void {
  const major = Number(process.versions.node.split(".", 1)[0]);
  if (major >= 24 && major <= 26) setFlagsFromString("--no-allocation-site-pretenuring");
}
