/**
 * Which built-in kinds are served: what a release serves by default, changed by `--runtime-config` and the gates of
 * the kinds. Source: upstream's `server/resourceconfig`.
 */
import type { KindFacts } from "./definitions.ts";
import { parseBool } from "./go-bool.ts";

/** Keys (`api/beta`, `batch/v1`, `batch/v1/jobs`) and whether they are switched on. */
export type RuntimeConfig = ReadonlyMap<string, boolean>;

const wholesale: Readonly<Record<string, RegExp>> = {
  "api/all": /^/,
  "api/ga": /^v[0-9]+$/,
  "api/beta": /^v[0-9]+beta[0-9]+$/,
  "api/alpha": /^v[0-9]+alpha[0-9]+$/,
};

/**
 * Reads the flag's texts, each `key,key=bool`; a key without value means true, later ones win. Throws an `Error` with
 * one line.
 */
export function parseRuntimeConfig(texts: readonly string[]): RuntimeConfig {
  const config = new Map<string, boolean>();
  for (const pair of texts.flatMap((text) => text.split(","))) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const key = (equals < 0 ? pair : pair.slice(0, equals)).trim();
    const text = equals < 0 ? "" : pair.slice(equals + 1).trim();
    const tokens = key.split("/");
    if (tokens.length !== 2 && tokens.length !== 3) throw new Error(`runtime-config invalid key ${key}`);
    const value = text === "" ? true : parseBool(text);
    if (typeof value === "string") throw new Error(`invalid value of ${key}: ${text}, err: ${value}`);
    const resource = tokens[2] ?? "";
    if (resource !== resource.toLowerCase()) {
      throw new Error(
        `invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${JSON.stringify(resource)}`,
      );
    }
    config.set(key, value);
  }
  if (config.size === 1 && config.get("api/all") === false) throw new Error("invalid key with only api/all=false");
  return config;
}

/**
 * The kinds to serve, in the order given. What names one resource wins over what names its version, that over `api/…`.
 * A gate that is off takes its kinds away whatever the configuration says.
 */
export function servedKinds(
  kinds: readonly KindFacts[],
  config: RuntimeConfig,
  isOn: (gate: string) => boolean,
): readonly KindFacts[] {
  return kinds.filter((kind) => isSwitchedOn(kind, config) && (kind.gate === undefined || isOn(kind.gate)));
}

function isSwitchedOn(kind: KindFacts, config: RuntimeConfig): boolean {
  const version = `${kind.group}/${kind.version}`;
  const said = config.get(`${version}/${kind.resource}`) ?? config.get(version);
  if (said !== undefined) return said;
  let isOn = kind.servedByDefault;
  for (const [key, pattern] of Object.entries(wholesale)) {
    if (pattern.test(kind.version)) isOn = config.get(key) ?? isOn;
  }
  return isOn;
}

/** Keys that name no group version or resource of `kinds`: worth a line in the log. */
export function unknownKeys(kinds: readonly KindFacts[], config: RuntimeConfig): readonly string[] {
  const known = new Set(Object.keys(wholesale));
  for (const kind of kinds) {
    known.add(`${kind.group}/${kind.version}`).add(`${kind.group}/${kind.version}/${kind.resource}`);
  }
  return [...config.keys()].filter((key) => !known.has(key));
}
