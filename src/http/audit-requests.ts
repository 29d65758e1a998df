/**
 * Records requests in the audit log, at the stages and with the details that the policy asks for. This module is loaded
 * only when there is a policy. A request waits for its events as the mode of the log requires. Source: upstream's
 * `endpoints/filters/audit.go` and `audit/request.go`.
 */
import type { AuditBackend } from "#audit/backend.ts";
import { type AuditEvent, EventRecord, type ResponseStatus } from "#audit/event.ts";
import type { AuditDecision, AuditPolicy, Level, Stage } from "#audit/policy.ts";
import { sourceIps } from "#audit/source-ips.ts";
import type { Encodable, EncodableList } from "#codec/encoding.ts";
import { readCborObject } from "#codec/cbor-reader.ts";
import { decodeJson } from "#codec/json.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { decodeYaml } from "#codec/yaml.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { type Status, StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { printGoDuration } from "#std/go-duration.ts";
import { isObject } from "#std/is-object.ts";
import { attempt, type MaybePromise } from "#std/maybe-promise.ts";
import { isTooDeep } from "#std/too-deep.ts";
import { type ApiRequest, type AuditedBody, type Reply, unknownUser } from "./api-request.ts";
import { plainText } from "./plain-text.ts";
import { isLongRunning, printedTarget } from "./request-info.ts";
import { attributesOf } from "./filters/authorize.ts";
import { type Filter, type Handler, isOpenEnded, whenDone } from "./filters/filter.ts";

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backend: AuditBackend;
  readonly clock: Clock;
  /**
   * The names, in the API domain, of the annotation of requests that took long, and of that of objects that are left
   * out.
   */
  readonly latencyAnnotation: string;
  readonly truncatedAnnotation: string;
  /**
   * Called for metrics: with the level of each request, for each event, and for each request that was refused because
   * of the log.
   */
  observeLevel(level: Level): void;
  observeEvent(): void;
  observeRejected(): void;
}

export interface AuditFilters {
  /** Runs before authentication: records requests that are refused without a user. */
  readonly auditUnauthenticated: Filter;
  /** Runs after authentication: records everybody else. */
  readonly audit: Filter;
}

export function auditFilters(options: AuditOptions): AuditFilters {
  const decide = (request: ApiRequest): AuditDecision => {
    const decision = options.policy.decide(attributesOf(request));
    options.observeLevel(decision.level);
    return decision;
  };
  const recordRefusal = async (error: unknown, request: ApiRequest): Promise<never> => {
    // Once the user is known, the other filter records the request.
    if (error instanceof StatusError && request.user === unknownUser) {
      const decision = decide(request);
      if (decision.level !== "None") {
        const audited = new AuditedRequest(request, decision, options);
        const { status } = error;
        const message = status.code === 401 ? { message: attemptedMethods(request) } : {};
        audited.answered({ ...responseStatus(status), ...message }, status);
        await audited.record("ResponseStarted");
      }
    }
    throw error;
  };
  return {
    auditUnauthenticated: (request, next) => attempt(next, request, recordRefusal),
    audit(request, next) {
      const decision = decide(request);
      return decision.level === "None" ? next(request) : auditRequest(request, next, decision, options);
    },
  };
}

async function auditRequest(
  request: ApiRequest,
  next: Handler,
  decision: AuditDecision,
  options: AuditOptions,
): Promise<Reply> {
  const audited = new AuditedRequest(request, decision, options);
  request.audit = audited;
  if (!(await audited.record("RequestReceived"))) {
    options.observeRejected();
    return notStored(request);
  }
  const lasts = isLongRunning(request.info);
  let reply: Reply;
  try {
    reply = await next(request);
  } catch (error) {
    const stage = audited.failed(error);
    if (lasts && stage !== "Panic") await audited.record("ResponseStarted");
    await audited.record(stage);
    throw error;
  }
  await audited.replied(reply);
  if (lasts) await audited.record("ResponseStarted");
  if (!lasts || !isOpenEnded(reply)) {
    await audited.record("ResponseComplete");
    return reply;
  }
  return whenDone(reply, () => void audited.record("ResponseComplete"));
}

/** The audit data of one request. */
class AuditedRequest implements AuditedBody {
  readonly #request: ApiRequest;
  readonly #decision: AuditDecision;
  readonly #options: AuditOptions;
  /** The user before impersonation. */
  readonly #user: UserInfo;
  #metadata: ObjectMeta = {};
  #requestObject: string | undefined;
  #responseObject: string | undefined;
  #status: ResponseStatus | undefined;
  #isTruncated = false;

  constructor(request: ApiRequest, decision: AuditDecision, options: AuditOptions) {
    this.#request = request;
    this.#decision = decision;
    this.#options = options;
    this.#user = request.user;
  }

