/**
 * Checks every object of a store that no server has open: that it can be decoded, is of a kind and version that there is,
 * and says of itself what its key says. Custom resources are checked by their definitions, but not by their schemas.
 */
import type { OwnerReference, Unstructured } from "#meta/object-meta.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { apiVersionOf, parseApiVersion, qualifiedResource } from "#meta/group-version.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { parseObject } from "#registry/stored-object.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { decodeTyped } from "#schema/typed.ts";
import { systemClock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import { openVerification, type StoreProblem, type StoreToVerify, type VerifiedEntry } from "#storage/verify.ts";
import { planKinds } from "./credentials/serving-plan.ts";
import { domainRecordKey } from "./domain-record.ts";
import { serverFlags } from "./options.ts";

export interface StoreReport {
  readonly apiDomain: string;
  readonly revision: string;
  /** Current keys, and all rows with history. */
  readonly keys: number;
  readonly rows: number;
  /** Objects by resource, as `deployments.apps`. */
  readonly resources: Readonly<Record<string, number>>;
  /** Objects that are encrypted, whose content was not looked into. */
  readonly encrypted: number;
  readonly problems: readonly StoreProblem[];
  /** Problems beyond those that are listed. */
  readonly moreProblems: number;
}

const problemsMax = 1000;
const encryptedPrefix = "k8s:enc:";

/** Throws `StorageFailure` when it cannot be opened or read. `progress` hears how many objects have been checked. */
export function verifyStore(store: StoreToVerify, progress: (objects: number) => void): StoreReport {
  const verification = openVerification(store);
  try {
    const plan = { domain: "", definitions: [] as Buffer[], hidesDefinitions: false };
    verification.read(
      ({ key, value }) => {
        if (key === domainRecordKey) plan.domain = value.toString();
        else if (!key.includes("/customresourcedefinitions/")) return;
        else if (isEncrypted(value)) plan.hidesDefinitions = true;
        else plan.definitions.push(value);
      },
      () => undefined,
    );
    const domain = plan.domain === "" ? serverFlags.apiDomain.default : plan.domain;
    const check = checkOf(domain, plan.definitions, plan.hidesDefinitions);
    const resources: Record<string, number> = {};
    const problems: StoreProblem[] = [];
    let count = 0;
    let moreProblems = 0;
    let encrypted = 0;
    const found = (problem: StoreProblem): void => {
      if (problems.length < problemsMax) problems.push(problem);
      else moreProblems++;
    };
    const { revision, keys, rows } = verification.read((entry) => {
      if (entry.key === domainRecordKey) return;
      progress(++count);
      const place = placeOf(entry.key);
      const name = place === undefined ? "unknown" : qualifiedResource(place);
      resources[name] = (resources[name] ?? 0) + 1;
      if (isEncrypted(entry.value)) encrypted++;
      else for (const problem of check(entry)) found({ key: entry.key, revision: entry.revision, problem });
    }, found);
    const sorted = Object.fromEntries(Object.entries(resources).sort(([a], [b]) => (a < b ? -1 : 1)));
    return {
      apiDomain: domain,
      revision: String(revision),
      keys,
      rows,
      resources: sorted,
      encrypted,
      problems,
      moreProblems,
    };
  } finally {
    verification.close();
  }
}

const isEncrypted = (value: Buffer): boolean => value.toString("latin1", 0, encryptedPrefix.length) === encryptedPrefix;

interface Place {
  readonly group: string;
  readonly resource: string;
  /** Of what follows, slashes between: namespace and name, or the name. */
  readonly rest: readonly string[];
}

/** What a key says: `/registry/GROUP/RESOURCE/[NAMESPACE/]NAME`. */
function placeOf(key: string): Place | undefined {
  const [empty, registry, group, resource, ...rest] = key.split("/");
  if (empty !== "" || registry !== "registry" || group === undefined || resource === undefined) return undefined;
  return { group: group === "core" ? "" : group, resource, rest };
}

/** What the objects of a resource must be. */
interface Kind {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly apiVersions: ReadonlySet<string>;
  /** Of built-in kinds. */
  readonly definition?: ResourceDefinition;
}

/** `hidesKinds`: there are definitions that are not in `stored`, so kinds that nothing defines may be all right. */
function checkOf(
  domainName: string,
  stored: readonly Buffer[],
  hidesKinds: boolean,
): (entry: VerifiedEntry) => string[] {
  const domain = apiDomain(domainName);
  const { tables, table } = planKinds(
    {
      apiDomain: domainName,
      featureGates: ["AllAlpha=true", "AllBeta=true"],
      runtimeConfig: ["api/all=true"],
      eventTtlMs: serverFlags.eventTtlMs.default,
    },
    domain,
    systemClock,
  );
  const kinds = new Map<string, Kind>();
  for (const definition of table.definitions) {
    const { group, resource, kind, version } = definition.storage;
    if (!definition.stored || kinds.has(`${group}/${resource}`)) continue;
    const versions = tables.versions.filter((one) => one.group === group).map((one) => apiVersionOf(one));
    const apiVersions = new Set([...versions, apiVersionOf({ group, version })]);
    // Objects are in the stored version; the schema of another one does not fit.
    const own = table.findKind(group, version, kind);
    kinds.set(`${group}/${resource}`, {
      kind,
      namespaced: definition.namespaced,
      apiVersions,
      ...(own === undefined ? {} : { definition: own }),
    });
  }
  for (const bytes of stored) {
    const custom = customKind(bytes);
    if (custom !== undefined) kinds.set(custom.resource, custom.kind);
  }
  const uids = new Set<string>();
  return (entry) => problemsOf(entry, kinds, hidesKinds, uids);
}

/** The kind that a stored definition defines; a definition that cannot be read is found as an object of its own. */
function customKind(bytes: Buffer): { readonly resource: string; readonly kind: Kind } | undefined {
  try {
    const { spec } = JSON.parse(bytes.toString()) as {
      readonly spec: {
        readonly group: string;
        readonly scope: string;
        readonly names: { readonly kind: string; readonly plural: string };
        readonly versions: readonly { readonly name: string }[];
      };
    };
    const { group, scope, names, versions } = spec;
    const apiVersions = new Set(versions.map(({ name }) => apiVersionOf({ group, version: name })));
    return {
      resource: `${group}/${names.plural}`,
      kind: { kind: names.kind, namespaced: scope === "Namespaced", apiVersions },
    };
  } catch {
    return undefined;
  }
}

function problemsOf(
  { key, revision, value }: VerifiedEntry,
  kinds: ReadonlyMap<string, Kind>,
  hidesKinds: boolean,
  uids: Set<string>,
): string[] {
  const place = placeOf(key);
  if (place === undefined) return ["is no key of an object"];
  const kind = kinds.get(`${place.group}/${place.resource}`);
  if (kind === undefined && hidesKinds) return [];
  if (kind === undefined) return [`is of the resource ${qualifiedResource(place)}, which is not defined`];
  let found: unknown;
  try {
    found = parseObject(value.toString());
  } catch (error) {
    return [`is no JSON: ${error instanceof Error ? error.message : String(error)}`];
  }
  if (!isObject(found) || !isObject(found["metadata"])) return ["has no metadata"];
  const object = found as unknown as Unstructured; // what of it is read is checked next
  const problems = [...typeProblems(object, kind), ...metadataProblems(object, place, kind, revision)];
  const { uid = "" } = object.metadata;
  if (uid !== "" && uids.has(uid)) problems.push(`has the uid ${uid} of another object`);
  uids.add(uid);
  if (problems.length === 0) problems.push(...schemaProblems(object, kind));
  return problems;
}

function typeProblems({ kind, apiVersion = "" }: Unstructured, wanted: Kind): string[] {
  const problems: string[] = [];
  if (kind !== wanted.kind) problems.push(`is of kind ${JSON.stringify(kind)}, not ${wanted.kind}`);
  if (!wanted.apiVersions.has(apiVersion))
    problems.push(`is of version ${JSON.stringify(apiVersion)}, which its kind has not`);
  return problems;
}

function metadataProblems({ metadata }: Unstructured, { rest }: Place, kind: Kind, revision: number): string[] {
  const problems: string[] = [];
  const [namespace, name] = kind.namespaced ? rest : [undefined, ...rest];
  if (rest.length !== (kind.namespaced ? 2 : 1)) problems.push("has a key of another form than its kind's");
  if (metadata.name !== name) problems.push(`is called ${JSON.stringify(metadata.name)}`);
  if ((metadata.namespace ?? "") !== (namespace ?? ""))
    problems.push(`is in namespace ${JSON.stringify(metadata.namespace)}`);
  if ((metadata.uid ?? "") === "") problems.push("has no uid");
  if (metadata.resourceVersion !== String(revision)) problems.push("does not show its version");
  if (Number.isNaN(Date.parse(metadata.creationTimestamp ?? ""))) problems.push("has no creation time");
  for (const owner of metadata.ownerReferences ?? []) {
    if (!isOwner(owner)) problems.push(`has an owner reference that is none: ${JSON.stringify(owner)}`);
  }
  return problems;
}

const isOwner = ({ apiVersion, kind, name, uid }: OwnerReference): boolean =>
  [kind, name, uid].every((text) => typeof text === "string" && text !== "") &&
  parseApiVersion(apiVersion) !== undefined;

function schemaProblems(object: Unstructured, { definition }: Kind): string[] {
  // In another version of its group than the newest: it is read by conversion, for which there is no schema here.
  if (definition === undefined || object.apiVersion !== apiVersionOf(definition)) return [];
  try {
    decodeTyped(definition.schema, object, { keys: 0, unknown: false }, { defaults: false });
    return [];
  } catch (error) {
    if (error instanceof DecodeError) return [`cannot be decoded: ${error.message}`];
    if (error instanceof StatusError) return [`cannot be decoded: ${error.status.message}`];
    throw error;
  }
}
