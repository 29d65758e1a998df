/**
 * Answers OpenAPI version 3: one document per group version, and an index whose URLs contain the hash of each document.
 * Documents are built on first request; the index needs all hashes, and other work runs between two documents. Only
 * encoded documents are cached, at most `keptBytesMax` bytes of them. Protobuf is rarely requested, and converted from
 * JSON each time. Source: upstream's `kube-openapi/pkg/handler3`.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ApiTables } from "#api/definitions.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { digestOf, type AggregatedVersion } from "../discovery.ts";
import type { ServedGroup } from "../discovery/groups.ts";
import { documentV3 } from "./document-v3.ts";
import { acceptedType, httpDate, matchesTag, missingFile, notAcceptableFile } from "./negotiation.ts";
import { Operations, type PathItem } from "./operations.ts";
import { encodeProtobufV3 } from "./protobuf-v3.ts";

export interface OpenApiOptions {
  readonly tables: ApiTables;
  /** Whether CBOR is served; left out: it is not. */
  readonly cbor?: boolean;
  /** Whether fields of built-in kinds list their values; left out: they do. */
  readonly enums?: boolean;
  /** Whether the documents of the issuer of service account tokens are served; left out: they are not. */
  readonly issuer?: boolean;
  /** Returns the groups that are served now. If they change, it returns another array. */
  groups(): readonly ServedGroup[];
  /** Returns the group versions of other servers, which answer for their own documents. */
  remote?(): readonly AggregatedVersion[];
  /** The maximum number of bytes of cached documents. The document requested last is always cached. */
  readonly keptBytesMax?: number;
}

/** The fields of a request that OpenAPI reads. */
export type OpenApiRequest = Pick<ApiRequest, "method" | "path" | "query" | "headers" | "receivedMs">;

/** The input of a document. */
interface Source {
  readonly definitions: readonly ResourceDefinition[];
  paths(): readonly PathItem[];
}

interface Document {
  readonly definitions: readonly ResourceDefinition[];
  readonly hash: string;
  readonly builtMs: number;
  /** The encoded document; `undefined` if it was dropped from the cache. */
  bytes: Buffer | undefined;
}

const prefix = "/openapi/v3";
const json = "application/json";
const protobuf = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf";
/** The media types. The second name of protobuf is not a valid media type, but is the one that clients send. */
const offered = [json, protobuf, "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"];
const yearMs = 365 * 24 * 3600 * 1000;

export class OpenApiV3 {
  readonly #options: OpenApiOptions;
  readonly #operations: Operations;
  readonly #keptBytesMax: number;
  #groups: readonly ServedGroup[] | undefined;
  #sources: ReadonlyMap<string, Source> = new Map();
  /** The documents by path below the prefix, in the order of last use. */
  readonly #documents = new Map<string, Document>();
  #keptBytes = 0;
  readonly #building = new Map<Source, Promise<Buffer>>();
  /** The index of the current sources. */
  #index: { readonly bytes: Promise<Buffer>; readonly builtMs: number } | undefined;

  constructor(options: OpenApiOptions) {
    this.#options = options;
    this.#operations = new Operations(options.tables, options.cbor);
    this.#keptBytesMax = options.keptBytesMax ?? 16 * 1024 * 1024;
  }

  /** Returns the answer for `/openapi/v3` and the paths below it. */
  reply(request: OpenApiRequest): MaybePromise<Reply> {
    const { path } = request;
    this.#refresh();
    if (path === prefix) return this.#indexReply(request.receivedMs);
    const name = path.slice(prefix.length + 1);
    const source = this.#sources.get(name);
    if (source === undefined) return missingFile;
    const type = acceptedType(request.headers["accept"], offered);
    if (type === undefined) return notAcceptableFile;
    return this.#documentReply(request, name, source, type !== json);
  }

