/** Routes an authorized request to the handler of its resource and verb. */
import { type FieldError, goQuote, printFieldError } from "#meta/field-error.ts";
import {
  badRequest,
  methodNotAllowed,
  methodUnknown,
  notFound,
  resourceNotFound,
  StatusError,
  subresourceNotFound,
  whileTerminating,
} from "#meta/status-error.ts";
import type { Action } from "#meta/action.ts";
import type { RequestContext, Requirements } from "#meta/request-context.ts";
import type { UserInfo } from "#meta/user-info.ts";
import {
  isConnection,
  type ResourceDefinition,
  type SubresourceDefinition,
  updateStrategy,
} from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { Stores } from "#registry/stores.ts";
import { lazy } from "#std/lazy.ts";
import { andThen, attempt, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import type { Span } from "#std/tracer.ts";
import type { VersionReader } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply, RequestInfo } from "./api-request.ts";
import { concealWarning, shownError } from "./confidential.ts";
import { encodeReply } from "./encode-reply.ts";
import { encodeInSpan } from "./traced-handlers.ts";
import { historyPrefix } from "./request-info.ts";
import { runAction } from "./handlers/action.ts";
import { getComputed, listComputed } from "./handlers/computed.ts";
import { connectObject } from "./handlers/connect.ts";
import { createObject } from "./handlers/create.ts";
import { deleteCollection, deleteObject } from "./handlers/delete.ts";
import { getObject } from "./handlers/get.ts";
import { listCollection, watchPath } from "./handlers/list.ts";
import { patchObject } from "./handlers/patch.ts";
import { getScale, scaleScope } from "./handlers/scale.ts";
import { updateObject } from "./handlers/update.ts";
import { MustRunInWorker } from "./large-requests.ts";
import type { HandlerParts, LargeRequests, Scope } from "./scope.ts";
import { viewKind } from "./view-kind.ts";

export interface RouterOptions {
  readonly parts: HandlerParts;
  readonly stores: Stores;
  table(): ResourceTable;
  /** Reads earlier versions of objects. Left out: their history is not served. */
  readonly versionReader?: VersionReader;
  /** Called for requests to deprecated versions. */
  readonly deprecated?: (info: RequestInfo, removedRelease: string) => void;
  /** Returns the answer of another server, if one serves the group version; called first. */
  readonly forwarded?: (request: HandledRequest) => MaybePromise<Reply> | undefined;
  /**
   * Resolves when everything is served that another server has served before the call; `undefined` when it is. Called before
   * a path is said to be unknown.
   */
  refresh?(): Promise<void> | undefined;
  /** Answers other paths: discovery, OpenAPI, version; `undefined` for unknown ones. */
  other(request: HandledRequest): MaybePromise<Reply> | undefined;
  /** Returns or throws the answer for an unknown path. */
  unknown(path: string): Reply;
}

type Handler = (scope: Scope) => MaybePromise<Reply>;

const handlers: Readonly<Record<string, Handler>> = {
  get: getObject,
  list: listCollection,
  watch: watchPath,
  create: createObject,
  update: updateObject,
  patch: patchObject,
  delete: deleteObject,
  deletecollection: deleteCollection,
};

/** Verbs on a single object; the others are on the collection, and `watch` on both. */
const singleVerbs = new Set(["get", "update", "patch", "delete"]);

