/**
 * Answers discovery of groups, versions and resources in every form: `/api`, `/apis` and the paths below them, and
 * aggregated. Documents are encoded on first request and cached until the table changes. Source: upstream's
 * `endpoints/discovery` and `endpoints/discovery/aggregated`; unusual answers were recorded from a 1.32 server (which,
 * unlike this one, accepts POST).
 */
import { hash } from "node:crypto";
import type { Encodable, Encoding } from "#codec/encoding.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { MadeContent } from "#http/object-reply.ts";
import { plainText } from "#http/plain-text.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { methodUnknown, resourceNotFound } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { groupDiscoveryList } from "./discovery/aggregated.ts";
import { type ServedGroup, servedGroups } from "./discovery/groups.ts";
import type { RemoteDiscovery } from "./discovery/resource-discovery.ts";
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from "./discovery/legacy.ts";
import { type DiscoveryDocument, discoveryProtobuf } from "./discovery/protobuf.ts";
import { type Allows, type Negotiated, negotiator, noTransform } from "#http/negotiation.ts";

export interface DiscoveryOptions {
  readonly domain: ApiDomain;
  /** Returns the served resources. If they change, it returns another array. */
  definitions(): readonly ResourceDefinition[];
  /** Whether resources of built-in kinds show the hash of their storage version; left out: they do. */
  readonly storageHashes?: boolean;
  /** Returns the group versions of other servers. If they change, it returns another array. */
  remote?(): readonly AggregatedVersion[];
  /**
   * Returns `host:port` for the answer of `/api`; called for every request. Left out: the answer has the host that the
   * client used.
   */
  serverAddress?(): string;
}

/** A group version of another server. */
export interface AggregatedVersion extends RemoteDiscovery, Partial<RemoteOpenApi> {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
}

interface RemoteOpenApi {
  /** The URLs of OpenAPI version 3, by path below `/openapi/v3`. */
  readonly openApiV3: ReadonlyMap<string, string>;
  /** The JSON of OpenAPI version 2. */
  readonly openApiV2: Buffer | undefined;
}

/** The fields of a request that discovery reads. */
export type DiscoveryRequest = Pick<ApiRequest, "method" | "path" | "url" | "query" | "headers">;

const none: readonly AggregatedVersion[] = [];

const negotiation = negotiator([jsonEncoding, yamlEncoding, discoveryProtobuf]);

export class Discovery {
  readonly #options: DiscoveryOptions;
  readonly #allowsAggregated: Allows;
  #source: readonly ResourceDefinition[] | undefined;
  #remote: readonly AggregatedVersion[] = none;
  #groups: readonly ServedGroup[] = [];
  /** The encoded documents of `#source`: by encoding, then by path and form. */
  readonly #encoded = new Map<Encoding, Map<string, Encoded>>();

  constructor(options: DiscoveryOptions) {
    this.#options = options;
    const group = options.domain.rename("apidiscovery.k8s.io");
    this.#allowsAggregated = (_type, kind, asked, version) =>
      kind === "APIGroupDiscoveryList" && asked === group && (version === "v2" || version === "v2beta1");
  }

  /** Returns the groups of the current table, the core group first. */
  groups(): readonly ServedGroup[] {
    const definitions = this.#options.definitions();
    const remote = this.#options.remote?.() ?? none;
    if (definitions !== this.#source || remote !== this.#remote) {
      this.#source = definitions;
      this.#remote = remote;
      this.#groups = servedGroups(definitions, this.#options.domain, remote);
      this.#encoded.clear();
    }
    return this.#groups;
  }

  /**
   * Returns the answer for a discovery path; `undefined` for other paths. Throws `resourceNotFound` for a version that
   * a built-in group does not have, `notAcceptable`, and `methodUnknown` for all methods except GET and HEAD.
   */
  reply(request: DiscoveryRequest): Reply | undefined {
    const [prefix, ...rest] = segments(request.path);
    if (prefix === "api") return rest.length < 2 ? this.#core(request, rest[0]) : undefined;
    if (prefix !== "apis" || rest.length > 2) return undefined;
    const [groupName, version] = rest;
    if (groupName === undefined) return this.#list(request, this.groups().slice(this.#hasCore() ? 1 : 0));
    const group = this.groups().find(({ name }) => name === groupName && name !== "");
    if (group === undefined) return pageNotFound;
    if (version !== undefined) return this.#version(request, group, version);
    return this.#plain(request, () => apiGroup(group));
  }

  /** Returns the answer for `/`: all paths that the server answers. `others` are the paths of its other parts. */
  paths(others: readonly string[]): Reply {
    const own = this.groups().flatMap(({ name, versions }) => {
      const base = name === "" ? "/api" : `/apis/${name}`;
      return [base, ...versions.map(({ version }) => `${base}/${version}`)];
    });
    const paths = [...new Set(["/api", "/apis", "/apis/", ...own, ...others])].sort();
    return {
      code: 200,
      bytes: Buffer.from(JSON.stringify({ paths }, undefined, 2)),
      contentType: jsonEncoding.mediaType,
    };
  }

