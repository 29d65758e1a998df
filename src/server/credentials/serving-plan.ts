/**
 * Settings that are checked before anything is opened or written: served kinds, TLS, token file. A wrong gate, version
 * or token file ends the start here.
 */
import { type ApiTables, loadDefinitions } from "#api/definitions.ts";
import { type FeatureGates, parseFeatureGates } from "#api/feature-gates.ts";
import { parseRuntimeConfig, servedKinds } from "#api/served.ts";
import { readTokenFile, type TokenFile } from "#authn/token-file.ts";
import { decodeJson } from "#codec/json.ts";
import { builtInDefinitions } from "#kinds/built-in.ts";
import type { IpRange } from "#meta/ip-range.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import type { Clock } from "#std/clock.ts";
import { asStart } from "../as-start.ts";
import { readGiven } from "../credentials.ts";
import type { ServerOptions } from "../options.ts";
import { clusterIpRanges } from "../services.ts";

export interface ServingPlan {
  readonly tables: ApiTables;
  readonly gates: FeatureGates;
  /** Built-in kinds that are served. */
  readonly table: ResourceTable;
  /** `--service-cluster-ip-range` says them. */
  readonly clusterIps: readonly IpRange[];
  /** `--token-auth-file` names it. */
  readonly tokens: TokenFile | undefined;
}

/** Options that say which kinds are served, and how. Can be cloned. */
export type KindOptions = Pick<ServerOptions, "apiDomain" | "featureGates" | "runtimeConfig" | "eventTtlMs">;

export const kindOptions = ({ apiDomain, featureGates, runtimeConfig, eventTtlMs }: ServerOptions): KindOptions => ({
  apiDomain,
  featureGates,
  runtimeConfig,
  eventTtlMs,
});

/** Throws `StartError` for options that cannot be. */
export function planServing(options: ServerOptions, domain: ApiDomain, clock: Clock): ServingPlan {
  const { tokenAuthFile } = options;
  const clusterIps = clusterIpRanges(options.serviceClusterIpRange);
  const kinds = planKinds(options, domain, clock);
  const tokens =
    tokenAuthFile === undefined ? undefined : asStart("", () => readTokenFile(readGiven(tokenAuthFile), tokenAuthFile));
  return { ...kinds, clusterIps, tokens };
}

/** The part about kinds alone. */
export function planKinds(
  options: KindOptions,
  domain: ApiDomain,
  clock: Clock,
): Omit<ServingPlan, "tokens" | "clusterIps"> {
  const tables = loadDefinitions(domain);
  const gates = asStart("", () => parseFeatureGates(tables.gates, options.featureGates));
  const runtimeConfig = asStart("", () => parseRuntimeConfig(options.runtimeConfig, tables.versions));
  const served = new Set(servedKinds(tables.kinds, runtimeConfig, gates.isOn));
  const definitions = builtInDefinitions(
    tables,
    {
      domain,
      gate: gates.isOn,
      eventTtlSeconds: Math.round(options.eventTtlMs / 1000),
      now: () => clock.now(),
      decodeJson: (text) => decodeJson(Buffer.from(text)).value,
    },
    (facts) => served.has(facts),
  );
  return { tables, gates, table: new ResourceTable(definitions, 1) };
}
