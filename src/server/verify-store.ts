/**
 * Verifies every object of a folder that no server has open, of a backup, or of an etcd: it can be decrypted and decoded, its kind and version
 * exist, and it matches its key. Custom resources are checked against their definitions, but not against their schemas.
 */
import type { OwnerReference, Unstructured } from "#meta/object-meta.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { apiVersionOf, parseApiVersion, qualifiedResource } from "#meta/group-version.ts";
import { StatusError } from "#meta/status-error.ts";
import { isEncrypted } from "#encryption/stored-value.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { parseObject } from "#registry/stored-object.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { decodeTyped } from "#schema/typed.ts";
import { isObject } from "#std/is-object.ts";
import type { StoreProblem, Verification, VerifiedEntry } from "#storage/verify.ts";
import { insertRevision } from "#storage/versioned-value.ts";
import { generalFlags } from "./general-flags.ts";
import { recordPrefix } from "./peers/record.ts";
import { allKinds } from "./served-kinds.ts";
import { domainRecordKey } from "./store.ts";
import type { StoredValues, Unreadable } from "./encryption/stored-values.ts";

export interface StoreReport {
  readonly apiDomain: string;
  readonly revision: string;
  /** The number of current keys. `rows` is the number of all rows, with history. */
  readonly keys: number;
  readonly rows: number;
  /** The number of objects by resource, such as `deployments.apps`. */
  readonly resources: Readonly<Record<string, number>>;
  /** The number of encrypted objects. Without an encryption configuration, their content was not checked. */
  readonly encrypted: number;
  /** The number of encrypted objects that could be decrypted. */
  readonly decrypted: number;
  readonly problems: readonly StoreProblem[];
  /** The number of problems that are not in `problems`. */
  readonly moreProblems: number;
}

/** An encryption configuration: the name and text of its file. */
export interface EncryptionFile {
  readonly file: string;
  readonly text: string;
}

interface VerifyOptions {
  /** The store, which is closed in the end. */
  readonly verification: Verification;
  readonly encryption?: EncryptionFile | undefined;
  /** Called with the number of objects checked so far. */
  progress(objects: number): void;
}

const problemsMax = 1000;

/**
 * Rejects with `StorageFailure` when the store cannot be read, with `StartError` for an invalid
 * configuration.
 */
export async function verifyStore({ verification, encryption, progress }: VerifyOptions): Promise<StoreReport> {
  let values: StoredValues | undefined;
  try {
    const { domain, definitions } = await planOf(verification);
    if (encryption !== undefined) {
      const { openStoredValues } = await import("./encryption/stored-values.ts");
      values = await openStoredValues({ ...encryption, domain: apiDomain(domain), form: verification.form });
    }
    const readable: Buffer[] = [];
    for (const entry of definitions) {
      const clear = await clearValue(entry, values);
      if (Buffer.isBuffer(clear)) readable.push(clear);
    }
    const check = checkOf(domain, readable, readable.length < definitions.length);
    const report = new Report(check, values, progress);
    const { revision, keys, rows } = await verification.read(
      (entry) => report.add(entry),
      (problem) => report.addProblem(problem),
    );
    return { apiDomain: domain, revision: String(revision), keys, rows, ...report.result };
  } finally {
    values?.close();
    verification.close();
  }
}

/** Reads the data that the checks of objects need. */
async function planOf(verification: Verification) {
  const plan = { domain: generalFlags.apiDomain.default, definitions: [] as VerifiedEntry[] };
  await verification.read(
    (entry) => {
      if (entry.key === domainRecordKey) plan.domain = insertRevision(entry.value, entry.revision).toString();
      else if (entry.key.includes("/customresourcedefinitions/")) plan.definitions.push(entry);
    },
    () => undefined,
  );
  return plan;
}

/**
 * Returns the decrypted value, or the reason why it cannot be read; `undefined` when it is encrypted and there is no
 * configuration.
 */
async function clearValue(
  { key, revision, value }: VerifiedEntry,
  values: StoredValues | undefined,
): Promise<Buffer | Unreadable | undefined> {
  if (values === undefined) return isEncrypted(value) ? undefined : insertRevision(value, revision);
  const clear = await values.clear(key, value);
  return "problem" in clear ? clear : insertRevision(clear, revision);
}

class Report {
  readonly #check: (entry: CheckedEntry) => string[];
  readonly #values: StoredValues | undefined;
  readonly #progress: VerifyOptions["progress"];
  readonly #resources: Record<string, number> = {};
  readonly #problems: StoreProblem[] = [];
  #moreProblems = 0;
  #objects = 0;
  #encrypted = 0;
  #decrypted = 0;

