/**
 * Creates objects on a server, several of one kind at a time. Objects whose owners do not exist yet are created without
 * owner references, and get them at the end.
 */
import { apiVersionOf } from "#meta/group-version.ts";
import type { OwnerReference, Unstructured } from "#meta/object-meta.ts";
import { ApiError } from "#client/api-error.ts";
import { ignoreNotFound, jsonBody, type RestClient } from "#client/rest-client.ts";
import type { ClientRequest } from "#client/transport.ts";
import { systemClock } from "#std/clock.ts";
import { printable } from "#std/printable.ts";
import { isObject } from "#std/is-object.ts";
import { collectionPath, discover, NoName, pathPart, type DiscoveredResource } from "./discovery.ts";
import { portable } from "./portable-object.ts";
import { printWarnings } from "./print.ts";

interface ImportOptions {
  /** The namespace of objects that do not name one. */
  readonly namespace: string;
  /** The treatment of an object that exists already. */
  readonly existing: "skip" | "replace" | "fail" | "apply";
  readonly writesStatus: boolean;
  readonly dryRun: boolean;
}

export interface ImportReport {
  readonly created: number;
  readonly replaced: number;
  readonly applied: number;
  readonly skipped: number;
  readonly failed: number;
  /** The first thousand failures, each as `kind namespace/name: reason`. */
  readonly failures: readonly string[];
}

/** An object that was created before its owners. */
interface Orphan {
  readonly path: string;
  readonly what: string;
  readonly namespace: string;
  readonly owners: readonly OwnerReference[];
}

const atOnce = 8;
const failuresMax = 1000;
const ownersKept = 10_000;
/** The maximum time until a definition is established. */
const establishMs = 30_000;
const pollMs = 100;
/** The maximum number of attempts to send a request to a busy server. */
const busyTries = 5;
const busyMs = 1000;
const manager = "binnacle-import";

const pause = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.after(ms, resolve));

export class Importer {
  readonly #client: RestClient;
  readonly #options: ImportOptions;
  readonly #counts = { created: 0, replaced: 0, applied: 0, skipped: 0, failed: 0 };
  readonly #failures: string[] = [];
  readonly #running = new Set<Promise<void>>();
  readonly #orphans: Orphan[] = [];
  /** The uids of owners by their paths. */
  readonly #owners = new Map<string, string>();
  /** The paths of created definitions that are perhaps not established yet. */
  #definitions: string[] = [];
  #kinds: Map<string, DiscoveredResource> | undefined;
  /** The kinds that the server does not serve, according to its discovery. */
  readonly #unknown = new Set<string>();
  #lastKind = "";
  /** The namespaces and kinds that a dry run would have created. Objects that need them cannot be checked. */
  readonly #plannedNamespaces = new Set<string>();
  readonly #plannedKinds = new Set<string>();
  /** The reason why the server cannot be called any more; `undefined` while it can. */
  #lost: Error | undefined;