/** Makes the router. It returns encoded replies. */
export function createRouter(options: RouterOptions): (request: HandledRequest) => MaybePromise<Reply> {
  const { stores } = options;
  const dispatchedParts = { ...options.parts, negotiator: options.parts.negotiator.forCustom() };
  const scopeOf = (definition: ResourceDefinition, request: HandledRequest, name: string): Scope =>
    newScope(servingRulesOf(definition).hasRoutes ? options.parts : dispatchedParts, stores, definition, request, name);
  const tellDeprecated = deprecationTeller(options);
  /** Routes a request to what may be served by now, or says that its path is unknown. */
  const orUnknown = (request: HandledRequest, isRefreshed: boolean): MaybePromise<Reply> => {
    const refreshed = isRefreshed ? undefined : options.refresh?.();
    return refreshed === undefined ? options.unknown(request.path) : refreshed.then(() => route(request, true));
  };
  const route = (request: HandledRequest, isRefreshed = false): MaybePromise<Reply> => {
    const forwarded = options.forwarded?.(request);
    if (forwarded !== undefined) return forwarded;
    const { info } = request;
    if (!info.isResourceRequest) {
      if (request.upgrade !== undefined) throw cannotUpgrade(request.upgrade);
      const reply = options.other(request);
      return reply ?? orUnknown(request, isRefreshed || !request.path.startsWith("/apis/"));
    }
    const table = options.table();
    if (!table.serves(info.group, info.version)) return orUnknown(request, isRefreshed);
    const definition = table.find(info.group, info.version, info.resource);
    const connected = info.subresource === "" ? undefined : connection(definition, info.subresource);
    if (definition === undefined) return orUnknown(request, isRefreshed);
    if (info.parts.length > 3 && connected?.proxyPath !== true) return options.unknown(request.path);
    const { hasRoutes } = servingRulesOf(definition);
    if (!hasRoutes && !isInScope(definition, info.namespace, info.verb)) {
      return options.unknown(request.path);
    }
    // The proxies of Kubernetes before 1.10 lay below this word.
    if (hasRoutes && info.verb === "proxy") return orUnknown(request, true);
    checkScope(definition, info);
    const single = pathName(request);
    const verb = verbOf(request, single);
    if (definition.namespaced && info.namespace === "" && single !== "") throw resourceNotFound();
    const handler = handlers[verb];
    // Upstream's handler says that a version is deprecated before anything else.
    if (!hasRoutes) tellDeprecated(request, definition);
    if (connected !== undefined && single !== "") {
      checkMethod(connected, request.method, verb);
      return answer(scopeOf(definition, request, single), verb, (scope) => connectObject(scope, connected));
    }
    if (hasRoutes) checkPart(definition, info);
    if (handler === undefined) throw hasRoutes ? methodUnknown() : methodNotAllowed(definition, verb);
    if (hasRoutes) checkVerb(definition, info.subresource, verb, single !== "");
    else checkDispatched(definition, info.subresource, verb, single);
    if (definition.namespaced && info.namespace === "" && (verb === "create" || verb === "deletecollection")) {
      throw methodUnknown();
    }
    if (request.upgrade !== undefined) checkUpgrade(request, request.upgrade, verb);
    if (hasRoutes) tellDeprecated(request, definition);
    if (definition.custom?.isTerminating === true && verb === "create") throw whileTerminating(definition, verb);
    // The request may wait for a conversion webhook.
    if (definition.conversion?.webhook !== undefined) request.seats?.slow();
    return answer(scopeOf(definition, request, single), verb, handler);
  };
  const { versionReader } = options;
  if (versionReader === undefined) return (request) => route(request);
  const history = lazy(async () => {
    const { objectHistory } = await import("./object-history.ts");
    return objectHistory({ ...options, versionReader, route: (request) => route(request) });
  });
  return (request) =>
    request.info.apiPrefix === historyPrefix ? andThen(history(), (answer) => answer(request)) : route(request);
}

/** Returns the function that tells clients and the audit log that a request is for a deprecated version. */
function deprecationTeller(options: RouterOptions): (request: HandledRequest, definition: ResourceDefinition) => void {
  const annotation = options.parts.domain.rename("k8s.io/deprecated");
  const removedAnnotation = options.parts.domain.rename("k8s.io/removed-release");
  return (request, { deprecation }) => {
    if (deprecation === undefined) return;
    const { info, warnings } = request;
    warnings.push(deprecation.warning);
    if (request.audit !== undefined) {
      request.annotate(annotation, "true");
      if (deprecation.removedRelease !== "") request.annotate(removedAnnotation, deprecation.removedRelease);
    }
    options.deprecated?.(info, deprecation.removedRelease);
  };
}

