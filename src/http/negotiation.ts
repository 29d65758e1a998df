/**
 * Content negotiation: the encoding of an answer from `Accept`, of a body from `Content-Type`. The available encodings
 * and the transformations of an endpoint are parameters. Source: upstream's `endpoints/handlers/negotiation`; the order
 * of equal clauses and the lenient parsing are those of its `goautoneg`, since clients depend on the outcome. Hot path:
 * parsed headers are cached (clients send few different ones), so a repeated header costs one look-up.
 */
import type { BodyEncoding, Encoding } from "#codec/encoding.ts";
import { type ApiDomain, kubernetesDomain, metaGroup } from "#meta/api-domain.ts";
import { notAcceptable, representationNotAcceptable, unsupportedMediaType } from "#meta/status-error.ts";
import type { ApiRequest } from "./api-request.ts";

/** The result of a negotiation. `transform` and its parameters are empty when the object itself was requested. */
export interface Negotiated {
  /** The encoding of the answer. */
  readonly encoding: Encoding;
  /** `Table`, `PartialObjectMetadata`, `PartialObjectMetadataList`, `APIGroupDiscoveryList`; empty for none. */
  readonly transform: string;
  /** Group and version of the transformation as the client wrote them. */
  readonly group: string;
  readonly version: string;
}

/** Whether an endpoint can answer with this transformation in this encoding. Kind, group and version may be empty. */
export type Allows = (encoding: Encoding, kind: string, group: string, version: string) => boolean;

/** Allows no transformation: for errors, discovery of one group, OpenAPI. */
export const noTransform: Allows = () => false;

/**
 * Allows the transformations of resources: Tables and metadata alone, in the group `meta.k8s.io` of the domain. Kubernetes'
 * own name of the group is allowed in every domain, since clients have it in their code.
 */
export function resourceTransforms(domain: ApiDomain): Allows {
  const ownGroup = metaGroup(domain);
  return (encoding, kind, group, version) => {
    if (group !== ownGroup && group !== kubernetesMetaGroup) return false;
    if (version !== "v1" && version !== "v1beta1") return false;
    if (kind === "Table") return encoding.tables;
    return kind === "PartialObjectMetadata" || kind === "PartialObjectMetadataList";
  };
}

const kubernetesMetaGroup = metaGroup(kubernetesDomain);

export interface Negotiator {
  /** The media types of all encodings, in order. */
  readonly names: readonly string[];
  /**
   * Chooses the encoding and transformation of one answer. `list`: the route serves lists and watches. Throws
   * `notAcceptable`.
   */
  answer(request: NegotiatedRequest, allows: Allows, list?: boolean): Negotiated;
  /**
   * Chooses like `answer`, but only among the allowed transformations, at any position in `Accept`; `undefined` when there
   * is none.
   */
  chooseTransformation(request: NegotiatedRequest, allows: Allows): Negotiated | undefined;
  /**
   * Chooses the encoding of a watch. Upstream: an encoding without a stream form is refused, even if a later one has
   * it.
   */
  stream(request: NegotiatedRequest, allows: Allows): Negotiated;
  /** Chooses the encoding of a `Status`. It never refuses: the first encoding is used if no other fits. */
  status(request: NegotiatedRequest): Encoding;
  /**
   * Returns the encoding of a request body; the first one when there is no `Content-Type`. Throws
   * `unsupportedMediaType`.
   */
  body(contentType: string | undefined): BodyEncoding;
  /**
   * The first check of `Accept`, before a handler runs: refuses when no clause names a type the route can produce.
   * `list` adds the stream types, as routes that serve lists and watches do. It checks names only.
   */
  checkProducible(request: NegotiatedRequest, list: boolean): void;
  /** Returns a negotiator of the same types for custom resources, whose refusals have other words, also for watches. */
  forCustom(): Negotiator;
}

/** The fields of a request that negotiation reads. */
export type NegotiatedRequest = Pick<ApiRequest, "headers" | "url" | "query">;

/**
 * Makes a negotiator of the encodings `offered`, in order of preference; the first is the default. Usually called once
 * per set of types. `ofRoutes`: a header without any of their names is refused in the words of `checkProducible`, as
 * routes of resources do.
 */
export function negotiator(offered: readonly Encoding[], ofRoutes = false): Negotiator {
  return createNegotiator(offered, ofRoutes ? "routes" : "plain");
}