  constructor(client: RestClient, options: ImportOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Starts to create an object. Resolves when the next one may be added. Rejects when the server cannot be called any
   * more.
   */
  async add(object: Unstructured): Promise<void> {
    const { apiVersion = "", kind = "" } = object;
    const type = `${apiVersion} ${kind}`;
    if (type !== this.#lastKind) {
      await Promise.all(this.#running);
      await this.#waitEstablished();
      this.#lastKind = type;
    }
    const what = `${kind} ${[object.metadata.namespace, object.metadata.name].filter((part) => part !== undefined).join("/")}`;
    const resource = await this.#resourceOf(type);
    if (resource === undefined && this.#plannedKinds.has(type)) {
      this.#counts.created++;
      return;
    }
    if (resource === undefined) {
      this.failed(what, `the server does not serve ${kind} of ${apiVersion}`);
      return;
    }
    const work = this.#attempt(object, resource, what).finally(() => this.#running.delete(work));
    this.#running.add(work);
    if (this.#running.size >= atOnce) await Promise.race(this.#running);
    this.#check();
  }

  /** Records and prints a failure. */
  failed(what: string, why: string): void {
    this.#counts.failed++;
    const text = `${printable(what)}: ${printable(why)}`;
    process.stderr.write(`failed: ${text}\n`);
    if (this.#failures.length < failuresMax) this.#failures.push(text);
  }

  /** Resolves when every object is written and has its owners. */
  async finish(): Promise<ImportReport> {
    await Promise.all(this.#running);
    this.#check();
    await this.#waitEstablished();
    for (const orphan of this.#orphans) await this.#adopt(orphan);
    return { ...this.#counts, failures: this.#failures };
  }

  /** Throws when the server cannot be called any more. */
  #check(): void {
    if (this.#lost !== undefined) throw this.#lost;
  }

  /** Writes an object and records failures. Never rejects. */
  async #attempt(object: Unstructured, resource: DiscoveredResource, what: string): Promise<void> {
    try {
      await this.#write(object, resource, what);
    } catch (error) {
      if (error instanceof ApiError) this.failed(what, error.said);
      else if (error instanceof NoName) this.failed(what, error.message);
      else this.#lost ??= error instanceof Error ? error : new Error(String(error));
    }
  }

  async #write(object: Unstructured, resource: DiscoveredResource, what: string): Promise<void> {
    const { dryRun, existing, writesStatus } = this.#options;
    const namespace = resource.namespaced ? (object.metadata.namespace ?? this.#options.namespace) : "";
    const carried = portable(object, resource, writesStatus);
    if (carried === undefined) {
      this.#counts.skipped++;
      return;
    }
    const { status, ...rest } = carried;
    const body = await this.#withOwners(withNamespace(rest as Unstructured, namespace), namespace); // metadata is in it
    const collection = collectionPath(resource, namespace);
    const path = `${collection}/${pathPart(object.metadata.name ?? "")}`;
    const query = `fieldManager=${manager}${dryRun ? "&dryRun=All" : ""}`;
    if (existing === "apply") {
      const type = "application/apply-patch+yaml";
      await this.#call("PATCH", `${path}?${query}&force=true`, body.object, type);
      this.#counts.applied++;
    } else if (!(await this.#create(`${collection}?${query}`, body.object, namespace))) {
      if (existing === "fail") return this.failed(what, "is there already");
      if (existing === "skip") {
        this.#counts.skipped++;
        return;
      }
      await this.#replace(path, query, body.object, resource);
    }
    if (dryRun) return;
    if (body.missing.length > 0)
      this.#orphans.push({ path, what, namespace, owners: object.metadata.ownerReferences ?? [] });
    if (resource.kind === "CustomResourceDefinition") this.#definitions.push(path);
    if (writesStatus && status !== undefined) await this.#writeStatus(path, query, status);
  }

  /** Creates an object. Resolves with false if it exists already. */
  async #create(path: string, object: Unstructured, namespace: string): Promise<boolean> {
    try {
      await this.#call("POST", path, object);
    } catch (error) {
      if (error instanceof ApiError && error.reason === "AlreadyExists") return false;
      const isPlanned = error instanceof ApiError && error.code === 404 && this.#plannedNamespaces.has(namespace);
      if (!isPlanned) throw error;
    }
    if (this.#options.dryRun) this.#plan(object);
    this.#counts.created++;
    return true;
  }

  /** Records the namespaces and kinds that an object of a dry run would create. */
  #plan(object: Unstructured): void {
    if (object.kind === "Namespace") this.#plannedNamespaces.add(object.metadata.name ?? "");
    const { spec } = object;
    if (object.kind !== "CustomResourceDefinition" || !isObject(spec) || !isObject(spec["names"])) return;
    for (const version of Array.isArray(spec["versions"]) ? spec["versions"] : []) {
      const name = isObject(version) ? version["name"] : undefined;
      this.#plannedKinds.add(`${String(spec["group"])}/${String(name)} ${String(spec["names"]["kind"])}`);
    }
  }

  async #replace(
    path: string,
    query: string,
    object: Unstructured,
    { resource, group }: DiscoveredResource,
  ): Promise<void> {
    const current = await this.#call<Unstructured>("GET", path);
    const { resourceVersion } = current.metadata;
    const metadata = { ...object.metadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
    const serverFields = givenFields[group === "" ? resource : `${resource}.${group}`];
    const sent = serverFields === undefined ? object : withGiven(object, current, serverFields);
    await this.#call("PUT", `${path}?${query}`, { ...sent, metadata });
    this.#counts.replaced++;
  }

  /**
   * Writes the status of an object. Kinds without this subresource have no status, or it was written with the object.
   */
  async #writeStatus(path: string, query: string, status: unknown): Promise<void> {
    try {
      await this.#call("PATCH", `${path}/status?${query}`, { status }, "application/merge-patch+json");
    } catch (error) {
      if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 405)) throw error;
    }
  }

  /** Returns the object with the uids of its owners on this server, and the owners that do not exist on it. */
  async #withOwners(
    object: Unstructured,
    namespace: string,
  ): Promise<{ readonly object: Unstructured; readonly missing: readonly OwnerReference[] }> {
    const { ownerReferences, ...metadata } = object.metadata;
    if (ownerReferences === undefined) return { object, missing: [] };
    const { existing, missing } = await this.#ownersHere(ownerReferences, namespace);
    const owners = existing.length === 0 ? {} : { ownerReferences: existing };
    return { object: { ...object, metadata: { ...metadata, ...owners } }, missing };
  }

  async #ownersHere(
    references: readonly OwnerReference[],
    namespace: string,
  ): Promise<{ readonly existing: OwnerReference[]; readonly missing: OwnerReference[] }> {
    const owners: OwnerReference[] = [];
    const missing: OwnerReference[] = [];
    for (const reference of references) {
      const uid = await this.#uidOf(reference, namespace);
      if (uid === "") missing.push(reference);
      else owners.push({ ...reference, uid });
    }
    return { existing: owners, missing };
  }

  /** Returns the uid of an owner; empty if it does not exist. */
  async #uidOf({ apiVersion, kind, name }: OwnerReference, namespace: string): Promise<string> {
    const resource = await this.#resourceOf(`${apiVersion} ${kind}`);
    if (resource === undefined) return "";
    const path = `${collectionPath(resource, namespace)}/${pathPart(name)}`;
    const cached = this.#owners.get(path);
    if (cached !== undefined) return cached;
    const owner = await ignoreNotFound(this.#call<Unstructured>("GET", path));
    if (owner === undefined) return "";
    const { uid = "" } = owner.metadata;
    if (this.#owners.size >= ownersKept) this.#owners.clear();
    this.#owners.set(path, uid);
    return uid;
  }

  async #adopt({ path, what, namespace, owners }: Orphan): Promise<void> {
    try {
      const { existing, missing } = await this.#ownersHere(owners, namespace);
      for (const { kind, name } of missing)
        printWarnings([`${what} has no owner ${kind} ${name} here, and is made without it`]);
      const patch = { metadata: { ownerReferences: existing } };
      if (existing.length > 0)
        await this.#call("PATCH", `${path}?fieldManager=${manager}`, patch, "application/merge-patch+json");
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.failed(what, `its owners could not be set: ${error.said}`);
    }
  }

  async #resourceOf(type: string): Promise<DiscoveredResource | undefined> {
    const cached = this.#kinds?.get(type);
    if (cached !== undefined || this.#unknown.has(type)) return cached;
    const { resources } = await discover(this.#client, "all");
    this.#kinds = new Map(resources.map((one) => [`${apiVersionOf(one)} ${one.kind}`, one]));
    const resource = this.#kinds.get(type);
    if (resource === undefined) this.#unknown.add(type);
    return resource;
  }

  /** Waits until the created definitions are established. */
  async #waitEstablished(): Promise<void> {
    const waiting = this.#definitions;
    this.#definitions = [];
    if (waiting.length === 0) return;
    const deadline = systemClock.monotonic() + establishMs;
    for (const path of waiting) {
      while (!isEstablished(await this.#call<Unstructured>("GET", path)) && systemClock.monotonic() < deadline) {
        await pause(pollMs);
      }
    }
    // Discovery may have new kinds now.
    this.#kinds = undefined;
    this.#unknown.clear();
  }

  /** Calls the server, and repeats the call while the server is busy. */
  async #call<T>(method: ClientRequest["method"], path: string, body?: unknown, contentType?: string): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#client.exact<T>({
          method,
          path,
          ...(body === undefined ? {} : jsonBody(body, contentType)),
        });
      } catch (error) {
        const isBusy = error instanceof ApiError && (error.code === 429 || error.code === 503);
        if (!isBusy || tries === busyTries) throw error;
        await pause(busyMs * tries);
      }
    }
  }
}

function withNamespace(object: Unstructured, namespace: string): Unstructured {
  const { namespace: _given, ...metadata } = object.metadata;
  return { ...object, metadata: namespace === "" ? metadata : { ...metadata, namespace } };
}

/** Immutable fields of specs that a server sets if the client does not. */
const givenFields: Readonly<Record<string, readonly string[]>> = {
  services: ["clusterIP", "clusterIPs"],
  "jobs.batch": ["selector", "template"],
};

/** Returns the object with those of the fields that the existing object has, if it names none of them. */
function withGiven(object: Unstructured, current: Unstructured, fields: readonly string[]): Unstructured {
  const { spec } = object;
  const { spec: here } = current;
  const [first = ""] = fields;
  if (!isObject(spec) || !isObject(here) || spec[first] !== undefined) return object;
  return { ...object, spec: { ...spec, ...Object.fromEntries(fields.map((name) => [name, here[name]])) } };
}

function isEstablished({ status }: Unstructured): boolean {
  const conditions = isObject(status) ? status["conditions"] : undefined;
  if (!Array.isArray(conditions)) return false;
  return conditions.some((one: unknown) => isObject(one) && one["type"] === "Established" && one["status"] === "True");
}