  constructor(
    check: (entry: CheckedEntry) => string[],
    values: StoredValues | undefined,
    progress: VerifyOptions["progress"],
  ) {
    this.#check = check;
    this.#values = values;
    this.#progress = progress;
  }

  get result(): Omit<StoreReport, "apiDomain" | "revision" | "keys" | "rows"> {
    return {
      resources: Object.fromEntries(Object.entries(this.#resources).sort(([a], [b]) => (a < b ? -1 : 1))),
      encrypted: this.#encrypted,
      decrypted: this.#decrypted,
      problems: this.#problems,
      moreProblems: this.#moreProblems,
    };
  }

  addProblem(problem: StoreProblem): void {
    if (this.#problems.length < problemsMax) this.#problems.push(problem);
    else this.#moreProblems++;
  }

  async add(entry: VerifiedEntry): Promise<void> {
    const { key, revision } = entry;
    // The records of servers are no objects. They expire, and stay in a store whose processes were killed.
    if (key === domainRecordKey || key.startsWith(recordPrefix)) return;
    this.#progress(++this.#objects);
    const parsed = parseKey(key);
    const name = parsed === undefined ? "unknown" : qualifiedResource(parsed);
    this.#resources[name] = (this.#resources[name] ?? 0) + 1;
    const wasEncrypted = isEncrypted(entry.value);
    if (wasEncrypted) this.#encrypted++;
    const clear = await clearValue(entry, this.#values);
    if (clear === undefined) return;
    if (!Buffer.isBuffer(clear))
      return this.addProblem({ key, revision, problem: `cannot be decrypted: ${clear.problem}` });
    if (wasEncrypted) this.#decrypted++;
    for (const problem of this.#check({ key, revision, value: clear })) this.addProblem({ key, revision, problem });
  }
}

/** A decrypted object, as clients see it. */
interface CheckedEntry extends Pick<VerifiedEntry, "key" | "revision"> {
  readonly value: Buffer;
}

interface ParsedKey {
  readonly group: string;
  readonly resource: string;
  /** The rest of the key, split at slashes: namespace and name, or only the name. */
  readonly rest: readonly string[];
}

/** Parses a key: `/registry/GROUP/RESOURCE/[NAMESPACE/]NAME`. */
function parseKey(key: string): ParsedKey | undefined {
  const [empty, registry, group, resource, ...rest] = key.split("/");
  if (empty !== "" || registry !== "registry" || group === undefined || resource === undefined) return undefined;
  return { group: group === "core" ? "" : group, resource, rest };
}

/** The kind that the objects of a resource must have. */
interface Kind {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly apiVersions: ReadonlySet<string>;
  /** The definition of a built-in kind; absent for custom kinds. */
  readonly definition?: ResourceDefinition;
}

/**
 * Returns the check of an entry. `hidesKinds` says that some definitions are missing in `stored`, so unknown kinds may
 * be valid.
 */
function checkOf(
  domainName: string,
  stored: readonly Buffer[],
  hidesKinds: boolean,
): (entry: CheckedEntry) => string[] {
  const domain = apiDomain(domainName);
  const { tables, table } = allKinds(domain);
  const kinds = new Map<string, Kind>();
  for (const definition of table.definitions) {
    const { group, resource, kind, version } = definition.storage;
    if (!definition.stored || kinds.has(`${group}/${resource}`)) continue;
    const versions = tables.versions.filter((one) => one.group === group).map((one) => apiVersionOf(one));
    const apiVersions = new Set([...versions, apiVersionOf({ group, version })]);
    // Objects are stored in this version; the schema of another version does not fit.
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

/** Returns the kind of a stored definition. A definition that cannot be read is reported as an object. */
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
  { key, revision, value }: CheckedEntry,
  kinds: ReadonlyMap<string, Kind>,
  hidesKinds: boolean,
  uids: Set<string>,
): string[] {
  const parsed = parseKey(key);
  if (parsed === undefined) return ["is no key of an object"];
  const kind = kinds.get(`${parsed.group}/${parsed.resource}`);
  if (kind === undefined && hidesKinds) return [];
  if (kind === undefined) return [`is of the resource ${qualifiedResource(parsed)}, which is not defined`];
  let decoded: unknown;
  try {
    decoded = parseObject(value.toString());
  } catch (error) {
    return [`is no JSON: ${error instanceof Error ? error.message : String(error)}`];
  }
  if (!isObject(decoded) || !isObject(decoded["metadata"])) return ["has no metadata"];
  const object = decoded as unknown as Unstructured; // what of it is read is checked next
  const problems = [...typeProblems(object, kind), ...metadataProblems(object, parsed, kind, revision)];
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

function metadataProblems({ metadata }: Unstructured, { rest }: ParsedKey, kind: Kind, revision: number): string[] {
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
  // The object is stored in an older version of its group and is read by conversion, which has no schema here.
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
