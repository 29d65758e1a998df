/**
 * A server in memory, behind a transport that can fail: collections with their history, selectors, watches, optimistic
 * updates, finalizers, and server-side apply by a simple model. For tests of what follows and writes objects.
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "#std/is-object.ts";
import type { ManagedFieldsEntry, Unstructured } from "#meta/object-meta.ts";
import { keyOf } from "./informer.ts";
import { eventOfLine, type ReceivedEvent } from "./received-event.ts";
import type { ClientRequest, ClientResponse, LeaseVersion, Transport } from "./transport.ts";

interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  /** The path of the collection, without a namespace: `/api/v1/configmaps`. */
  readonly collection: string;
  readonly object: Unstructured;
}

interface Watch {
  send(change: Change): void;
  end(error?: Error): void;
}

/** The parts of a path. */
interface Target {
  readonly collection: string;
  readonly apiVersion: string;
  readonly namespace: string | undefined;
  readonly name: string;
  /** The key of the object. */
  readonly key: string;
  readonly subresource: string;
  readonly query: URLSearchParams;
}

/** The moment at which a request is lost: its answer never comes. */
type Loss = "before" | "after" | undefined;

/** The maximum number of objects of a page. */
const pageLength = 3;

const answer = (code: number, body: object): ClientResponse => ({ code, body: Buffer.from(JSON.stringify(body)) });

export const failure = (code: number, reason: string, name = ""): ClientResponse =>
  answer(code, {
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    code,
    reason,
    message: reason,
    details: { name },
  });

export class FakeApi implements Transport {
  readonly changes: Change[] = [];
  readonly #watches = new Set<Watch>();
  revision = 1;
  /** Versions before this one are gone. */
  compacted = 0;
  /** The number of the next lists and watches that fail. */
  failing = 0;
  streamsLists = true;
  /** The writes that had an effect, as `PATCH pods a`. */
  readonly writes: string[] = [];
  /** Says whether a request is lost. */
  lose: (request: ClientRequest) => Loss = () => undefined;

  /** Returns the present objects of a collection by key. */
  objects(collection: string): Map<string, Unstructured> {
    return this.#at(collection, this.revision);
  }

