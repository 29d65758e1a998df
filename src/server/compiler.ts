/**
 * V8 settings: when optimization starts, and where new objects go. Applied by the program, never in embedded servers.
 */
import { setFlagsFromString } from "node:v8";

/**
 * Makes V8 optimize sooner. By default it postpones functions whose types still change from time to time, which costs a
 * single writing client a fifth more CPU; at full load there is no difference. Call it once the server is ready, since
 * it makes the start slower. Applies to known releases of Node only.
 */
export function tuneCompiler(): void {
  if (!isKnownRelease()) return;
  setFlagsFromString("--invocation-count-for-maglev=100");
  setFlagsFromString("--invocation-count-for-turbofan=1000");
  setFlagsFromString("--minimum-invocations-after-ic-update=100");
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
