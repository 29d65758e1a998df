/**
 * Discovery and OpenAPI documents of aggregated API servers. They are fetched when an API appears or becomes available,
 * and once a minute; the last documents of an unavailable server are kept and marked as stale.
 */
import { isDeepStrictEqual } from "node:util";
import { decodeInPieces, decodePlain } from "#codec/json-pieces.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { AggregatedApi, AggregatedApis } from "#extensions/aggregated-apis.ts";
import { type RemoteResource, resourcesOfAggregated, resourcesOfList } from "#extensions/remote-discovery.ts";
import { identityHeaders } from "#http/forward-request.ts";
import { groupMasters } from "#meta/user-info.ts";
import type { AggregatedVersion } from "#publication/discovery.ts";
import type { Clock } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import type { Log } from "#std/log.ts";
import { runCooperatively } from "#std/cooperative.ts";
import { ask, type Backends, type WholeAnswer } from "./backends.ts";

interface DocumentsOptions {
  readonly apis: AggregatedApis;
  readonly backends: Backends;
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when the versions have changed. */
  published(): void;
}

/** The documents of one API. */
interface ApiDocuments {
  resources: readonly RemoteResource[] | undefined;
  /** The bytes of the resources as JSON. */
  resourceBytes: number;
  isCurrent: boolean;
  /** URLs of OpenAPI version 3, by path below `/openapi/v3`. */
  openApiV3: ReadonlyMap<string, string>;
  openApiV2: Buffer | undefined;
  openApiV2Tag: string;
  fetching: Promise<void> | undefined;
  isWantedAgain: boolean;
}

const periodMs = 60_000;
/** The delay in milliseconds after a change of an API, so that several changes cause one fetch. */
const soonMs = 100;
const timeoutMs = 5_000;
/** The maximum bytes of a document of resources, which is decoded, and of an OpenAPI document, which is kept as it is. */
const discoveryBytesMax = 4 * 1024 * 1024;
const openApiBytesMax = 16 * 1024 * 1024;
/** The maximum length of the URL of a document. */
const urlLengthMax = 1024;
/** The maximum bytes of all documents that are kept. Those beyond it are left out. */
export const keptBytesMax = 64 * 1024 * 1024;
/** The number of APIs whose documents are read at the same time. */
const readsMax = 8;
const discoverer = { name: "system:kube-aggregator", groups: [groupMasters] };
const aggregator = { name: "system:aggregator", groups: [] };

export class AggregatedDocuments {
  readonly #options: DocumentsOptions;
  readonly #documents = new Map<string, ApiDocuments>();
  readonly #stop = new AbortController();
  #versions: readonly AggregatedVersion[] = [];
  #cancelPeriod: () => void;
  readonly #soon = new Map<string, () => void>();
  #reading = 0;
  /** Begins the reads that wait for their turn. */
  readonly #waiting: (() => void)[] = [];

  constructor(options: DocumentsOptions) {
    this.#options = options;
    this.#cancelPeriod = options.clock.after(periodMs, () => this.#periodically());
  }

  /** A new array after every change. */
  get versions(): readonly AggregatedVersion[] {
    return this.#versions;
  }

