/** Regular expressions in RE2 syntax, in linear time. `re2js` is loaded with the first one. */
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { CelError } from "../values.ts";
import { remember } from "./remember.ts";

const load = remember(
  1,
  () => (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS, // what the package exports
);

/** Longest pattern, in characters; its program's size is bounded by the package. */
const lengthMax = 16 * 1024;

/** The compiled pattern, or an error in Go's words. */
export const compilePattern: (pattern: string) => RE2JS | CelError = remember(500, (pattern) => {
  if (pattern.length > lengthMax) {
    return new CelError(`error parsing regexp: expression too large: must be at most ${lengthMax} characters`);
  }
  try {
    return load("").compile(pattern);
  } catch (error) {
    return new CelError((error as Error).message); // the package throws nothing else
  }
});