/** Returns the subresource if another server answers for it: by a connection, or with a log. */
const connection = (
  definition: ResourceDefinition | undefined,
  subresource: string,
): SubresourceDefinition | undefined =>
  definition?.custom !== undefined
    ? undefined
    : definition?.subresources.find((part) => part.name === subresource && isConnection(part));

/** Throws unless a connection takes the method: proxies take all, and others no HEAD, which reads no object here. */
function checkMethod({ verbs, proxyPath }: SubresourceDefinition, method: string, verb: string): void {
  const isTaken = proxyPath === true ? method === "OPTIONS" || verbs.includes(verb) : verbs.includes(verb);
  if (!isTaken || (method === "HEAD" && proxyPath !== true)) throw methodUnknown();
}

/**
 * Invariant: the scope of the path is that of the resource, so that no object is reached by a path that was authorized as
 * another one. Throws for other paths.
 */
function checkScope({ group, resource, namespaced }: ResourceDefinition, { namespace, path }: RequestInfo): void {
  const isNamespaceItself = group === "" && resource === "namespaces";
  if (!namespaced && namespace !== "" && !isNamespaceItself) throw resourceNotFound();
  if (isNamespaceItself && /\/namespaces\/[^/]*\/namespaces(?:\/|$)/.test(path)) throw resourceNotFound();
}

function newScope(
  parts: HandlerParts,
  stores: Stores,
  definition: ResourceDefinition,
  request: HandledRequest,
  name: string,
): Scope {
  const { namespace, subresource } = request.info;
  return {
    parts,
    request,
    context: new Context(request, parts, definition),
    definition,
    store: stores.of(definition),
    namespace: definition.namespaced ? namespace : "",
    name,
    subresource,
    updates: updateStrategy(definition.strategy, subresource),
  };
}

/** Verbs whose requests can be so large that a thread handles them: those on one object, except deletion. */
const largeVerbs = new Set(["get", "create", "update", "patch"]);

/** Returns the encoded reply. Requests that are too large for the event loop are handled in a thread. */
function answer(scope: Scope, verb: string, handler: Handler): MaybePromise<Reply> {
  const large = largeVerbs.has(verb) ? scope.parts.large : undefined;
  // A request whose handler has succeeded is not handled again, whatever becomes of its reply.
  let isHandled = false;
  const encode = (reply: Reply): MaybePromise<Reply> => {
    isHandled = true;
    endContext(scope, true);
    return andThen(inForce(scope), () =>
      scope.request.span === undefined ? encodeReply(reply, scope) : encodeInSpan(reply, scope, scope.request.span),
    );
  };
  const fail = (error: unknown): Promise<Reply> => {
    if (!isHandled) {
      if (large !== undefined && error instanceof MustRunInWorker) return handleInWorker(large, scope);
      endContext(scope, false);
      if (handlers[verb] === handler) checkRoute(scope, verb, error);
    }
    throw shownError(scope, error);
  };
  return attempt(() => andThen(dispatch(scope, verb, handler), encode), scope, fail);
}

/**
 * Throws for a failed request that takes no type of answers: routes say so before their handlers look at parameters.
 * Only the type of a patch comes first.
 */
function checkRoute({ parts, request, definition, parent }: Scope, verb: string, error: unknown): void {
  if (error instanceof StatusError && error.status.code === 415) return;
  if (!servingRulesOf(parent ?? definition).hasRoutes) return;
  parts.negotiator.checkProducible(request, verb === "list" || verb === "watch");
}

async function handleInWorker(large: LargeRequests, scope: Scope): Promise<Reply> {
  let isSuccess = false;
  let reply: Reply;
  try {
    reply = await large.handle(scope);
    isSuccess = true;
  } finally {
    endContext(scope, isSuccess);
  }
  await inForce(scope);
  return reply;
}