  sent(object: { readonly metadata?: ObjectMeta }): void {
    this.#metadata = object.metadata ?? {};
    if (this.wantsRequest) this.#requestObject = this.#safeText(object);
  }

  sentPatch(bytes: Buffer): void {
    if (!this.wantsRequest) return;
    // A patch is recorded as it was sent; one that cannot be read is not.
    this.#requestObject = leaveOutBroken(() => this.#textOf(this.#patchIn(bytes)));
  }

  #patchIn(bytes: Buffer): unknown {
    const [type = ""] = (this.#request.headers["content-type"] ?? "").split(";", 1);
    if (type.trim().endsWith("+cbor")) return readCborObject(bytes);
    const isYaml = !/^\s*[[{]/.test(bytes.toString("latin1", 0, 64));
    return (isYaml ? decodeYaml(bytes) : decodeJson(bytes)).value;
  }

  /** Takes the answer of a failed request. */
  answered(status: ResponseStatus, object: object): void {
    this.#status = status;
    if (this.#wantsAnswer) this.#responseObject = this.#textOf(object);
  }

  async replied(reply: Reply): Promise<void> {
    const status = statusOf(this.#request, reply);
    this.#status = { ...(status === undefined ? {} : responseStatus(status)), code: reply.code };
    if (!this.#wantsAnswer) return;
    const { object, list } = reply;
    if (object !== undefined) this.#responseObject = leaveOutBroken(() => this.#objectText(object));
    else if (list !== undefined) this.#responseObject = await this.#listText(list).catch(() => undefined);
  }

  /** Takes the error of a request, and returns the stage to which it leads. */
  failed(error: unknown): Stage {
    if (error instanceof StatusError) {
      this.answered(responseStatus(error.status), error.status);
      return "ResponseComplete";
    }
    if (isTooDeep(error)) {
      this.#status = { status: "Failure", reason: "BadRequest", message: "the object is nested too deeply", code: 400 };
      return "ResponseComplete";
    }
    if (this.#request.aborted) {
      this.#status = { status: "Failure", message: "Connection closed early", code: 499 };
      return "ResponseComplete";
    }
    const message = `APIServer panic'd: ${String(error)}`;
    this.#status = { status: "Failure", reason: "InternalError", message, code: 500 };
    return "Panic";
  }

  /** Passes the event to the log. Returns false when the request must not continue. */
  record(stage: Stage): MaybePromise<boolean> {
    if (this.#decision.omitStages.has(stage)) return true;
    this.#options.observeEvent();
    return this.#options.backend.process(new EventRecord(this.#event(stage)));
  }

  get wantsRequest(): boolean {
    return this.#decision.level === "Request" || this.#decision.level === "RequestResponse";
  }

  get #wantsAnswer(): boolean {
    return this.#decision.level === "RequestResponse";
  }

  /** Whether the body holds a usable token: TokenReviews and TokenRequests. */
  get #holdsToken(): boolean {
    const { resource, subresource } = this.#request.info;
    return resource === "tokenreviews" || subresource === "token";
  }

  #event(stage: Stage): AuditEvent {
    const request = this.#request;
    const { info, headers } = request;
    const stageMs = stage === "RequestReceived" ? request.receivedMs : this.#options.clock.now();
    const { name = "", namespace = "", uid, resourceVersion } = this.#metadata;
    return {
      level: this.#decision.level,
      auditId: request.auditId,
      stage,
      requestUri: printedTarget(request.url),
      verb: info.verb,
      user: this.#user === unknownUser ? undefined : this.#user,
      impersonatedUser: request.user === this.#user ? undefined : request.user,
      sourceIps: sourceIps(headers["x-forwarded-for"], headers["x-real-ip"], request.remoteAddress),
      userAgent: userAgentOf(headers["user-agent"] ?? ""),
      objectRef: info.isResourceRequest
        ? {
            resource: info.resource,
            namespace: info.namespace || namespace,
            name: info.name || name,
            uid,
            apiGroup: info.group,
            apiVersion: info.version,
            resourceVersion,
            subresource: info.subresource,
          }
        : undefined,
      responseStatus: this.#status,
      requestObject: this.#requestObject,
      responseObject: this.#responseObject,
      requestReceivedMs: request.receivedMs,
      stageMs,
      annotations: this.#annotations(stage === "ResponseComplete" ? stageMs - request.receivedMs : 0),
    };
  }

  #annotations(latencyMs: number): ReadonlyMap<string, string> | undefined {
    const isSlow = latencyMs > slowMs;
    const { annotations } = this.#request;
    if (annotations === undefined && !isSlow && !this.#isTruncated) return undefined;
    const all = new Map(annotations);
    if (isSlow) all.set(this.#options.latencyAnnotation, printGoDuration(latencyMs));
    if (this.#isTruncated) all.set(this.#options.truncatedAnnotation, "true");
    return all;
  }

  #safeText(object: object): string | undefined {
    return leaveOutBroken(() => this.#textOf(this.#decision.omitManagedFields ? withoutManagedFields(object) : object));
  }

  #textOf(value: unknown): string {
    return JSON.stringify(value, this.#holdsToken ? hideToken : undefined);
  }

  #objectText(object: Encodable): string | undefined {
    const json = this.#decision.omitManagedFields || this.#holdsToken ? undefined : object.json;
    return json === undefined ? this.#safeText(object.value) : json.toString().trimEnd();
  }

  /** Returns the list as JSON, whatever the encoding of the reply is. */
  async #listText(list: EncodableList): Promise<string | undefined> {
    const shown = this.#decision.omitManagedFields ? listWithoutManagedFields(list) : list;
    const body = await jsonEncoding.list(shown, { clock: this.#options.clock });
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of "pieces" in body ? body.pieces : body.chunks) {
      pieces.push(piece);
      length += piece.length;
      if (length > listBytesMax) {
        this.#isTruncated = true;
        return undefined;
      }
    }
    return Buffer.concat(pieces).toString().trimEnd();
  }
}

/** The maximum size of a list that is put into an event; longer ones would need too much memory. */
const listBytesMax = 64 * 1024 * 1024;
/** The time above which upstream adds annotations with latencies. */
const slowMs = 500;

const hideToken = (key: string, value: unknown): unknown => (key === "token" && value !== "" ? "REDACTED" : value);

const userAgentMax = 1024;

const userAgentOf = (text: string): string =>
  text.length > userAgentMax ? `${text.slice(0, userAgentMax)}...TRUNCATED` : text;

const responseStatus = ({ status, message, reason, details, code }: Partial<Status>): ResponseStatus => ({
  ...(status === undefined ? {} : { status }),
  ...(message === undefined ? {} : { message }),
  ...(reason === undefined ? {} : { reason }),
  ...(details === undefined ? {} : { details }),
  ...(code === undefined ? {} : { code }),
});

/** Returns the `Status` of a reply; only failures, deletes and some actions (evictions, bindings) answer with one. */
function statusOf({ method }: ApiRequest, { code, object }: Reply): Partial<Status> | undefined {
  if ((code < 400 && method !== "DELETE" && method !== "POST") || object === undefined) return undefined;
  const status = object.value as Partial<Status>; // no more than the type is read of another object
  // No custom resource has this version.
  return status.kind === "Status" && status.apiVersion === "v1" ? status : undefined;
}

/** Content that cannot be decoded or encoded is left out of the event. */
function leaveOutBroken<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Leaves managedFields out of an object, and of the row of a Table that is one. Fields keep their order. */
function withoutManagedFields(object: object): object {
  const { metadata, rows } = object as { readonly metadata?: ObjectMeta; readonly rows?: unknown };
  if (metadata === undefined) return object;
  const { managedFields: _managedFields, ...rest } = metadata;
  return { ...object, metadata: rest, ...(Array.isArray(rows) ? { rows: rows.map(rowWithoutManagedFields) } : {}) };
}

const rowWithoutManagedFields = (row: unknown): unknown =>
  isObject(row) && "object" in row && isObject(row.object) ? { ...row, object: withoutManagedFields(row.object) } : row;

/** Leaves managedFields out of the items of a list, and out of the rows of a Table. */
function listWithoutManagedFields(list: EncodableList): EncodableList {
  const item = (at: number): unknown => {
    const value = list.item(at);
    if (list.itemsKey === "rows") return rowWithoutManagedFields(value);
    return isObject(value) ? withoutManagedFields(value) : value;
  };
  return { ...list, item, itemJson: undefined, json: undefined };
}

/** Names the sorts of credentials that were tried, never the credentials. Source: upstream's `getAuthMethods`. */
function attemptedMethods(request: ApiRequest): string {
  const [scheme = "", secret] = (request.headers["authorization"] ?? "").trim().split(/\s+/, 2);
  const methods: string[] = [];
  if (secret !== undefined && /^basic$/i.test(scheme)) methods.push("basic");
  if (secret !== undefined && /^bearer$/i.test(scheme)) methods.push("bearer");
  if ((request.query.get("access_token") ?? "").trim() !== "") methods.push("access_token");
  if (request.clientCertificate !== undefined || request.clientCertificateProblem !== "") methods.push("x509");
  return methods.length === 0
    ? "Authentication failed, no credentials provided"
    : `Authentication failed, attempted: ${methods.join(", ")}`;
}

/** The answer when the event could not be stored. Upstream: a text, like the answer of a broken server. */
const notStored = (request: ApiRequest): Reply =>
  plainText(500, `Internal Server Error: ${goQuote(request.url)}: failed to store audit event\n`);