function createNegotiator(offered: readonly Encoding[], words: "plain" | "routes" | "custom"): Negotiator {
  const names = offered.map(({ mediaType }) => mediaType);
  const streamNames = offered
    .filter(({ stream }) => stream !== "")
    .map(({ mediaType, streamName }) => streamName ?? `${mediaType};stream=watch`);
  const listNames = [...names, ...streamNames];
  const fallback = offered[0]!;
  // Routes of lists accept the names of streams that are no parameters of another type.
  const producedByLists = [...names, ...streamNames.filter((name) => !name.includes(";"))];

  // Whole custom resources have no type that such an encoding knows, their metadata do.
  const isUntyped = words === "custom";
  const choose = (request: NegotiatedRequest, allows: Allows, onlyTransforms = false): Choice | undefined =>
    match(request.headers["accept"], offered, allows, { onlyTransforms, isUntyped });
  const outcome = (request: NegotiatedRequest, { encoding, pretty, kind, group, version }: Choice): Negotiated => {
    const { indented } = encoding;
    const isIndented = indented !== undefined && (pretty || wantsPretty(request));
    return { encoding: isIndented ? indented : encoding, transform: kind, group, version };
  };
  const checkRoute = (request: NegotiatedRequest, list: boolean): void =>
    checkProducible(request, list ? producedByLists : names, list ? listNames : names);

  return {
    names,
    answer(request, allows, list = false) {
      const choice = choose(request, allows);
      if (choice === undefined) {
        if (words === "routes") checkRoute(request, list);
        throw notAcceptable(names);
      }
      return outcome(request, choice);
    },
    chooseTransformation(request, allows) {
      const choice = choose(request, allows, true);
      return choice === undefined || choice.kind === "" ? undefined : outcome(request, choice);
    },
    stream(request, allows) {
      const choice = choose(request, allows);
      if (choice === undefined || choice.encoding.stream === "") {
        if (words === "routes") checkRoute(request, true);
        throw notAcceptable(choice === undefined ? names : streamNames);
      }
      // Watches are never indented.
      const { encoding, kind: transform, group, version } = choice;
      return { encoding, transform, group, version };
    },
    status(request) {
      // Upstream: an error is written, indented, even if the client does not accept any type of the server.
      const choice = choose(request, noTransform) ?? { ...plain(fallback), pretty: true };
      return outcome(request, choice).encoding;
    },
    body(contentType) {
      if (contentType === undefined || contentType === "") return fallback;
      const name = bodyMediaType(contentType);
      const encoding = offered.find(({ mediaType }) => mediaType === name);
      if (encoding === undefined) throw unsupportedMediaType(names);
      return encoding;
    },
    checkProducible: checkRoute,
    forCustom: () => createNegotiator(offered, "custom"),
  };
}

const plain = (encoding: Encoding): Choice => ({ encoding, pretty: false, kind: "", group: "", version: "" });

/** Whether a patch body has one of the route's types; anything else is refused by the route. */
export function isConsumable(contentType: string | undefined, consumed: readonly string[]): boolean {
  return contentType !== undefined && consumed.includes(contentType.split(";", 1)[0]!.trim());
}

/**
 * Refuses a request whose `Accept` names none of the types `names`, and not all types, as a route does before its handler.
 * `shown`: the types that the message lists.
 */
export function checkProducible(
  { headers }: Pick<ApiRequest, "headers">,
  names: readonly string[],
  shown = names,
): void {
  const { accept } = headers;
  if (accept === undefined || accept === "" || producible(accept, names)) return;
  throw representationNotAcceptable(shown);
}

function producible(accept: string, names: readonly string[]): boolean {
  for (const clause of accept.split(",")) {
    const name = clause.split(";", 1)[0]!.trim();
    if (name === "*/*" || names.includes(name)) return true;
  }
  return false;
}

/**
 * Returns the media type in a `Content-Type`, in lower case; empty when the header is malformed (a bad parameter spoils
 * it). Source: RFC 2045 section 5.1 as Go's `mime` reads it.
 */
export function bodyMediaType(contentType: string): string {
  return parseCached(contentTypes, contentType, parseMediaType);
}

const token = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";
const mediaTypePattern = new RegExp(
  `^\\s*(${token}(?:/${token})?)\\s*((?:;\\s*${token}=(?:${token}|"(?:[^"\\\\]|\\\\.)*")\\s*)*);?\\s*$`,
);

function parseMediaType(text: string): string {
  if (text.length > 1024) return "";
  const parsed = mediaTypePattern.exec(text);
  if (parsed === null) return "";
  const keys = [...parsed[2]!.matchAll(parameterPattern)].map((parameter) => parameter[1]!.toLowerCase());
  return new Set(keys).size === keys.length ? parsed[1]!.toLowerCase() : "";
}

const parameterPattern = new RegExp(`;\\s*(${token})=(?:"(?:[^"\\\\]|\\\\.)*")?`, "g");

/** Whether the answer is indented. `pretty` of the query decides; without it, tools that people use get line breaks. */
export function wantsPretty(request: NegotiatedRequest): boolean {
  if (request.url.includes("pretty")) {
    const value = request.query.get("pretty");
    if (value !== null && value !== "") return trueTexts.has(value);
  }
  const agent = request.headers["user-agent"];
  return (
    agent !== undefined && (agent.startsWith("curl") || agent.startsWith("Wget") || agent.startsWith("Mozilla/5.0"))
  );
}

