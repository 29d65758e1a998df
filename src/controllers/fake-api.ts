/**
 * A small API server for controller tests: stores objects by path, checks versions and preconditions, serves watches,
 * and fails on demand.
 */
import { eventOfLine, type ReceivedEvent } from "#client/received-event.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { FakeClock } from "#std/fake-clock.ts";
import type { ControllerEnvironment } from "./controller.ts";

interface Watcher {
  readonly matches: (path: string) => boolean;
  tell(type: string, object: Unstructured): void;
}

export class FakeApi {
  /** All requests so far, watches included: `GET /api/v1/secrets`, without query. */
  readonly requests: string[] = [];
  readonly logged: string[] = [];
  readonly #objects = new Map<string, Unstructured>();
  readonly #watchers = new Set<Watcher>();
  readonly #stop = new AbortController();
  readonly #clock: FakeClock;
  #version = 1;
  /** Is given each request in the form of `requests`; a code other than 0 is the answer. */
  fails: (request: string) => number = () => 0;

  constructor(clock: FakeClock) {
    this.#clock = clock;
  }

  readonly transport: Transport = {
    request: (request) => Promise.resolve(this.#answer(request)),
    stream: (request, onEvent) => this.#watch(request, onEvent),
  };

  get environment(): ControllerEnvironment {
    const client = new RestClient(this.transport);
    const log = (_fields: object, message: string): void => void this.logged.push(message);
    const { signal } = this.#stop;
    return {
      client,
      reader: client,
      clock: this.#clock,
      domain: kubernetesDomain,
      signal,
      log: { info: log, warn: log },
    };
  }

  /** Creates or replaces an object, as another client would. `path` ends with its name. */
  put(path: string, object: object = {}): Unstructured {
    const existed = this.#objects.has(path);
    const [namespace, name] = [/\/namespaces\/([^/]+)\/[^/]+\/[^/]+$/.exec(path)?.[1], path.split("/").at(-1)!];
    const { metadata } = object as Partial<Unstructured>;
    const objectKey = namespace === undefined ? { name } : { namespace, name };
    const stored = {
      ...object,
      metadata: { uid: `uid of ${name}`, ...metadata, ...objectKey, resourceVersion: `${++this.#version}` },
    };
    this.#objects.set(path, stored);
    this.#tell(path, existed ? "MODIFIED" : "ADDED", stored);
    return stored;
  }

  remove(path: string): void {
    const object = this.#objects.get(path);
    if (object === undefined) return;
    this.#objects.delete(path);
    this.#tell(path, "DELETED", object);
  }

  get(path: string): Unstructured | undefined {
    return this.#objects.get(path);
  }

  /** Resolves when everything has happened that waits for no clock. */
  async settled(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  async advance(ms: number): Promise<void> {
    await this.settled();
    this.#clock.advance(ms);
    await this.settled();
  }

  stop(): void {
    this.#stop.abort();
  }

  #tell(path: string, type: string, object: Unstructured): void {
    for (const watcher of this.#watchers) if (watcher.matches(path)) watcher.tell(type, object);
  }

  #answer({ method, path: whole, body }: ClientRequest): ClientResponse {
    const [path = "", query = ""] = whole.split("?");
    const asked = `${method} ${path}`;
    this.requests.push(asked);
    const code = this.fails(asked);
    if (code !== 0) return failure(code);
    const sent = body === undefined ? {} : (JSON.parse(body.toString()) as Partial<Unstructured>); // by controllers
    const objectPath = path.replace(/\/(?:approval|finalize|status)$/, "");
    const object = this.#objects.get(objectPath);
    if (method === "POST") {
      const { name = `${sent.metadata?.generateName ?? ""}${this.#version}` } = sent.metadata ?? {};
      const newPath = `${path}/${name}`;
      return this.#objects.has(newPath) ? failure(409) : success(this.put(newPath, sent), 201);
    }
    if (method === "GET" && object === undefined && isCollection(path)) {
      const matches = selection(path, query);
      const items = [...this.#objects].flatMap(([objectPath, item]) => (matches(objectPath, item) ? [item] : []));
      return success({ metadata: { resourceVersion: `${this.#version}` }, items });
    }
    if (object === undefined) return failure(404);
    if (method === "GET") return success(object);
    const { uid, resourceVersion } =
      method === "DELETE"
        ? ((sent as { preconditions?: Unstructured["metadata"] }).preconditions ?? {})
        : sent.metadata!;
    if ((uid ?? object.metadata.uid) !== object.metadata.uid) return failure(409);
    if ((resourceVersion ?? object.metadata.resourceVersion) !== object.metadata.resourceVersion) return failure(409);
    if (method === "DELETE") this.remove(objectPath);
    else this.put(objectPath, method === "PUT" ? sent : mergePatch(object, sent));
    return success(this.#objects.get(objectPath) ?? {});
  }

  async #watch(
    { path: whole, signal }: ClientRequest,
    onEvent: (event: ReceivedEvent) => void,
  ): Promise<ClientResponse> {
    const [path = "", query = ""] = whole.split("?");
    this.requests.push(`WATCH ${path}`);
    const code = this.fails(`WATCH ${path}`);
    if (code !== 0) return failure(code);
    const matches = selection(path, query);
    const watcher: Watcher = {
      matches: (objectPath) => matches(objectPath, this.#objects.get(objectPath)),
      tell: (type, object) => onEvent(eventOfLine(Buffer.from(JSON.stringify({ type, object })))),
    };
    this.#watchers.add(watcher);
    await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve(), { once: true }));
    this.#watchers.delete(watcher);
    return success({});
  }
}

const isCollection = (path: string): boolean => {
  const parts = path.replace(/^\/apis?\/(?:[^/]+\/)?v\d[^/]*\//, "").split("/");
  return parts.length === 1 || (parts[0] === "namespaces" && parts.length === 3);
};

/**
 * Returns a function that tells whether an object is in a collection; a collection of all namespaces has the objects of
 * each. It knows selectors of the fields `type` and `metadata.name`, and of labels with their values.
 */
function selection(path: string, query: string): (objectPath: string, object: Unstructured | undefined) => boolean {
  const parameters = new URLSearchParams(query);
  const [field = "", value] = (parameters.get("fieldSelector") ?? "").split("=");
  const labels = (parameters.get("labelSelector") ?? "")
    .split(",")
    .flatMap((pair) => (pair === "" ? [] : [pair.split("=")]));
  const [, root = "", resource = ""] = /^(.*)\/([^/]+)$/.exec(path) ?? [];
  const pattern = new RegExp(
    `^${root.includes("/namespaces/") ? root : `${root}(?:/namespaces/[^/]+)?`}/${resource}/([^/]+)$`,
  );
  return (objectPath, object) => {
    const name = pattern.exec(objectPath)?.[1];
    if (name === undefined) return false;
    if (!labels.every(([key = "", wanted]) => object?.metadata.labels?.[key] === wanted)) return false;
    return (
      field === "" || (field === "metadata.name" ? name === value : object === undefined || object[field] === value)
    );
  };
}

function mergePatch(object: Unstructured, patch: object): Unstructured {
  const result: Record<string, unknown> = { ...object };
  for (const [key, value] of Object.entries(patch)) {
    const old = result[key];
    const isDeep = typeof value === "object" && typeof old === "object" && !Array.isArray(value);
    result[key] = isDeep ? mergePatch(old as Unstructured, value as object) : value; // objects, as was just seen
  }
  return result as Unstructured; // of one object, as before
}

const success = (body: object, code = 200): ClientResponse => ({ code, body: Buffer.from(JSON.stringify(body)) });

const failure = (code: number): ClientResponse => success({ kind: "Status", status: "Failure", code }, code);
