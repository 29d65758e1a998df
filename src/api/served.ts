/**
 * Decides which built-in kinds are served: those of the release, changed by `--runtime-config` and feature gates.
 * Source: upstream's `server/resourceconfig`.
 */
import type { GroupVersion } from "#meta/group-version.ts";
import type { KindFacts } from "./definitions.ts";
import { parseBool } from "./go-bool.ts";

/** The keys (`api/beta`, `batch/v1`, `batch/v1/jobs`), and whether each is on. */
type RuntimeConfig = ReadonlyMap<string, boolean>;

const wholesale: Readonly<Record<string, RegExp>> = {
  "api/all": /^/,
  "api/ga": /^v[0-9]+$/,
  "api/beta": /^v[0-9]+beta[0-9]+$/,
  "api/alpha": /^v[0-9]+alpha[0-9]+$/,
};

/**
 * Parses the values of the flag, each `key,key=bool`. A key without a value is on; later ones win. The version of the
 * core group may be written `v1` or `api/v1`. Throws an `Error` with one line, also for group versions other than
 * `versions`.
 */
export function parseRuntimeConfig(texts: readonly string[], versions: readonly GroupVersion[]): RuntimeConfig {
  const config = new Map<string, boolean>();
  for (const pair of texts.flatMap((text) => text.split(","))) {
    if (pair === "") continue;
    const equals = pair.indexOf("=");
    const key = (equals < 0 ? pair : pair.slice(0, equals)).trim();
    const text = equals < 0 ? "" : pair.slice(equals + 1).trim();
    const value = text === "" ? true : parseBool(text);
    if (typeof value === "string") throw refusal(`invalid value of ${key}: ${text}, err: ${value}`);
    // Upstream: the key of versions that were all removed has no effect any more.
    if (key !== "api/legacy") config.set(checkedKey(key, versions), value);
  }
  if (config.size === 1 && config.get("api/all") === false) throw refusal("invalid key with only api/all=false");
  return config;
}

const refusal = (message: string): Error => new Error(`--runtime-config: ${message}`);

/** Validates a key and returns its canonical form. */
function checkedKey(key: string, versions: readonly GroupVersion[]): string {
  if (Object.hasOwn(wholesale, key)) return key;
  const tokens = /^v[0-9]+$/.test(key) ? ["", key] : key.split("/");
  if (tokens.length !== 2 && tokens.length !== 3) throw refusal(`invalid key ${key}`);
  const [name = "", version = "", resource = ""] = tokens;
  const group = name === "api" && version === "v1" ? "" : name;
  const ownVersions = versions.filter((each) => each.group === group);
  if (ownVersions.length === 0) throw refusal(`unknown api groups ${name}`);
  if (!ownVersions.some((each) => each.version === version)) {
    throw refusal(`group version ${name}/${version} that has not been registered`);
  }
  if (resource !== resource.toLowerCase()) {
    const shown = JSON.stringify(resource);
    throw refusal(`invalid key ${key}: group/version/resource and resource is always lowercase plural, not ${shown}`);
  }
  return [group, ...tokens.slice(1)].join("/");
}

/** The gates that remove their kinds while they are off. Other gates change only how kinds behave. */
const hidingGates: ReadonlySet<string> = new Set(["ClusterTrustBundle", "StorageVersionMigrator"]);

/**
 * Returns the kinds to serve, in the order of `kinds`. A setting for a resource wins over one for its version, which
 * wins over `api/…`. Two gates remove their kinds in any case while they are off.
 */
export function servedKinds(
  kinds: readonly KindFacts[],
  config: RuntimeConfig,
  isOn: (gate: string) => boolean,
): readonly KindFacts[] {
  return kinds.filter((kind) => {
    const isHidden = kind.gate !== undefined && hidingGates.has(kind.gate) && !isOn(kind.gate);
    return !isHidden && isSwitchedOn(kind, config);
  });
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