  #at(collection: string, revision: number): Map<string, Unstructured> {
    const objects = new Map<string, Unstructured>();
    for (const change of this.changes) {
      if (change.revision > revision) break;
      if (change.collection !== collection) continue;
      const key = keyOf(change.object);
      if (change.type === "DELETED") objects.delete(key);
      else objects.set(key, change.object);
    }
    return objects;
  }

  /** Writes an object, whatever there is; `undefined` deletes it. Returns it as it is stored. */
  store(collection: string, key: string, object: Unstructured | undefined): Unstructured | undefined {
    const present = this.objects(collection).get(key);
    if (present === undefined && object === undefined) return undefined;
    const revision = ++this.revision;
    const next = object ?? present!;
    const uid = object?.metadata.uid ?? present?.metadata.uid ?? `uid-${revision}`;
    const stored = { ...next, metadata: { ...next.metadata, uid, resourceVersion: String(revision) } };
    const type = object === undefined ? "DELETED" : present === undefined ? "ADDED" : "MODIFIED";
    const change: Change = { revision, type, collection, object: stored };
    this.changes.push(change);
    for (const watch of this.#watches) watch.send(change);
    return stored;
  }

  /** Ends all watches: in good order, or as a lost connection. */
  cut(error?: Error): void {
    for (const watch of this.#watches) watch.end(error);
    this.#watches.clear();
  }

  #fails(): boolean {
    if (this.failing === 0) return false;
    this.failing--;
    return true;
  }

  async request(request: ClientRequest): Promise<ClientResponse> {
    request.signal?.throwIfAborted();
    const loss = this.lose(request);
    if (loss === "before") throw new Error("connection reset");
    if (request.lease !== undefined && !this.#isHeld(await request.lease()))
      throw new Error("the writer no longer leads");
    const response = this.#answer(request);
    if (loss === "after") throw new Error("connection reset");
    return response;
  }

  /** Whether a Lease has this version. */
  #isHeld(lease: LeaseVersion | undefined): boolean {
    const last = this.changes.findLast(
      ({ collection, object }) =>
        collection.endsWith("/leases") && keyOf(object) === `${lease?.namespace}/${lease?.name}`,
    );
    return (
      last !== undefined && last.type !== "DELETED" && last.object.metadata.resourceVersion === lease?.resourceVersion
    );
  }

  #answer(request: ClientRequest): ClientResponse {
    const { method, path, body } = request;
    if (path === "/apis") return answer(200, { groups: [] });
    const target = targetOf(path);
    if (method === "GET") return target.name === "" ? this.#list(target) : this.#get(target);
    const before = this.revision;
    const sent = body === undefined ? {} : (JSON.parse(body.toString()) as object);
    const response = this.#write(request, target, sent as Unstructured);
    if (this.revision > before)
      this.writes.push(`${method} ${target.collection.split("/").at(-1)} ${target.name}`.trim());
    return response;
  }

  #list(target: Target): ClientResponse {
    if (this.#fails()) throw new Error("connection reset");
    const { collection, query } = target;
    const [at, from] = (query.get("continue") ?? `${this.revision}/0`).split("/").map(Number) as [number, number];
    if (at < this.compacted) return failure(410, "Expired");
    const items = [...this.#at(collection, at).values()].filter(selection(target));
    const end = from + (query.has("limit") ? pageLength : items.length);
    const metadata = { resourceVersion: String(at), ...(end < items.length ? { continue: `${at}/${end}` } : {}) };
    return answer(200, { metadata, items: items.slice(from, end) });
  }

  #get(target: Target): ClientResponse {
    const object = this.objects(target.collection).get(target.key);
    return object === undefined ? failure(404, "NotFound", target.name) : answer(200, object);
  }

  #write({ method, contentType }: ClientRequest, target: Target, sent: Unstructured): ClientResponse {
    const { collection, key, namespace, subresource } = target;
    if (method === "POST") return this.#create(target, sent);
    const present = this.objects(collection).get(key);
    const isApply = contentType === "application/apply-patch+yaml";
    if (present === undefined) {
      if (!isApply || subresource !== "" || sent.metadata.uid !== undefined)
        return failure(404, "NotFound", target.name);
      const created = { ...sent, metadata: { ...sent.metadata, ...(namespace === undefined ? {} : { namespace }) } };
      return answer(201, this.store(collection, key, applied(undefined, created, target))!);
    }
    const { preconditions } = sent as { readonly preconditions?: Unstructured["metadata"] };
    const based = method === "DELETE" ? preconditions : sent.metadata;
    const { uid = present.metadata.uid, resourceVersion = present.metadata.resourceVersion } = based ?? {};
    if (uid !== present.metadata.uid || resourceVersion !== present.metadata.resourceVersion)
      return failure(409, "Conflict", target.name);
    if (method === "DELETE") return this.#delete(collection, key, present);
    const next = isApply ? applied(present, sent, target) : method === "PUT" ? sent : merged(present, sent);
    return this.#update(collection, key, present, next as Unstructured);
  }

  #create({ collection, namespace, apiVersion }: Target, sent: Unstructured): ClientResponse {
    const { generateName = "", name = `${generateName}${this.revision}` } = sent.metadata;
    const object = {
      apiVersion,
      ...sent,
      metadata: { ...sent.metadata, name, ...(namespace === undefined ? {} : { namespace }) },
    };
    const key = keyOf(object);
    if (this.objects(collection).has(key)) return failure(409, "AlreadyExists", object.metadata.name);
    return answer(201, this.store(collection, key, object)!);
  }

  #update(collection: string, key: string, present: Unstructured, next: Unstructured): ClientResponse {
    const { deletionTimestamp, finalizers = [] } = present.metadata;
    const left = next.metadata.finalizers ?? [];
    if (deletionTimestamp !== undefined && left.some((name) => !finalizers.includes(name)))
      return failure(422, "Invalid", next.metadata.name);
    if (isDeepStrictEqual(present, next)) return answer(200, present);
    const generation =
      Number(present.metadata.generation ?? 1) + (isDeepStrictEqual(present["spec"], next["spec"]) ? 0 : 1);
    const stored = this.store(collection, key, { ...next, metadata: { ...next.metadata, generation } })!;
    if (deletionTimestamp !== undefined && left.length === 0) this.store(collection, key, undefined);
    return answer(200, stored);
  }

  #delete(collection: string, key: string, present: Unstructured): ClientResponse {
    const { finalizers = [], deletionTimestamp = "2026-01-01T00:00:00Z" } = present.metadata;
    const next =
      finalizers.length === 0 ? undefined : { ...present, metadata: { ...present.metadata, deletionTimestamp } };
    if (next !== undefined && present.metadata.deletionTimestamp !== undefined) return answer(200, present);
    return answer(200, this.store(collection, key, next)!);
  }

  async stream({ path, signal }: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<ClientResponse> {
    if (this.#fails()) throw new Error("connection refused");
    const target = targetOf(path);
    const { collection, query } = target;
    const isSelected = selection(target);
    const send = (type: string, object: unknown): void =>
      onEvent(eventOfLine(Buffer.from(JSON.stringify({ type, object }))));
    let since = Number(query.get("resourceVersion") ?? 0);
    if (query.has("sendInitialEvents")) {
      if (!this.streamsLists) return failure(422, "Invalid");
      const objects = [...this.objects(collection).values()].filter(isSelected);
      // The connection may be lost in the middle.
      const count = this.#fails() ? Math.floor(objects.length / 2) : objects.length;
      for (const object of objects.slice(0, count)) send("ADDED", object);
      if (count < objects.length) return answer(200, {});
      const annotations = { "k8s.io/initial-events-end": "true" };
      send("BOOKMARK", { metadata: { resourceVersion: String(this.revision), annotations } });
      since = this.revision;
    } else if (since < this.compacted) {
      send("ERROR", { kind: "Status", metadata: {}, code: 410, reason: "Expired" });
      return answer(200, {});
    }
    const matters = (change: Change): boolean => change.collection === collection && isSelected(change.object);
    for (const change of this.changes) if (change.revision > since && matters(change)) send(change.type, change.object);
    return new Promise((resolve, reject) => {
      const watch: Watch = {
        send: (change) => (matters(change) ? send(change.type, change.object) : undefined),
        end: (error) => (error === undefined ? resolve(answer(200, {})) : reject(error)),
      };
      this.#watches.add(watch);
      const ended = (): void => {
        this.#watches.delete(watch);
        watch.end();
      };
      if (signal?.aborted === true) ended();
      signal?.addEventListener("abort", ended);
    });
  }
}

/** Returns whether an object belongs to what is listed or watched. Selectors are equalities. */
function selection({ namespace, query }: Target): (object: Unstructured) => boolean {
  const equalities = (name: string): readonly (readonly string[])[] =>
    (query.get(name) ?? "").split(",").flatMap((text) => (text === "" ? [] : [text.split("=")]));
  const labels = equalities("labelSelector");
  const fields = equalities("fieldSelector");
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels.every(([label = "", value]) => object.metadata.labels?.[label] === value) &&
    fields.every(([path = "", value]) => fieldOf(object, path) === value);
}

const fieldOf = (object: unknown, path: string): unknown =>
  path.split(".").reduce((value, field) => (isObject(value) ? value[field] : undefined), object);

export function targetOf(path: string): Target {
  const url = new URL(path, "http://x");
  const [, root = "", inner = ""] = /^(\/api\/[^/]+|\/apis\/[^/]+\/[^/]+)\/(.*)$/.exec(url.pathname)!;
  const parts = inner.split("/").map(decodeURIComponent);
  const hasNamespace = parts[0] === "namespaces" && parts.length > 2;
  const [resource, name = "", subresource = ""] = hasNamespace ? parts.slice(2) : parts;
  const namespace = hasNamespace ? parts[1] : undefined;
  return {
    collection: `${root}/${resource}`,
    apiVersion: root.replace(/^\/apis?\//, ""),
    namespace,
    name,
    key: namespace === undefined ? name : `${namespace}/${name}`,
    subresource,
    query: url.searchParams,
  };
}

/** Returns a merge patch's result. */
function merged(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [name, part] of Object.entries(patch)) {
    if (part === null) delete result[name];
    else result[name] = merged(result[name], part);
  }
  return result;
}

/** The lists whose items are merged, with their key. */
const listKeys: Readonly<Record<string, string>> = { conditions: "type", ownerReferences: "uid" };

/** Returns the result of an apply that takes all fields. */
function applied(present: Unstructured | undefined, sent: Unstructured, { query, subresource }: Target): Unstructured {
  const manager = query.get("fieldManager") ?? "";
  const { apiVersion, kind, metadata, ...rest } = sent;
  const { name, namespace, uid: _uid, resourceVersion: _version, ...fields } = metadata;
  const isEmpty = Object.keys(fields).length === 0;
  const owned = { ...(isEmpty ? {} : { metadata: fields }), ...rest };
  const entries = present?.metadata.managedFields ?? [];
  const isOwn = (entry: ManagedFieldsEntry): boolean =>
    entry.manager === manager && (entry.subresource ?? "") === subresource;
  const before = entries.find(isOwn)?.fieldsV1;
  const base = present ?? { apiVersion, kind, metadata: { name, namespace, generation: 1 } };
  const cleared = before === undefined ? base : without(base, before);
  const next = joined(cleared, owned, "") as Unstructured;
  const entry: ManagedFieldsEntry = {
    manager,
    operation: "Apply",
    ...(apiVersion === undefined ? {} : { apiVersion }),
    fieldsV1: fieldsOf(owned, "") as Record<string, unknown>,
    ...(subresource === "" ? {} : { subresource }),
  };
  const managedFields = [...entries.filter((one) => !isOwn(one)), entry];
  const unchanged = isDeepStrictEqual(
    { ...next, metadata: { ...next.metadata, managedFields: [] } },
    {
      ...base,
      metadata: { ...base.metadata, managedFields: [] },
    },
  );
  if (present !== undefined && unchanged && isDeepStrictEqual(before, entry.fieldsV1)) return present;
  return { ...next, metadata: { ...next.metadata, managedFields } };
}

function fieldsOf(value: unknown, name: string): object {
  const key = listKeys[name];
  if (Array.isArray(value) && key !== undefined)
    return Object.fromEntries(
      value.map((item: Record<string, unknown>) => [
        `k:${JSON.stringify({ [key]: item[key] })}`,
        { ".": {}, ...fieldsOf(item, "") },
      ]),
    );
  if (!isObject(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [`f:${field}`, fieldsOf(part, field)]));
}

/** Returns a value without owned fields. */
function without(value: unknown, fields: object): unknown {
  const entries = Object.entries(fields) as [string, object][];
  if (entries.length === 0) return undefined;
  if (Array.isArray(value))
    return value.filter(
      (item: Record<string, unknown>) =>
        !entries.some(([name]) => {
          const keys = Object.entries(JSON.parse(name.slice(2)) as Record<string, unknown>);
          return keys.every(([key, part]) => item[key] === part);
        }),
    );
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = { ...value };
  for (const [name, parts] of entries) {
    const left = without(result[name.slice(2)], parts);
    if (left === undefined) delete result[name.slice(2)];
    else result[name.slice(2)] = left;
  }
  return result;
}

/** Returns a value with what is applied. */
function joined(value: unknown, sent: unknown, name: string): unknown {
  const key = listKeys[name];
  if (Array.isArray(sent) && Array.isArray(value) && key !== undefined) {
    const others = value.filter((item: Record<string, unknown>) =>
      sent.every((one: Record<string, unknown>) => one[key] !== item[key]),
    );
    return [...others, ...sent];
  }
  if (!isObject(sent)) return sent;
  const result: Record<string, unknown> = isObject(value) ? { ...value } : {};
  for (const [field, part] of Object.entries(sent)) result[field] = joined(result[field], part, field);
  return result;
}
