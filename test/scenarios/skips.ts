/** The skipped scenarios, ours and recorded ones, with reasons: `skipped.yaml`. */
import { load } from "js-yaml";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** Names of scenarios by file, or all of a file. */
type Names = Readonly<Record<string, readonly string[] | "all">>;

interface Skip {
  readonly reason: string;
  /** Scenarios of this folder are named like `access/bootstrap-tokens`. */
  readonly scenarios?: Names;
  /** Recordings are named like `core-create`. */
  readonly recorded?: Names;
}

export function readSkips(): readonly Skip[] {
  return load(readFileSync(join(import.meta.dirname, "skipped.yaml"), "utf8")) as readonly Skip[]; // written by hand
}

/** Returns why a scenario is not run; `undefined` when it is. */
export function reasonFor(
  skips: readonly Skip[],
  kind: "scenarios" | "recorded",
  file: string,
  name: string,
): string | undefined {
  return skips.find((skip) => {
    const names = skip[kind]?.[file];
    return names === "all" || names?.includes(name) === true;
  })?.reason;
}