  /** Handles a new, changed or removed API. */
  changed(name: string): void {
    if (this.#options.apis.findByName(name) === undefined) this.#documents.delete(name);
    this.#publish();
    this.#soon.get(name)?.();
    if (this.#options.apis.findByName(name) === undefined || this.#stop.signal.aborted) return;
    this.#soon.set(
      name,
      this.#options.clock.after(soonMs, () => {
        this.#soon.delete(name);
        this.#fetch(name);
      }),
    );
  }

  close(): void {
    this.#stop.abort();
    this.#cancelPeriod();
    for (const cancel of this.#soon.values()) cancel();
  }

  #periodically(): void {
    for (const { name } of this.#options.apis.all()) this.#fetch(name);
    this.#cancelPeriod = this.#options.clock.after(periodMs, () => this.#periodically());
  }

  #fetch(name: string): void {
    const documents = this.#documents.get(name) ?? {
      resources: undefined,
      resourceBytes: 0,
      isCurrent: false,
      openApiV3: new Map(),
      openApiV2: undefined,
      openApiV2Tag: "",
      fetching: undefined,
      isWantedAgain: false,
    };
    this.#documents.set(name, documents);
    if (documents.fetching !== undefined) {
      documents.isWantedAgain = true;
      return;
    }
    documents.fetching = this.#inTurn(() => this.#read(name, documents)).finally(() => {
      documents.fetching = undefined;
      if (this.#stop.signal.aborted || this.#documents.get(name) !== documents) return;
      this.#publish();
      if (!documents.isWantedAgain) return;
      documents.isWantedAgain = false;
      this.#fetch(name);
    });
  }

  /** Reads the documents of a few APIs at a time. */
  async #inTurn(read: () => Promise<void>): Promise<void> {
    if (this.#reading < readsMax) this.#reading++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await read();
    const next = this.#waiting.shift();
    if (next === undefined) this.#reading--;
    else next();
  }

  /** Never rejects. */
  async #read(name: string, documents: ApiDocuments): Promise<void> {
    const api = this.#options.apis.findByName(name);
    if (api === undefined || this.#stop.signal.aborted) return;
    try {
      const resources = await this.#resources(api);
      const bytes = Buffer.byteLength(JSON.stringify(resources));
      this.#checkRoom(bytes - documents.resourceBytes);
      documents.resources = resources;
      documents.resourceBytes = bytes;
      documents.isCurrent = true;
    } catch (error) {
      documents.isCurrent = false;
      this.#options.log.debug({ name, error: String(error) }, "the resources of an aggregated API were not read");
      return;
    }
    try {
      documents.openApiV3 = await this.#openApiV3(api);
      await this.#openApiV2(api, documents);
    } catch (error) {
      this.#options.log.debug({ name, error: String(error) }, "OpenAPI of an aggregated API was not read");
    }
  }

  async #resources(api: AggregatedApi): Promise<readonly RemoteResource[]> {
    const { group, version } = api;
    const form = `;as=APIGroupDiscoveryList`;
    const own = this.#options.domain.rename("apidiscovery.k8s.io");
    const names = [...new Set([own, "apidiscovery.k8s.io"])];
    const accept = names.flatMap((name) => ["v2", "v2beta1"].map((v) => `application/json;g=${name};v=${v}${form}`));
    const aggregated = await this.#ask(api, "/apis", discoverer, ["Accept", accept.join(",")], discoveryBytesMax);
    const resources =
      aggregated.code === 200 ? resourcesOfAggregated(await jsonOf(aggregated), group, version) : undefined;
    if (resources !== undefined) return resources;
    const path = `/apis/${group}/${version}`;
    const list = await this.#ask(api, path, discoverer, ["Accept", "application/json"], discoveryBytesMax);
    if (list.code !== 200) throw new Error(`bad status ${list.code}`);
    return resourcesOfList(await jsonOf(list));
  }

  /** Returns only the paths of the API's own group and version: a server must not answer for other groups. */
  async #openApiV3(api: AggregatedApi): Promise<ReadonlyMap<string, string>> {
    const answer = await this.#ask(api, "/openapi/v3", aggregator, ["Accept", "application/json"], discoveryBytesMax);
    const paths = answer.code === 200 ? (await jsonOf(answer))["paths"] : undefined;
    const own = [`apis/${api.group}`, `apis/${api.group}/${api.version}`];
    return new Map(
      own.flatMap((path) => {
        const entry = isObject(paths) ? paths[path] : undefined;
        const url = isObject(entry) ? entry["serverRelativeURL"] : undefined;
        const isUrl = typeof url === "string" && url.length <= urlLengthMax && url.startsWith(`/openapi/v3/${path}`);
        return isUrl ? [[path, url] as const] : [];
      }),
    );
  }

  async #openApiV2(api: AggregatedApi, documents: ApiDocuments): Promise<void> {
    const tag = documents.openApiV2Tag === "" ? [] : ["If-None-Match", documents.openApiV2Tag];
    const accept = ["Accept", "application/json", ...tag];
    const answer = await this.#ask(api, "/openapi/v2", aggregator, accept, openApiBytesMax);
    if (answer.code === 304) return;
    documents.openApiV2 = undefined;
    documents.openApiV2Tag = "";
    if (answer.code !== 200) return;
    documents.openApiV2 = this.#shared(answer.body);
    documents.openApiV2Tag = answer.headers["etag"]?.[0] ?? "";
  }

  /** Returns the document, or the same one of another API: each API of a server has the document of the whole server. */
  #shared(document: Buffer): Buffer {
    for (const { openApiV2 } of this.#documents.values()) if (openApiV2?.equals(document) === true) return openApiV2;
    this.#checkRoom(document.length);
    return document;
  }

  /** Throws when there is no room for further bytes. */
  #checkRoom(bytes: number): void {
    const all = [...this.#documents.values()];
    const openApi = new Set(all.flatMap(({ openApiV2 }) => openApiV2 ?? []));
    const kept = [...openApi].reduce((sum, { length }) => sum + length, 0);
    const resources = all.reduce((sum, { resourceBytes }) => sum + resourceBytes, 0);
    if (kept + resources + bytes <= keptBytesMax) return;
    throw new Error(`the documents of all aggregated APIs have more than ${keptBytesMax} bytes`);
  }

  async #ask(
    api: AggregatedApi,
    path: string,
    user: typeof discoverer | typeof aggregator,
    headers: readonly string[],
    maxBytes: number,
  ): Promise<WholeAnswer> {
    const question = {
      path,
      headers: [...headers, ...identityHeaders(user, false)],
      timeoutMs,
      maxBytes,
      signal: this.#stop.signal,
    };
    return ask(await this.#options.backends.of(api), question, this.#options.clock);
  }

  #publish(): void {
    const versions = [...this.#options.apis.all()].map((api) => {
      const documents = this.#documents.get(api.name);
      return {
        group: api.group,
        version: api.version,
        groupPriority: api.groupPriority,
        versionPriority: api.versionPriority,
        resources: documents?.resources ?? [],
        freshness: documents?.isCurrent === true ? "Current" : "Stale",
        openApiV3: documents?.openApiV3 ?? new Map(),
        openApiV2: documents?.openApiV2,
      } as const;
    });
    if (isDeepStrictEqual(versions, this.#versions)) return;
    this.#versions = versions;
    this.#options.published();
  }
}

/** Rejects when the answer is not a JSON object. Pauses while it decodes, so that other work has a turn. */
async function jsonOf({ body }: WholeAnswer): Promise<Readonly<Record<string, unknown>>> {
  const value = await runCooperatively(decodeInPieces(body, decodePlain));
  if (!isObject(value)) throw new Error("the answer is no JSON object");
  return value;
}