  async #documentReply(request: OpenApiRequest, name: string, source: Source, asProtobuf: boolean): Promise<Reply> {
    const document = await this.#document(name, source, request.receivedMs);
    const tag = asProtobuf ? `"${document.hash}.pb"` : `"${document.hash}"`;
    const headers: Record<string, string> = { etag: tag, vary: "Accept" };
    const asked = request.query.get("hash");
    if (asked !== null && asked !== "") {
      if (asked !== document.hash)
        return { code: 301, headers: { ...headers, location: address(name, document.hash) } };
      headers["cache-control"] = "public, immutable";
      headers["expires"] = httpDate(request.receivedMs + yearMs);
    }
    if (matchesTag(request.headers["if-none-match"], tag)) return { code: 304, headers };
    headers["last-modified"] = httpDate(document.builtMs);
    const bytes = await this.#bytes(name, source, document);
    if (!asProtobuf) return { code: 200, headers, bytes, contentType: json };
    return { code: 200, headers, bytes: encodeProtobufV3(JSON.parse(bytes.toString())), contentType: protobuf };
  }

  async #indexReply(nowMs: number): Promise<Reply> {
    this.#index ??= { bytes: this.#buildIndex(this.#sources, nowMs), builtMs: nowMs };
    const { bytes, builtMs } = this.#index;
    // Upstream names no type, so that Go's HTTP server guesses one.
    const contentType = "text/plain; charset=utf-8";
    return { code: 200, headers: { "last-modified": httpDate(builtMs) }, bytes: await bytes, contentType };
  }

  async #buildIndex(sources: ReadonlyMap<string, Source>, nowMs: number): Promise<Buffer> {
    const paths: Record<string, { readonly serverRelativeURL: string }> = {};
    const elsewhere = new Map((this.#options.remote?.() ?? []).flatMap(({ openApiV3 }) => [...(openApiV3 ?? [])]));
    for (const name of [...new Set([...sources.keys(), ...elsewhere.keys()])].sort()) {
      const source = sources.get(name);
      if (source === undefined) {
        paths[name] = { serverRelativeURL: elsewhere.get(name)! }; // the name is a key of one of the maps
        continue;
      }
      const isKnown = this.#findCached(name, source) !== undefined;
      const { hash } = await this.#document(name, source, nowMs);
      paths[name] = { serverRelativeURL: address(name, hash) };
      if (!isKnown) await nextTurn();
    }
    return Buffer.from(JSON.stringify({ paths }));
  }

  #findCached(name: string, source: Source): Document | undefined {
    const cached = this.#documents.get(name);
    return cached !== undefined && isSame(cached.definitions, source.definitions) ? cached : undefined;
  }

  /** Returns the cached document, or a new one if its definitions changed. */
  async #document(name: string, source: Source, nowMs: number): Promise<Document> {
    const cached = this.#findCached(name, source);
    if (cached !== undefined) return cached;
    const bytes = await this.#build(source);
    // Another request may have built the document in the meantime.
    const built = this.#findCached(name, source);
    if (built !== undefined) return built;
    const before = this.#documents.get(name);
    if (before !== undefined) this.#drop(before);
    const hash = digestOf(bytes);
    const builtMs = before?.hash === hash ? before.builtMs : nowMs;
    const document = { definitions: source.definitions, hash, builtMs, bytes: undefined };
    // If the table also changed in the meantime, the document is not needed again.
    const now = this.#sources.get(name);
    if (now !== undefined && isSame(now.definitions, source.definitions)) this.#keep(name, document, bytes);
    return document;
  }

  async #bytes(name: string, source: Source, document: Document): Promise<Buffer> {
    const bytes = document.bytes ?? (await this.#build(source));
    if (this.#documents.get(name) === document) this.#keep(name, document, bytes);
    return bytes;
  }

  /** Builds a document. Concurrent requests for it share one build. */
  #build(source: Source): Promise<Buffer> {
    let bytes = this.#building.get(source);
    if (bytes === undefined) {
      bytes = documentV3(this.#options, source.definitions, source.paths(), nextTurn);
      this.#building.set(source, bytes);
      void bytes.finally(() => this.#building.delete(source)).catch(() => undefined);
    }
    return bytes;
  }

  /** Makes the document the one used last, and drops the bytes of others if the cache is too large. */
  #keep(name: string, document: Document, bytes: Buffer): void {
    this.#drop(document);
    document.bytes = bytes;
    this.#keptBytes += bytes.length;
    this.#documents.delete(name);
    this.#documents.set(name, document);
    for (const other of this.#documents.values()) {
      if (this.#keptBytes <= this.#keptBytesMax || other === document) return;
      this.#drop(other);
    }
  }

  #drop(document: Document): void {
    this.#keptBytes -= document.bytes?.length ?? 0;
    document.bytes = undefined;
  }

  #refresh(): void {
    const groups = this.#options.groups();
    if (groups === this.#groups) return;
    this.#groups = groups;
    this.#sources = sourcesOf(groups, this.#operations, this.#options.issuer === true);
    this.#index = undefined;
    for (const [name, document] of this.#documents) {
      if (this.#sources.has(name)) continue;
      this.#drop(document);
      this.#documents.delete(name);
    }
  }
}

function sourcesOf(groups: readonly ServedGroup[], operations: Operations, issuer: boolean): Map<string, Source> {
  const sources = new Map<string, Source>([
    ["api", { definitions: [], paths: () => operations.ofCore() }],
    ["apis", { definitions: [], paths: () => operations.ofGroups() }],
    ["version", { definitions: [], paths: () => operations.ofServerVersion() }],
  ]);
  if (issuer) {
    sources.set(".well-known/openid-configuration", { definitions: [], paths: () => operations.ofIssuer() });
    sources.set("openid/v1/jwks", { definitions: [], paths: () => operations.ofIssuerKeys() });
  }
  for (const { name: group, versions, builtin } of groups) {
    if (builtin && group !== "") {
      sources.set(`apis/${group}`, { definitions: [], paths: () => operations.ofGroup(group) });
    }
    for (const { version, definitions, remote } of versions) {
      if (remote !== undefined) continue;
      const name = group === "" ? `api/${version}` : `apis/${group}/${version}`;
      sources.set(name, { definitions, paths: () => operations.ofVersion({ group, version }, definitions) });
    }
  }
  return sources;
}

function address(name: string, hash: string): string {
  return `${prefix}/${name}?hash=${hash}`;
}

function isSame(a: readonly ResourceDefinition[], b: readonly ResourceDefinition[]): boolean {
  return a === b || (a.length === b.length && a.every((definition, at) => definition === b[at]));
}
