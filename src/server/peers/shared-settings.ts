/** The settings of this server that its peers compare. No secret is among them, and nothing from which one is guessed. */
import { parseRuntimeConfig } from "#api/served.ts";
import type { EncryptionRule, ProviderSettings } from "#encryption/config.ts";
import type { PortRange } from "#kinds/service-allocator.ts";
import type { GroupVersion } from "#meta/group-version.ts";
import type { ServiceAccountIssuer } from "../authentication/service-account-issuer.ts";
import type { KindsPlan } from "../served-kinds.ts";
import type { KindSettings, SharedSettings } from "./record.ts";

interface SettingsSources {
  readonly issuer: Pick<ServiceAccountIssuer, "issuers" | "keys" | "signingKeyId">;
  readonly clientAuthorities: readonly string[];
  readonly serviceRanges: readonly string[];
  readonly nodePorts: PortRange;
  readonly encryption: readonly EncryptionRule[];
  readonly kinds: KindSettings;
}

export function sharedSettings(sources: SettingsSources): SharedSettings {
  const { issuer, clientAuthorities, serviceRanges, nodePorts, encryption, kinds } = sources;
  return {
    issuers: issuer.issuers,
    signingKey: issuer.signingKeyId,
    verificationKeys: issuer.keys.all.map(({ id }) => id),
    clientAuthorities,
    serviceRanges,
    nodePorts: `${nodePorts.first}-${nodePorts.first + nodePorts.size - 1}`,
    encryption: encryption.map(({ resources, providers }) => ({ resources, providers: providers.flatMap(namesOf) })),
    kinds,
  };
}

/** Returns what a server says about its kinds. */
export function kindSettings({ tables, gates, table }: KindsPlan, runtimeConfig: readonly string[]): KindSettings {
  const stored = table.definitions.filter((definition) => definition.stored).map(({ storage }) => storage);
  const defaults = new Map(tables.gates.map((gate) => [gate.name, gate.default]));
  return {
    stores: namesOfVersions(stored),
    reads: namesOfVersions(tables.kinds),
    featureGates: gates.all
      .filter(({ name, isOn }) => isOn !== defaults.get(name))
      .map(({ name, isOn }) => `${name}=${isOn}`)
      .sort(),
    runtimeConfig: [...parseRuntimeConfig(runtimeConfig, tables.versions)]
      .map(([key, isOn]) => `${key}=${isOn}`)
      .sort(),
  };
}

const namesOfVersions = (all: readonly GroupVersion[]): readonly string[] =>
  [...new Set(all.map(({ group, version }) => `${group}/${version}`))].sort();

function namesOf(provider: ProviderSettings): readonly string[] {
  if (provider.type === "identity") return ["identity"];
  if (provider.type === "kms") return [`kms ${provider.kms.name}`];
  return provider.keys.map(({ name }) => `${provider.type} ${name}`);
}
