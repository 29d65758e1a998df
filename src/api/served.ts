/**
 * Which built-in kinds are served: stable ones, unless `--runtime-config` says otherwise, and only with their feature
 * gate on. Source: upstream's `resourceconfig`.
 */
import type { KindFacts } from "./definitions.ts";

/** Keys of `--runtime-config` to what they say, in the order given. */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

const stageKeys: Readonly<Record<string, KindFacts["stage"]>> = {
  "api/ga": "ga",
  "api/beta": "beta",
  "api/alpha": "alpha",
};

/** `values` are the parts of the flag between commas, `key[=value]`. Throws an `Error` to print for a bad one. */
export function parseRuntimeConfig(values: readonly string[]): RuntimeConfig {
  const config = new Map<string, boolean>();
  for (const value of values.map((text) => text.trim()).filter((text) => text !== "")) {
    const [key = "", text = "true"] = value.split("=", 2).map((part) => part.trim());
    if (key === "") throw new Error(`--runtime-config: no key in ${JSON.stringify(value)}`);
    if (text !== "true" && text !== "false") {
      throw new Error(`--runtime-config: invalid value ${key}=${text}: must be true or false`);
    }
    config.set(key, text === "true");
  }
  return config;
}

/**
 * Whether a kind is served. A key for the resource decides over one for its version, that over one for its stage, that
 * over `api/all`. Throws an `Error` to print for keys that name a version or resource there is not.
 */
export function servedKinds(
  kinds: readonly KindFacts[],
  config: RuntimeConfig,
  gate: (name: string) => boolean,
): (facts: KindFacts) => boolean {
  checkKeys(kinds, config);
  return (facts) => {
    if (facts.gate !== undefined && !gate(facts.gate)) return false;
    const version = versionKey(facts);
    const byStage = Object.keys(stageKeys).find((key) => stageKeys[key] === facts.stage);
    return (
      config.get(`${version}/${facts.resource}`) ??
      config.get(version) ??
      (byStage === undefined ? undefined : config.get(byStage)) ??
      config.get("api/all") ??
      facts.servedByDefault
    );
  };
}

/** The core group's version is written `api/v1` or `v1`. */
const versionKey = ({ group, version }: KindFacts): string => (group === "" ? version : `${group}/${version}`);

function checkKeys(kinds: readonly KindFacts[], config: RuntimeConfig): void {
  const known = new Set(["api/all", ...Object.keys(stageKeys)]);
  const groups = new Set<string>();
  for (const facts of kinds) {
    const version = versionKey(facts);
    known.add(version).add(`${version}/${facts.resource}`);
    groups.add(facts.group);
  }
  for (const key of config.keys()) {
    if (known.has(key)) continue;
    const [group = ""] = key.split("/");
    // Upstream: versions of a known group that are gone are passed over, so that old command lines still start.
    if (key.includes("/") && groups.has(group)) continue;
    throw new Error(`--runtime-config: unknown api groups ${group}`);
  }
}
