/**
 * Restores an old version of an object by a create, or with `overwrite` by an update. Both need the usual permissions
 * and pass all steps of a write.
 */
import type { Attributes } from "#authz/authorizer.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import { apiPathOf, parseApiVersion, qualifiedResource } from "#meta/group-version.ts";
import { type OwnerReference, type Unstructured, withoutOrigin } from "#meta/object-meta.ts";
import { alreadyExists, badRequest, conflict, StatusError } from "#meta/status-error.ts";
import { isObject } from "#std/is-object.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { AuditedBody, HandledRequest, Headers, Reply, RequestInfo } from "./api-request.ts";
import { attributesOf } from "./filters/authorize.ts";
import { findVersion, type HistoryOptions, noVersions, type HistoryTarget } from "./history-versions.ts";
import { parseRequestInfo } from "./request-info.ts";

/** The body of a request. */
interface Wanted {
  /** The version to restore; left out: the last one before the deletion. */
  readonly revision: Revision | undefined;
  /** Whether an existing object is replaced. */
  readonly overwrite: boolean;
}

const bodyBytesMax = 16 * 1024;
/**
 * The number of versions that are read at once to find the last one before a deletion: the deletion and the version it
 * replaced.
 */
const deletionVersions = 2;

/** Finalizers that say how dependents are deleted; they belong to the deletion that took place. */
const finalizersOfDeletion: readonly string[] = ["orphan", "foregroundDeletion"];

/**
 * Answers with the written object. The permission to `restore` has been checked; those to `get`, `create` or `update`
 * are checked here.
 */
export async function restoreObject(
  options: HistoryOptions,
  request: HandledRequest,
  object: HistoryTarget,
): Promise<Reply> {
  const { store, name, namespace } = object;
  await authorize(options, { ...attributesOf(request), verb: "get" });
  const wanted = await readBody(request, (text) => store.parseVersion(text));
  await options.parts.cache.fresh();
  const current = store.peek(namespace, name);
  if (current !== undefined && !(wanted.overwrite && wanted.revision !== undefined)) throw stillThere(object);
  const entry = await readWantedEntry(options, request, object, wanted);
  const read = {
    entry,
    conversions: await store.convertWithWebhook([entry, ...(current === undefined ? [] : [current])], request),
  };
  const restored = withExistingOwners(options, request, object, store.object(read.entry));
  const written = current === undefined ? restored : toUpdate(object, restored, store.object(current));
  const write = new RestoringRequest(request, object, current !== undefined, Buffer.from(JSON.stringify(written)));
  await authorize(options, attributesOf(write));
  return options.route(write);
}

async function authorize({ parts }: HistoryOptions, attributes: Attributes): Promise<void> {
  const { decision, reason } = await parts.authorizer.authorize(attributes);
  if (decision !== "allow") throw forbiddenError(attributes, reason);
}

async function readBody(request: HandledRequest, parseVersion: (text: string) => Revision): Promise<Wanted> {
  const bytes = await request.body(bodyBytesMax);
  let body: unknown = {};
  try {
    if (bytes.length > 0) body = JSON.parse(bytes.toString());
  } catch (cause) {
    throw badRequest("the body must be JSON", cause);
  }
  if (!isObject(body)) throw badRequest("the body must be a JSON object");
  const { resourceVersion, overwrite = false, ...unknown } = body as Record<string, unknown>; // checked next
  const [stray] = Object.keys(unknown);
  if (stray !== undefined)
    throw badRequest(`unknown field ${JSON.stringify(stray)}: resourceVersion and overwrite are known`);
  if (resourceVersion !== undefined && typeof resourceVersion !== "string") {
    throw badRequest("resourceVersion must be a string");
  }
  if (typeof overwrite !== "boolean") throw badRequest("overwrite must be true or false");
  return { revision: resourceVersion === undefined ? undefined : parseVersion(resourceVersion), overwrite };
}

function stillThere({ definition, name }: HistoryTarget): StatusError {
  const { status } = alreadyExists(definition, name);
  const hint = "give resourceVersion and overwrite to put an older version in its place";
  return new StatusError({ ...status, message: `${status.message}: ${hint}` });
}

/** Returns the requested version, or the last one before the deletion. */
async function readWantedEntry(
  options: HistoryOptions,
  request: HandledRequest,
  object: HistoryTarget,
  { revision }: Wanted,
): Promise<Entry> {
  if (revision !== undefined) {
    const { version } = await findVersion(options, request, object, revision);
    if (version.entry !== undefined) return version.entry;
    throw badRequest(`version ${revision} is the deletion: name one before it, or none`);
  }
  for (let before: Revision | undefined; ; ) {
    const page = await options.versionReader.versions(object.key, before, deletionVersions);
    const version = page.versions.find(({ entry }) => entry !== undefined);
    if (version?.entry !== undefined) return version.entry;
    if (page.next === 0 || request.aborted) throw noVersions(object, page);
    before = page.next;
  }
}

