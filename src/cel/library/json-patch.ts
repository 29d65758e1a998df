/** Kubernetes' function for paths of JSON Patches: `jsonpatch.escapeKey(key)`. */
import type { Library } from "../functions.ts";
import { string } from "../types.ts";
import { plainFunction, traversalCost } from "./declare.ts";

export const jsonPatchLibrary: Library = {
  name: "k8s.jsonpatch",
  functions: [
    plainFunction(
      "jsonpatch.escapeKey",
      "string_jsonpatch_escapeKey_string",
      [string],
      string,
      ([key]) => (typeof key === "string" ? key.replaceAll("~", "~0").replaceAll("/", "~1") : undefined),
      traversalCost(),
    ),
  ],
};