/** Texts that Go's `strconv.ParseBool` reads as true. */
const trueTexts = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** One clause of an `Accept` header, with the parameters that negotiation knows; `undefined`: not given. */
interface AcceptClause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
  /** Whether `as`, `g` or `v` was given. */
  readonly transforms: boolean;
  readonly stream: string;
  readonly serverVersion: string;
  readonly pretty: boolean;
}

interface Choice {
  readonly encoding: Encoding;
  readonly pretty: boolean;
  readonly kind: string;
  readonly group: string;
  readonly version: string;
}

/** Finds the first clause, and the first offered type for it, that the endpoint allows. */
function match(
  header: string | undefined,
  offered: readonly Encoding[],
  allows: Allows,
  { onlyTransforms, isUntyped }: { readonly onlyTransforms: boolean; readonly isUntyped: boolean },
): Choice | undefined {
  if (header === undefined || header === "") return plain(offered[0]!);
  for (const clause of parseCached(acceptHeaders, header, parseAccept)) {
    if (clause.serverVersion !== "" || (onlyTransforms && !clause.transforms)) continue;
    for (const encoding of offered) {
      if (!fits(clause, encoding.mediaType)) continue;
      if (clause.stream !== "" && (encoding.stream === "" || clause.stream !== "watch")) continue;
      const { pretty, kind, group, version } = clause;
      if (isUntyped && encoding.typedOnly && !clause.transforms) continue;
      if (clause.transforms && !allows(encoding, kind, group, version)) continue;
      return { encoding, pretty, kind, group, version };
    }
  }
  return undefined;
}

function fits(clause: AcceptClause, name: string): boolean {
  const slash = name.indexOf("/");
  if (clause.type === "*") return clause.subtype === "*";
  if (clause.type !== name.slice(0, slash)) return false;
  return clause.subtype === "*" || clause.subtype === name.slice(slash + 1);
}

const rememberedMax = 512;
const rememberedLength = 1024;
const acceptHeaders = new Map<string, readonly AcceptClause[]>();
const contentTypes = new Map<string, string>();

/** Returns the result of `parse` for a header; results of short headers are cached. */
function parseCached<T>(cache: Map<string, T>, header: string, parse: (header: string) => T): T {
  const cached = cache.get(header);
  if (cached !== undefined) return cached;
  const parsed = parse(header);
  if (header.length <= rememberedLength) {
    if (cache.size >= rememberedMax) cache.clear();
    cache.set(header, parsed);
  }
  return parsed;
}

/** The limit of parsed clauses; ordinary headers have a handful. */
const clausesMax = 64;

/**
 * Returns the clauses, best first: by quality, then named types before wildcards, then as written. Malformed clauses
 * are left out.
 */
export function parseAccept(header: string): readonly AcceptClause[] {
  const clauses: AcceptClause[] = [];
  for (const text of header.split(",", clausesMax)) {
    const clause = parseClause(text);
    if (clause !== undefined) clauses.push(clause);
  }
  // Upstream: its comparison is not transitive (a named type may come before a better wildcard and after it), so the
  // result is that of an insertion sort.
  for (let i = 1; i < clauses.length; i++) {
    for (let j = i; j > 0 && goesBefore(clauses[j]!, clauses[j - 1]!); j--) {
      const clause = clauses[j]!;
      clauses[j] = clauses[j - 1]!;
      clauses[j - 1] = clause;
    }
  }
  return clauses;
}

function goesBefore(a: AcceptClause, b: AcceptClause): boolean {
  return a.quality > b.quality || (a.type !== "*" && b.type === "*") || (a.subtype !== "*" && b.subtype === "*");
}

function parseClause(text: string): AcceptClause | undefined {
  const parts = text.split(";");
  const [type = "", subtype, ...more] = parts[0]!.split("/").map((part) => part.trim());
  if (more.length > 0 || (!subtype && type !== "*")) return undefined;
  const clause = {
    type,
    subtype: subtype || "*",
    quality: 1,
    kind: "",
    group: "",
    version: "",
    transforms: false,
    stream: "",
    serverVersion: "",
    pretty: false,
  };
  for (let i = 1; i < parts.length; i++) {
    const [key = "", raw, ...others] = parts[i]!.split("=");
    // Upstream: a parameter without a value, or with two, counts as absent.
    if (!raw || others.length > 0) continue;
    const value = raw.trim();
    switch (key.trim()) {
      case "q":
        clause.quality = /^[+-]?(\d+\.?\d*|\.\d+)$/.test(raw) ? Number(raw) : 0;
        break;
      case "as":
        clause.kind = value;
        clause.transforms = true;
        break;
      case "g":
        clause.group = value;
        clause.transforms = true;
        break;
      case "v":
        clause.version = value;
        clause.transforms = true;
        break;
      case "stream":
        clause.stream = value;
        break;
      case "sv":
        clause.serverVersion = value;
        break;
      case "pretty":
        clause.pretty = value === "1";
        break;
    }
  }
  return clause;
}