  /**
   * Returns the answer for an unknown path. Upstream: groups with built-in kinds and the core group answer with a
   * Status (thrown as `resourceNotFound`), all other paths with a page of plain text.
   */
  unknown(path: string): Reply {
    const [prefix, groupName] = segments(path);
    if (prefix === "api") throw resourceNotFound();
    const group = prefix === "apis" ? this.groups().find(({ name }) => name === groupName) : undefined;
    if (group?.builtin === true) throw resourceNotFound();
    return pageNotFound;
  }

  #hasCore(): boolean {
    return this.groups()[0]?.name === "";
  }

  #core(request: DiscoveryRequest, version: string | undefined): Reply {
    const groups = this.groups();
    const core = this.#hasCore() ? groups[0] : undefined;
    if (version !== undefined) {
      if (core === undefined) throw resourceNotFound();
      return this.#version(request, core, version);
    }
    checkMethod(request);
    negotiation.checkProducible(request, false);
    const aggregated = negotiation.chooseTransformation(request, this.#allowsAggregated);
    if (aggregated !== undefined) return this.#replyAggregated(request, aggregated, core === undefined ? [] : [core]);
    const negotiated = negotiation.answer(request, noTransform);
    const { headers } = request;
    const address = this.#options.serverAddress?.() ?? headers["host"] ?? headers[":authority"] ?? "";
    return encodedReply(encode(apiVersions(core, address), negotiated.encoding));
  }

  #list(request: DiscoveryRequest, groups: readonly ServedGroup[]): Reply {
    checkMethod(request);
    const aggregated = negotiation.chooseTransformation(request, this.#allowsAggregated);
    if (aggregated !== undefined) return this.#replyAggregated(request, aggregated, groups);
    const negotiated = negotiation.answer(request, noTransform);
    return encodedReply(this.#encodeOnce("/apis", negotiated, () => apiGroupList(groups)));
  }

  #version(request: DiscoveryRequest, group: ServedGroup, name: string): Reply {
    const version = group.versions.find((of) => of.version === name);
    if (version === undefined) return this.unknown(request.path);
    negotiation.checkProducible(request, false);
    return this.#plain(request, () => apiResourceList(group.name, version, this.#options.storageHashes));
  }

  #plain(request: DiscoveryRequest, make: () => DiscoveryDocument): Reply {
    checkMethod(request);
    const negotiated = negotiation.answer(request, noTransform);
    return encodedReply(this.#encodeOnce(segments(request.path).join("/"), negotiated, make));
  }

  #replyAggregated(request: DiscoveryRequest, negotiated: Negotiated, groups: readonly ServedGroup[]): Reply {
    const { group, version, encoding } = negotiated;
    const apiVersion = `${group}/${version}`;
    const path = segments(request.path).join("/");
    const encoded = this.#encodeOnce(`${path} ${apiVersion}`, negotiated, () => groupDiscoveryList(groups, apiVersion));
    encoded.tag ??= `"${digestOf(encoded.bytes)}"`;
    const headers = { etag: encoded.tag, vary: "Accept", "cache-control": "public" };
    // Upstream compares one tag as text, and supports neither lists nor weak tags.
    if (request.headers["if-none-match"] === encoded.tag) return { code: 304, headers };
    const contentType = `${encoding.mediaType};g=${group};v=${version};as=${negotiated.transform}`;
    return { ...encodedReply(encoded), headers, contentType };
  }

  #encodeOnce(document: string, negotiated: Negotiated, make: () => DiscoveryDocument): Encoded {
    const { encoding } = negotiated;
    let byDocument = this.#encoded.get(encoding);
    if (byDocument === undefined) {
      byDocument = new Map();
      this.#encoded.set(encoding, byDocument);
    }
    let encoded = byDocument.get(document);
    if (encoded === undefined) {
      encoded = encode(make(), encoding);
      byDocument.set(document, encoded);
    }
    return encoded;
  }
}

/** The 404 page of Go's file server, which clients see for paths outside of the API. */
const pageNotFound = plainText(404, "404 page not found\n");

/** A document with its bytes. */
interface Encoded {
  readonly object: Encodable;
  readonly bytes: Buffer;
  readonly mediaType: string;
  tag?: string;
}

function encode(document: DiscoveryDocument, encoding: Encoding): Encoded {
  const object = new MadeContent(document);
  return { object, bytes: encoding.object(object), mediaType: encoding.mediaType };
}

function encodedReply({ object, bytes, mediaType }: Encoded): Reply {
  return { code: 200, bytes, contentType: mediaType, compressible: true, object };
}

/** Returns the digest for entity tags and the URLs of OpenAPI documents. */
export const digestOf = (bytes: Buffer): string => hash("sha512", bytes, "hex").toUpperCase();

/** Throws `methodUnknown` unless the method is GET or HEAD. */
export function checkMethod(request: Pick<ApiRequest, "method">): void {
  if (request.method !== "GET" && request.method !== "HEAD") throw methodUnknown();
}

/** Returns the segments of a path, without slashes at its end. */
function segments(path: string): string[] {
  let end = path.length;
  while (end > 1 && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(1, end).split("/");
}
