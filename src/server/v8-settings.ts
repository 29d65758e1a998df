/**
 * V8 settings: when functions are optimized, and where new objects are allocated. The program applies them, an embedded
 * server never does. They apply to known releases of Node only.
 */
import { setFlagsFromString } from "node:v8";

/** The time after which the controllers have started too, in milliseconds. */
const startedMs = 500;

/**
 * Makes V8 optimize functions after fewer calls than by default, so that the first ten thousands of reads and creates cost
 * a sixth less CPU. Call it when the server is ready: it waits half a second more, because a start would be slower with it.
 * Figures: docs/performance.md.
 */
export function optimizeSooner(): void {
  if (!isKnownRelease()) return;
  const flags = [
    "--invocation-count-for-maglev=100",
    "--invocation-count-for-turbofan=1000",
    "--minimum-invocations-after-ic-update=100",
  ];
  setTimeout(() => flags.forEach((flag) => setFlagsFromString(flag)), startedMs).unref();
}

/**
 * Keeps V8 from allocating objects directly in the old generation. By default it does so at sites whose first objects
 * mostly lived long, as they do during the start; afterwards a third of all requests, with everything they reference,
 * stayed until the next full collection. Call it before anything else. Figures: docs/performance.md.
 */
export function keepNewObjectsYoung(): void {
  if (isKnownRelease()) setFlagsFromString("--no-allocation-site-pretenuring");
}

function isKnownRelease(): boolean {
  const major = Number(process.versions.node.split(".", 1)[0]);
  return major >= 24 && major <= 26;
}
