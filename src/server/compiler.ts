/** How soon the JavaScript compiler begins to optimize; a matter of the program, never of those who embed a server. */
import { setFlagsFromString } from "node:v8";

/**
 * Lets the compiler begin sooner. By default a function whose types still change now and then is put off again and
 * again: with one client writing, creates went on at a fifth more CPU time for as long as they were watched; at full
 * load there is no difference. To be called once the server is ready, since the start only gets dearer by it. The
 * releases of Node whose flags these are known to be; others keep their own ways.
 */
export function tuneCompiler(): void {
  const major = Number(process.versions.node.split(".", 1)[0]);
  if (major < 24 || major > 26) return;
  setFlagsFromString("--invocation-count-for-maglev=100");
  setFlagsFromString("--invocation-count-for-turbofan=1000");
  setFlagsFromString("--minimum-invocations-after-ic-update=100");
}