/** Resolves when what the request has written is in force on all servers, or has warned about those that do not say so. */
function inForce({ parts, context, definition, request }: Scope): MaybePromise<void> {
  if (parts.inForce === undefined || !(context instanceof Context) || context.written === undefined) return undefined;
  const { key, revision } = context.written;
  // Controllers of this server may have written the object again, on which clients rely when they are answered.
  const newest = Math.max(revision, parts.cache.get(key)?.revision ?? 0);
  const waiting = parts.inForce({ definition, request, revision: newest });
  // The work is done, so other requests have the seats.
  if (isLate(waiting)) request.seats?.end();
  return andThen(waiting, (warnings) => {
    for (const text of warnings) if (!request.warnings.includes(text)) request.warnings.push(text);
  });
}

/** Calls the callbacks that wait for the end of the request's work. */
function endContext({ context }: Scope, isSuccess: boolean): void {
  if (context instanceof Context) context.end(isSuccess);
}

/** Dispatches scopes other than plain objects: scales, actions, computed objects. */
function dispatch(scope: Scope, verb: string, handler: Handler): MaybePromise<Reply> {
  const { definition, subresource, name } = scope;
  const scale = partOf(definition, subresource)?.scale;
  if (scale !== undefined) return verb === "get" ? getScale(scope, scale) : handler(scaleScope(scope, scale));
  const action = verb === "create" ? definition.actions?.get(subresource) : undefined;
  if (action !== undefined) return runAction(viewScope(scope, action), action);
  if (definition.computed === undefined) return handler(scope);
  const objects = definition.computed();
  return name === "" ? listComputed(scope, objects) : getComputed(scope, objects);
}

/** Returns the served subresource of this name; `undefined` for the main resource. */
const partOf = ({ subresources }: ResourceDefinition, name: string): SubresourceDefinition | undefined =>
  name === "" ? undefined : subresources.find((part) => part.name === name);

function checkUpgrade({ method, upgradable }: HandledRequest, protocol: string, verb: string): void {
  if (verb !== "watch" || protocol !== "websocket" || method !== "GET") throw cannotUpgrade(protocol);
  if (upgradable?.problem !== undefined) throw upgradable.problem;
}

const cannotUpgrade = (protocol: string): StatusError =>
  badRequest(`the connection cannot be upgraded to ${goQuote(protocol)} here: only watches are served over WebSocket`);

/** Makes the scope of a subresource whose bodies are of another kind. */
function viewScope(scope: Scope, { defaults }: Action): Scope {
  const { definition, parts, subresource } = scope;
  const part = partOf(definition, subresource);
  if (part === undefined) return scope;
  const view = viewKind(definition, part, parts, undefined, defaults === undefined ? {} : { defaults });
  return { ...scope, definition: view, updates: view.strategy, parent: definition };
}

/** Returns the name in the path; a name that only a field selector has does not count. */
function pathName(request: HandledRequest): string {
  return request.info.parts[1] ?? "";
}

/** Returns the verb of the handler; an unserved one for other methods on watch paths. */
function verbOf({ method, info }: HandledRequest, single: string): string {
  const reads = method === "GET" || method === "HEAD";
  if (info.verb === "watch") return reads ? "watch" : "";
  return single === "" && reads ? "list" : info.verb;
}

/** Throws for a subresource that is not served; the error names the subresources of 1.32. */
function checkPart(definition: ResourceDefinition, { subresource, verb, name }: RequestInfo): void {
  if (subresource === "") return;
  if (definition.unserved?.some((part) => part.name === subresource) === true) {
    throw subresourceNotFound(definition, subresource, verb, name);
  }
  if (verb === "watch" || partOf(definition, subresource) === undefined) throw resourceNotFound();
}

