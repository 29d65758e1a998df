/**
 * A thread of large requests: the server's router and handlers over a store that holds the request's object and sends
 * writes to the event loop. It runs one job at a time and keeps only compiled schemas between jobs. The event loop ends
 * it at the time limit, the runtime at the memory limit.
 */
import { isMainThread, parentPort, workerData } from "node:worker_threads";
import type { AdmissionChain } from "#admission/chain.ts";
import type { AdmissionAttributes } from "#admission/plugin.ts";
import type { ApiTables } from "#api/definitions.ts";
import type { CustomResourceDefinition } from "#api/apiextensions/v1.ts";
import type { Encoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { CustomKind, type CustomKindEnvironment } from "#extensions/custom-kind.ts";
import { workerLimits } from "#http/large-requests.ts";
import { createRouter, type RouterOptions } from "#http/router.ts";
import { type ApiDomain, apiDomain } from "#meta/api-domain.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import { objectTooLarge, resourceNotFound } from "#meta/status-error.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { parseObject, StoredObjects } from "#registry/stored-object.ts";
import type { ResourceDefinition, Strategy } from "#registry/resource-definition.ts";
import { Stores } from "#registry/stores.ts";
import { override } from "#registry/override.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import type { CacheReader, CacheWriter, WatchCache } from "#storage/watch-cache.ts";
import { systemRandom } from "#std/random.ts";
import { runToEnd } from "#std/cooperative.ts";
import { planKinds } from "../served-kinds.ts";
import { encodingsOf, handlerParts, metadataSchema } from "../handler-parts.ts";
import { failureOf } from "./failures.ts";
import { type CallHost, RpcClient } from "./rpc-client.ts";
import type {
  FromThread,
  SentAttributes,
  SentReply,
  SentRequest,
  SentValue,
  ThreadStart,
  ToThread,
} from "./messages.ts";
import { bufferOf, WorkerCache } from "./worker-cache.ts";
import { workerRequest } from "./worker-request.ts";

/** The maximum number of custom kinds that stay compiled. */
const kindsMax = 16;

function run(port: NonNullable<typeof parentPort>, start: ThreadStart): void {
  const send = (message: FromThread, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);
  const rpc = new RpcClient(send);
  const callHost = rpc.call;
  const domain = apiDomain(start.apiDomain);
  let nowMs = 0;
  let isConfidential = false;
  const clock: Clock = { ...systemClock, now: () => nowMs };
  const { tables, gates, table } = planKinds(start.kindFlags, domain, clock);
  const builtIn = new ResourceTable(table.definitions.map(withHostAllocation(start.allocating, callHost)), 1);
  const workerCache = new WorkerCache(callHost);
  const cache = asWatchCache(workerCache);
  const objects = new StoredObjects(1);
  const { objectBytesMax } = start;
  const stores = new Stores({ cache, objects, clock, random: systemRandom, objectBytesMax });
  let served = builtIn;
  const encodings = encodingsOf(tables, domain);
  const parts = handlerParts({
    tables,
    gates,
    table: () => served,
    domain,
    clock,
    random: systemRandom,
    cache,
    objects,
    admission: hostAdmission(callHost, objectBytesMax),
    authorizer: { authorize: (attributes) => callHost("authorize", attributes) },
    sizes: workerLimits(objectBytesMax),
    bodyLimitBytes: start.bodyLimitBytes,
    isConfidential: () => isConfidential,
    // Lists and watches run in the event loop only.
    minRequestTimeoutMs: 0,
    observeWatch() {},
  });
  const route = createRouter({ parts, stores, table: () => served, ...noOtherPaths });
  const kinds = new CustomKinds(tables, domain, objectBytesMax, callHost);

  async function handle(sent: SentRequest): Promise<void> {
    nowMs = sent.nowMs;
    isConfidential = sent.isConfidential;
    const request = workerRequest(sent, callHost);
    const { warnings } = request;
    try {
      const { definition } = sent;
      const custom = definition === undefined ? undefined : await kinds.of(definition);
      served =
        custom === undefined ? builtIn : new ResourceTable([...builtIn.definitions, ...custom.definitions], 1, builtIn);
      workerCache.begin(sent.revision, sent.entry);
      const { code, headers, contentType, compressible = false, bytes, object } = await route(request);
      if (!Buffer.isBuffer(bytes)) throw new Error("the reply of a large request has one body");
      const body = ownBytes(bytes);
      const json = sent.isAudited && object !== undefined ? ownBytes(jsonEncoding.object(object)) : undefined;
      const reply: SentReply = { code, headers, contentType, compressible, bytes: body, json };
      send({ type: "reply", reply, warnings }, json === undefined ? [body.buffer] : [body.buffer, json.buffer]);
    } catch (error) {
      send({ type: "failure", failure: failureOf(error), warnings });
    }
  }

  port.on("message", (message: ToThread) => {
    if (message.type !== "job") rpc.take(message);
    else if (message.job.type === "request") void handle(message.job);
    else {
      const reply = encodedValue(encodings, message.job);
      send({ type: "reply", reply, warnings: [] }, [reply.bytes.buffer]);
    }
  });
}

function encodedValue(
  encodings: readonly Encoding[],
  { json, mediaType }: SentValue,
): SentReply & { readonly bytes: Uint8Array<ArrayBuffer> } {
  const encoding = encodings.find((one) => one.mediaType === mediaType)!; // the event loop has the same
  const bytes = ownBytes(encoding.item!(parseObject(bufferOf(json).toString()))); // it asked for this
  return { code: 200, headers: undefined, contentType: mediaType, compressible: true, bytes };
}

const noOtherPaths: Pick<RouterOptions, "other" | "unknown"> = {
  other: () => undefined,
  unknown() {
    throw resourceNotFound();
  },
};

/** Returns definitions whose allocations the event loop makes. `named` has entries `group/resource`. */
const withHostAllocation =
  (named: readonly string[], callHost: CallHost) =>
  (definition: ResourceDefinition): ResourceDefinition => {
    const { group, resource, strategy } = definition;
    if (!named.includes(`${group}/${resource}`)) return definition;
    const allocate: Strategy["allocate"] = async (object, old, { subresource, dryRun }) => {
      const allocation = await callHost("allocate", {
        object: jsonOf(object),
        old: old && jsonOf(old),
        subresource,
        dryRun,
      });
      return { object: parseObject(bufferOf(allocation).toString()), release() {} };
    };
    return override(definition, { strategy: { ...strategy, allocate } });
  };

// Safe: requests of threads read and write single objects, and use nothing else of a cache.
const asWatchCache = (cache: CacheReader & CacheWriter): WatchCache => cache as WatchCache;

/** Returns an admission chain that calls the plugins of the event loop. */
const hostAdmission = (callHost: CallHost, objectBytesMax: number): AdmissionChain => ({
  names: [],
  handles: () => true,
  async admit(attributes) {
    const { object } = attributes;
    if (object !== undefined && isLarger(object, objectBytesMax)) throw objectTooLarge(objectBytesMax);
    const changed = await callHost("admit", sentAttributes(attributes));
    return changed === undefined ? undefined : parseObject(bufferOf(changed).toString());
  },
  validate: (attributes) => callHost("validate", sentAttributes(attributes)),
});

/** Compiled custom kinds; the most recently used ones are kept. */
class CustomKinds {
  readonly #kinds = new Map<string, CustomKind>();
  readonly #environment: CustomKindEnvironment;
  readonly #callHost: CallHost;

  constructor(tables: ApiTables, domain: ApiDomain, objectBytesMax: number, callHost: CallHost) {
    this.#environment = {
      domain,
      objectBytesMax,
      metadata: metadataSchema(tables, domain),
      async convert(_webhook, objects, apiVersion) {
        const answer = await callHost("convert", { objects: Buffer.from(JSON.stringify(objects)), apiVersion });
        return parseObject(bufferOf(answer).toString()) as unknown as readonly Unstructured[]; // as they were encoded
      },
    };
    this.#callHost = callHost;
  }

  async of({ name, revision }: NonNullable<SentRequest["definition"]>): Promise<CustomKind> {
    const id = `${name} ${revision}`;
    const cached = this.#kinds.get(id);
    const kind = cached ?? (await this.#compile());
    if (cached !== undefined) this.#kinds.delete(id);
    else if (this.#kinds.size >= kindsMax) this.#kinds.delete(this.#kinds.keys().next().value!); // there are some
    this.#kinds.set(id, kind);
    return kind;
  }

  async #compile(): Promise<CustomKind> {
    const text = bufferOf(await this.#callHost("definition", undefined)).toString();
    const definition = parseObject(text) as unknown as CustomResourceDefinition; // its schema decoded it once
    return runToEnd(CustomKind.inPieces(definition, () => definition, this.#environment));
  }
}

const jsonOf = (object: ApiObject): Uint8Array => Buffer.from(JSON.stringify(object));

/** Whether an object is too large even without `managedFields`, which the store may leave out. */
function isLarger(object: ApiObject, bytesMax: number): boolean {
  if (jsonOf(object).length <= bytesMax) return false;
  const { managedFields, ...metadata } = object.metadata;
  return managedFields === undefined || jsonOf({ ...object, metadata }).length > bytesMax;
}

function sentAttributes(attributes: AdmissionAttributes): SentAttributes {
  const { operation, resource, kind, namespace, name, pathName, subresource, dryRun, options } = attributes;
  return {
    operation,
    resource: { group: resource.group, version: resource.version, resource: resource.resource },
    kind: { group: kind.group, version: kind.version, kind: kind.kind },
    namespace,
    name,
    pathName,
    subresource,
    dryRun,
    options,
    object: attributes.object && jsonOf(attributes.object),
    oldObject: attributes.oldObject && jsonOf(attributes.oldObject),
  };
}

/** Returns the bytes in a buffer of their own, which can be transferred. */
const ownBytes = (bytes: Buffer): Uint8Array<ArrayBuffer> => new Uint8Array(bytes);

if (!isMainThread && parentPort !== null) run(parentPort, workerData as ThreadStart); // as the pool starts it
