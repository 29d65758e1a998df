/** The skipped scenarios, our own and recorded ones, with reasons: `skipped.yaml`. */
import { load } from "js-yaml";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The names of scenarios by file, or all scenarios of a file. */
type Names = Readonly<Record<string, readonly string[] | "all">>;

interface Skip {
  readonly reason: string;
  /** Scenarios of this folder, in files such as `access/bootstrap-tokens`. */
  readonly scenarios?: Names;
  /** Recorded scenarios, in files such as `core-create`. */
  readonly recorded?: Names;
}

export function readSkips(): readonly Skip[] {
  return load(readFileSync(join(import.meta.dirname, "skipped.yaml"), "utf8")) as readonly Skip[]; // written by hand
}

/** Returns the reason why a scenario is skipped; `undefined` if it is not. */
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
