/**
 * Compares the settings of servers of one store. What one server writes or signs, the others must be able to read. What
 * only lets servers answer unlike each other is named, since a rolling restart changes it on one after the other.
 */
import { qualifiedResource } from "#meta/group-version.ts";
import { rulesFor } from "#encryption/transformers.ts";
import { type EncryptionNames, type KindSettings, nameOf, type PeerRecord, type SharedSettings } from "./record.ts";

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** A setting in which two servers differ. */
interface Difference {
  /** The setting, and its values on this server and on the other one. */
  readonly what: string;
  readonly own: string;
  readonly other: string;
  /** The rule that both break. */
  readonly needed: string;
}

/** Returns the message about the first setting that keeps two servers from sharing a store; `undefined` without one. */
export function disagreement(
  own: SharedSettings,
  peer: PeerRecord,
  builtIn: readonly GroupResource[],
): string | undefined {
  const found = differenceOf(own, peer.settings, builtIn);
  if (found === undefined) return undefined;
  return messageOf(found, peer);
}

/** Returns messages about the settings in which two servers may differ for a while. */
export function toleratedDifferences({ kinds: own }: SharedSettings, peer: PeerRecord): readonly string[] {
  const { kinds: other } = peer.settings;
  if (own === undefined || other === undefined) return [];
  const flags = { "--feature-gates": "featureGates", "--runtime-config": "runtimeConfig" } as const;
  return Object.entries(flags).flatMap(([what, field]) => {
    const [mine, theirs] = [own[field], other[field]].map((entries) => entries.join(",") || "the defaults");
    if (mine === theirs) return [];
    const needed =
      "until all servers are alike, what is stored, served and allowed depends on the server that is asked";
    return [messageOf({ what, own: mine!, other: theirs!, needed }, peer)];
  });
}

const messageOf = ({ what, own, other, needed }: Difference, peer: PeerRecord): string =>
  `this server and the one at ${nameOf(peer)}, which has the same store, differ in ${what}: here ${own}, there ${other}; ${needed}`;

function differenceOf(
  own: SharedSettings,
  other: SharedSettings,
  builtIn: readonly GroupResource[],
): Difference | undefined {
  return (
    rangesDiffer("--service-cluster-ip-range", own.serviceRanges.join(","), other.serviceRanges.join(",")) ??
    rangesDiffer("--service-node-port-range", own.nodePorts, other.nodePorts) ??
    issuersDiffer(own, other) ??
    keysDiffer(own, other) ??
    authoritiesDiffer(own, other) ??
    encryptionDiffers(own.encryption, other.encryption, builtIn) ??
    storedVersionsDiffer(own.kinds, other.kinds)
  );
}

function rangesDiffer(what: string, own: string, other: string): Difference | undefined {
  return own === other ? undefined : { what, own, other, needed: "all servers of a store give out the same range" };
}

function issuersDiffer(own: SharedSettings, other: SharedSettings): Difference | undefined {
  if (other.issuers.includes(own.issuers[0]!) && own.issuers.includes(other.issuers[0]!)) return undefined;
  return {
    what: "--service-account-issuer",
    own: own.issuers.join(","),
    other: other.issuers.join(","),
    needed: "each server must accept the first issuer of the others",
  };
}

/** A key is replaced by a rolling restart that first lets all servers verify the new one, and then sign with it. */
function keysDiffer(own: SharedSettings, other: SharedSettings): Difference | undefined {
  if (other.verificationKeys.includes(own.signingKey) && own.verificationKeys.includes(other.signingKey))
    return undefined;
  const said = ({ signingKey, verificationKeys }: SharedSettings): string =>
    `${signingKey} signs and ${verificationKeys.join(", ")} verify`;
  return {
    what: "the keys of service accounts",
    own: said(own),
    other: said(other),
    needed:
      "each server must verify what the others sign: copy pki/sa.key of the other server's data folder, or name its keys with --service-account-key-file",
  };
}

function authoritiesDiffer(own: SharedSettings, other: SharedSettings): Difference | undefined {
  const [mine, theirs] = [own.clientAuthorities, other.clientAuthorities];
  if (mine.length === 0 || theirs.length === 0 || mine.some((one) => theirs.includes(one))) return undefined;
  return {
    what: "the authorities of client certificates",
    own: mine.join(", "),
    other: theirs.join(", "),
    needed:
      "servers need an authority in common: copy pki/ca.crt and pki/ca.key of the other server's data folder, or name one with --client-ca-file",
  };
}

/** A newer version of the program may store objects in versions that an older one does not know. */
function storedVersionsDiffer(own: KindSettings | undefined, other: KindSettings | undefined): Difference | undefined {
  if (own === undefined || other === undefined) return undefined;
  const unread = (one: KindSettings, two: KindSettings) => one.stores.filter((version) => !two.reads.includes(version));
  const [here, there] = [unread(own, other), unread(other, own)];
  if (here.length === 0 && there.length === 0) return undefined;
  const said = (versions: readonly string[]): string => (versions.length === 0 ? "none" : versions.join(", "));
  return {
    what: "the versions in which objects are stored and that are unknown to the other",
    own: said(here),
    other: said(there),
    needed:
      "each server must read what the others store: go over a version of the program that reads both, on all servers",
  };
}

/** The resources of a definition that no rule names. */
const someResource: GroupResource = { group: "example.com", resource: "examples" };

function encryptionDiffers(
  own: readonly EncryptionNames[],
  other: readonly EncryptionNames[],
  builtIn: readonly GroupResource[],
): Difference | undefined {
  if (own.length === 0 && other.length === 0) return undefined;
  const named = [...own, ...other].flatMap(({ resources }) => resources.flatMap(resourceOf));
  for (const resource of [...builtIn, ...named, someResource]) {
    const [mine, theirs] = [providersOf(own, resource), providersOf(other, resource)];
    if (theirs.includes(mine[0]!) && mine.includes(theirs[0]!)) continue;
    const said = ([first, ...others]: readonly string[]): string =>
      `${first!} writes${others.length === 0 ? "" : ` and ${others.join(", ")} reads`}`;
    return {
      what: `the encryption of ${resource === someResource ? "custom resources" : qualifiedResource(resource)}`,
      own: said(mine),
      other: said(theirs),
      needed: "each server must read what the others write: add new keys to all servers before one writes with them",
    };
  }
  return undefined;
}

/** Returns the resource that a rule names, unless it is a pattern. */
function resourceOf(name: string): readonly GroupResource[] {
  if (name.includes("*")) return [];
  const dot = name.indexOf(".");
  return [dot < 0 ? { group: "", resource: name } : { group: name.slice(dot + 1), resource: name.slice(0, dot) }];
}

function providersOf(rules: readonly EncryptionNames[], { group, resource }: GroupResource): readonly string[] {
  const providers = rulesFor(rules, group, resource).flatMap((rule) => rule.providers);
  return providers.length === 0 ? ["identity"] : providers;
}
