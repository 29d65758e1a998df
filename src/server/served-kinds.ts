/**
 * The served built-in kinds, by feature gates and runtime configuration; checked before anything is opened or written.
 */
import { type ApiTables, loadDefinitions } from "#api/definitions.ts";
import { type FeatureGates, parseFeatureGates } from "#api/feature-gates.ts";
import { parseRuntimeConfig, servedKinds } from "#api/served.ts";
import { decodeJson } from "#codec/json.ts";
import { builtInDefinitions } from "#kinds/built-in.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { orStartError } from "./given-files.ts";
import { kindFlags, type KindFlags } from "./served-kinds/flags.ts";

export interface KindsPlan {
  readonly tables: ApiTables;
  readonly gates: FeatureGates;
  /** The served built-in kinds. */
  readonly table: ResourceTable;
}

/** Returns only these options, in the form that a thread gets. */
export const pickKindFlags = ({ featureGates, runtimeConfig, eventTtlMs, allowPrivileged }: KindFlags): KindFlags => ({
  featureGates,
  runtimeConfig,
  eventTtlMs,
  allowPrivileged,
});

/** Throws `StartError` for an invalid gate or version. */
export function planKinds(options: KindFlags, domain: ApiDomain, clock: Clock): KindsPlan {
  const tables = loadDefinitions(domain);
  const gates = orStartError("", () => parseFeatureGates(tables.gates, options.featureGates));
  const runtimeConfig = orStartError("", () => parseRuntimeConfig(options.runtimeConfig, tables.versions));
  const served = new Set(servedKinds(tables.kinds, runtimeConfig, gates.isOn));
  const definitions = builtInDefinitions(
    tables,
    {
      domain,
      gate: gates.isOn,
      allowsPrivileged: options.allowPrivileged,
      eventTtlSeconds: Math.round(options.eventTtlMs / 1000),
      now: () => clock.now(),
      decodeJson: (text) => decodeJson(Buffer.from(text)).value,
    },
    (facts) => served.has(facts),
  );
  return { tables, gates, table: new ResourceTable(definitions, 1) };
}

/** Returns the built-in kinds that any server may have stored, whatever its flags. */
export const allKinds = (domain: ApiDomain): KindsPlan =>
  planKinds(
    {
      featureGates: ["AllAlpha=true", "AllBeta=true"],
      runtimeConfig: ["api/all=true"],
      eventTtlMs: kindFlags.eventTtlMs.default,
      allowPrivileged: true,
    },
    domain,
    systemClock,
  );