function checkVerb(definition: ResourceDefinition, subresource: string, verb: string, isSingle: boolean): void {
  if (subresource !== "") {
    if (partOf(definition, subresource)?.verbs.includes(verb) !== true) throw methodUnknown();
    return;
  }
  const isAction = verb === "create" && definition.actions?.has("") === true;
  const isThere = definition.stored || definition.computed !== undefined || isAction;
  if (!isThere && isSingle) throw resourceNotFound();
  const fits = verb === "watch" || singleVerbs.has(verb) === isSingle;
  if (!definition.verbs.includes(verb) || !fits || !isThere) throw methodUnknown();
}

/** Checks verb and subresource of custom resources, for which upstream's handler has its own messages. */
function checkDispatched(definition: ResourceDefinition, subresource: string, verb: string, name: string): void {
  if (name === "" && (verb === "update" || verb === "patch")) throw badRequest("name must be provided");
  // The definition's verbs are only those that discovery shows; more are served while the definition is being deleted.
  if (subresource === "") return;
  const part = partOf(definition, subresource);
  if (part === undefined) throw notFound(definition, name);
  if (!part.verbs.includes(verb)) throw methodNotAllowed(definition, verb);
}

/** Whether a path has the scope of a kind without routes of its own. All namespaces at once can only be read. */
function isInScope(definition: ResourceDefinition, namespace: string, verb: string): boolean {
  if (!definition.namespaced) return namespace === "";
  return namespace !== "" || verb === "list" || verb === "watch";
}

/** The maximum number of warnings; fewer than that fit into the headers of an answer. */
const warningsMax = 1000;

/**
 * The context of a request. It is a class, since an object literal with a getter gets a hidden class of its own each
 * time, which lives, with all it references, until the next full collection.
 */
class Context implements RequestContext {
  readonly user: UserInfo;
  readonly userAgent: string;
  readonly deadlineMs: number;
  readonly requires: Requirements | undefined;
  readonly #request: HandledRequest;
  readonly #parts: HandlerParts;
  readonly #definition: ResourceDefinition;
  #whenDone: ((isSuccess: boolean) => void)[] | undefined;
  #slowestMs = 0;
  /** The newest version that the request has written. */
  written: { readonly key: string; readonly revision: number } | undefined;

  constructor(request: HandledRequest, parts: HandlerParts, definition: ResourceDefinition) {
    this.user = request.user;
    this.userAgent = request.headers["user-agent"] ?? "";
    this.deadlineMs = request.deadlineMs;
    this.requires = request.requires;
    this.#request = request;
    this.#parts = parts;
    this.#definition = definition;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get span(): Span | undefined {
    return this.#request.span;
  }

  get recordsBodies(): boolean {
    return this.#request.audit?.wantsRequest === true;
  }

  slow(): void {
    this.#request.seats?.slow();
  }

  warn(about: string | FieldError, by?: "admission"): void {
    const { warnings } = this.#request;
    if (warnings.length >= warningsMax) return;
    const isShown = by === "admission" || !this.#parts.isConfidential(this.#definition);
    const shown = isShown ? (typeof about === "string" ? about : printFieldError(about)) : concealWarning(about);
    if (!warnings.includes(shown)) warnings.push(shown);
  }

  annotate(key: string, value: string): void {
    this.#request.annotate(key, value);
  }

  webhookTook(ms: number, isAlone: boolean): void {
    // The slowest one counts of those that are asked at the same time.
    const more = isAlone ? ms : Math.max(0, ms - this.#slowestMs);
    if (!isAlone) this.#slowestMs += more;
    this.#request.webhooksMs = (this.#request.webhooksMs ?? 0) + more;
  }

  wrote(key: string, revision: number): void {
    // Without other servers nobody waits for this version.
    if (this.#parts.inForce === undefined) return;
    if (this.written === undefined || revision > this.written.revision) this.written = { key, revision };
  }

  whenDone(callback: (isSuccess: boolean) => void): void {
    (this.#whenDone ??= []).push(callback);
  }

  end(isSuccess: boolean): void {
    const waiting = this.#whenDone;
    if (waiting === undefined) return;
    this.#whenDone = undefined;
    for (const callback of waiting) callback(isSuccess);
  }
}