/**
 * Returns the object as a new one, without owners that do not exist any more: the garbage collector would delete it
 * again.
 */
function withExistingOwners(
  options: HistoryOptions,
  request: HandledRequest,
  { namespace }: HistoryTarget,
  restored: Unstructured,
): Unstructured {
  const { ownerReferences, finalizers, ...metadata } = withoutOrigin(restored.metadata);
  const owners = ownerReferences?.filter((owner) => {
    if (!isGone(options, namespace, owner)) return true;
    const { kind, name, uid } = owner;
    request.warnings.push(
      `the owner ${kind} ${JSON.stringify(name)} (uid ${uid}) is gone: what is restored does not name it, or it would be collected again`,
    );
    return false;
  });
  const remaining = finalizers?.filter((text) => !finalizersOfDeletion.includes(text));
  return {
    ...restored,
    metadata: {
      ...metadata,
      ...(owners === undefined || owners.length === 0 ? {} : { ownerReferences: owners }),
      ...(remaining === undefined || remaining.length === 0 ? {} : { finalizers: remaining }),
    },
  };
}

/**
 * Whether an owner does not exist any more. For kinds of other servers this server does not know, and returns false.
 */
function isGone(
  { table, stores }: HistoryOptions,
  namespace: string,
  { apiVersion, kind, name, uid }: OwnerReference,
): boolean {
  const gv = parseApiVersion(apiVersion);
  const definition = gv && table().findKind(gv.group, gv.version, kind);
  if (definition?.stored !== true) return false;
  const store = stores.of(definition);
  const owner = store.peek(definition.namespaced ? namespace : "", name);
  // The uid is the same in any version.
  return owner === undefined || store.metadataOf(owner).uid !== uid;
}

/** Returns the object as an update of the existing one, and of no later version. */
function toUpdate({ definition, name }: HistoryTarget, restored: Unstructured, current: Unstructured): Unstructured {
  const { uid, resourceVersion, deletionTimestamp } = current.metadata;
  if (deletionTimestamp !== undefined) {
    throw conflict(definition, name, `${qualifiedResource(definition)} is being deleted: restore it when it is gone`);
  }
  return {
    ...restored,
    metadata: {
      ...restored.metadata,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

const writeOptions = ["dryRun", "fieldManager", "pretty"];

/** The request that writes the restored object, with the user of the request for the restore. */
class RestoringRequest implements HandledRequest {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  readonly #outer: HandledRequest;
  readonly #body: Buffer;
  info: RequestInfo;

  constructor(outer: HandledRequest, { definition, namespace, name }: HistoryTarget, isUpdate: boolean, body: Buffer) {
    const namespacePath = namespace === "" ? "" : `/namespaces/${namespace}`;
    const collection = `${apiPathOf(definition)}${namespacePath}/${definition.resource}`;
    const query = new URLSearchParams();
    for (const option of writeOptions) for (const value of outer.query.getAll(option)) query.append(option, value);
    if (!query.has("fieldManager")) query.set("fieldManager", "binnacle-restore");
    this.method = isUpdate ? "PUT" : "POST";
    this.path = isUpdate ? `${collection}/${name}` : collection;
    this.url = `${this.path}?${query.toString()}`;
    this.query = query;
    this.headers = { ...outer.headers, "content-type": "application/json" };
    this.info = parseRequestInfo(this);
    this.#outer = outer;
    this.#body = body;
  }

  get remoteAddress(): string {
    return this.#outer.remoteAddress;
  }

  get signal(): AbortSignal {
    return this.#outer.signal;
  }

  get aborted(): boolean {
    return this.#outer.aborted;
  }

  get user(): HandledRequest["user"] {
    return this.#outer.user;
  }

  get receivedMs(): number {
    return this.#outer.receivedMs;
  }

  get deadlineMs(): number {
    return this.#outer.deadlineMs;
  }

  get warnings(): string[] {
    return this.#outer.warnings;
  }

  get auditId(): string {
    return this.#outer.auditId;
  }

  annotate(key: string, value: string): void {
    this.#outer.annotate(key, value);
  }

  get seats(): HandledRequest["seats"] {
    return this.#outer.seats;
  }

  get audit(): AuditedBody | undefined {
    return this.#outer.audit;
  }

  headerValues(name: string): readonly string[] {
    return this.#outer.headerValues(name);
  }

  abort(reason: Error): void {
    this.#outer.abort(reason);
  }

  body(): Promise<Buffer> {
    return Promise.resolve(this.#body);
  }
}
