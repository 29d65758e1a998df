/**
 * Tells the audit log of requests: what a policy wants to know, at the stages it wants. Loaded only where there is a
 * policy. A request waits for its events as far as the mode of the log promises. Source: upstream's
 * `endpoints/filters/audit.go` and `audit/request.go`.
 */
import type { AuditBackend } from "#audit/backend.ts";
import { type AuditEvent, EventRecord, type ResponseStatus } from "#audit/event.ts";
import type { AuditDecision, AuditPolicy, Level, Stage } from "#audit/policy.ts";
import { sourceIps } from "#audit/source-ips.ts";
import { decodeJson } from "#codec/json.ts";
import { decodeYaml } from "#codec/yaml.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { type Status, StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { printGoDuration } from "#std/go-duration.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { isTooDeep } from "#std/too-deep.ts";
import { type ApiRequest, type AuditedBody, type Reply, unknownUser } from "./api-request.ts";
import { isLongRunning, printedTarget } from "./request-info.ts";
import { attributesOf } from "./filters/authorize.ts";
import type { Filter, Handler } from "./filters/filter.ts";

export interface AuditOptions {
  readonly policy: AuditPolicy;
  readonly backend: AuditBackend;
  readonly clock: Clock;
  /** Names, in the domain, of the annotations of requests that took long and of objects that are left out. */
  readonly latencyAnnotation: string;
  readonly truncatedAnnotation: string;
  /** For metrics: how much is recorded of a request; each event; each request that was not let in. */
  observeLevel(level: Level): void;
  observeEvent(): void;
  observeRejected(): void;
}

export interface AuditFilters {
  /** Before authentication and what is refused earlier: records those refused before anybody knew who they are. */
  readonly auditUnauthenticated: Filter;
  /** After authentication: records everybody else. */
  readonly audit: Filter;
}

export function auditFilters(options: AuditOptions): AuditFilters {
  const decide = (request: ApiRequest): AuditDecision => {
    const decision = options.policy.decide(attributesOf(request));
    options.observeLevel(decision.level);
    return decision;
  };
  const refused = async (request: ApiRequest, error: unknown): Promise<never> => {
    // Once the user is known, the other filter records what comes.
    if (error instanceof StatusError && request.user === unknownUser) {
      const decision = decide(request);
      if (decision.level !== "None") {
        const audited = new AuditedRequest(request, decision, options);
        const { status } = error;
        const message = status.code === 401 ? { message: attempted(request) } : {};
        audited.answered({ ...responseStatus(status), ...message }, () => textOf(status));
        await audited.record("ResponseStarted");
      }
    }
    throw error;
  };
  return {
    auditUnauthenticated(request, next) {
      try {
        const reply = next(request);
        return reply instanceof Promise ? reply.catch((error: unknown) => refused(request, error)) : reply;
      } catch (error) {
        return refused(request, error);
      }
    },
    audit(request, next) {
      const decision = decide(request);
      return decision.level === "None" ? next(request) : recorded(request, next, decision, options);
    },
  };
}

async function recorded(
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
  audited.replied(reply);
  if (lasts) await audited.record("ResponseStarted");
  if (!lasts || reply.stream === undefined) {
    await audited.record("ResponseComplete");
    return reply;
  }
  const { done } = reply;
  return {
    ...reply,
    done() {
      void audited.record("ResponseComplete");
      done?.();
    },
  };
}

/** What is known of one request so far. */
class AuditedRequest implements AuditedBody {
  readonly #request: ApiRequest;
  readonly #decision: AuditDecision;
  readonly #options: AuditOptions;
  /** Who asked, before anybody was impersonated. */
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
    if (this.#wantsRequest) this.#requestObject = this.#written(object);
  }

  sentPatch(bytes: Buffer): void {
    if (!this.#wantsRequest) return;
    // A patch is recorded as it came; one that cannot be read is not.
    this.#requestObject = attempt(() => textOf(read(bytes, !/^\s*[[{]/.test(bytes.toString("latin1", 0, 64)))));
  }

  /** What was answered; the object is made only when somebody wants it. */
  answered(status: ResponseStatus, object: () => string | undefined): void {
    this.#status = status;
    if (this.#decision.level === "RequestResponse") this.#responseObject = attempt(object);
  }

  replied(reply: Reply): void {
    const status = statusOf(this.#request, reply);
    this.answered({ ...(status === undefined ? {} : responseStatus(status)), code: reply.code }, () =>
      this.#objectOf(reply),
    );
  }

  /** The stage a failure leads to. */
  failed(error: unknown): Stage {
    if (error instanceof StatusError) {
      this.answered(responseStatus(error.status), () => textOf(error.status));
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

  /** Hands the event to the log before it returns. False: the request must not go on. */
  record(stage: Stage): MaybePromise<boolean> {
    if (this.#decision.omitStages.has(stage)) return true;
    this.#options.observeEvent();
    return this.#options.backend.process(new EventRecord(this.#event(stage)));
  }

  get #wantsRequest(): boolean {
    return this.#decision.level === "Request" || this.#decision.level === "RequestResponse";
  }

  #event(stage: Stage): AuditEvent {
    const request = this.#request;
    const { info, headers } = request;
    const stageMs = stage === "RequestReceived" ? request.receivedMs : this.#options.clock.now();
    const { name = "", namespace = "", uid, resourceVersion } = this.#metadata;
    const holdsToken = info.resource === "tokenreviews" || info.subresource === "token";
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
      requestObject: holdsToken ? withoutToken(this.#requestObject) : this.#requestObject,
      responseObject: holdsToken ? withoutToken(this.#responseObject) : this.#responseObject,
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

  #written(object: object): string | undefined {
    return attempt(() => textOf(this.#decision.omitManagedFields ? withoutManagedFields(object) : object));
  }

  /** The object of a reply, on one line; `undefined` for what is none. */
  #objectOf(reply: Reply): string | undefined {
    const { contentType = "", bytes, pieces } = reply;
    const isYaml = isOf(contentType, "application/yaml");
    if (!isYaml && !isOf(contentType, "application/json")) return undefined;
    // What is streamed is no object.
    if (lengthOf(reply) === 0) return undefined;
    if (lengthOf(reply) > objectBytesMax) {
      this.#isTruncated = true;
      return undefined;
    }
    const all = pieces !== undefined ? [...pieces] : Buffer.isBuffer(bytes) ? [bytes] : (bytes ?? []);
    const whole = all.length === 1 ? all[0]! : Buffer.concat(all);
    const { isResourceRequest } = this.#request.info;
    if (!isYaml && !this.#decision.omitManagedFields && (isResourceRequest || startsWithKind(whole))) {
      const text = whole.toString().trimEnd();
      if (!text.includes("\n")) return text;
    }
    const value = read(whole, isYaml);
    // OpenAPI documents and the like are no objects.
    if (typeof value !== "object" || value === null || !("kind" in value)) return undefined;
    return this.#written(value);
  }
}

function lengthOf({ bytes = [], pieces }: Reply): number {
  if (pieces !== undefined) return pieces.length;
  return Buffer.isBuffer(bytes) ? bytes.length : bytes.reduce((sum, { length }) => sum + length, 0);
}

/** A reply that is longer is not held in memory for its event. */
const objectBytesMax = 64 * 1024 * 1024;
/** Upstream: of requests that take longer, the time is noted. */
const slowMs = 500;

/** The text of a TokenReview or TokenRequest: whoever reads the log must not be able to use the token. */
function withoutToken(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const hide = (key: string, value: unknown): unknown => (key === "token" && value !== "" ? "REDACTED" : value);
  return JSON.stringify(JSON.parse(text, hide));
}

const userAgentMax = 1024;

const userAgentOf = (text: string): string =>
  text.length > userAgentMax ? `${text.slice(0, userAgentMax)}...TRUNCATED` : text;

/** Discovery names what it answers with behind a semicolon. */
const isOf = (contentType: string, mediaType: string): boolean =>
  contentType === mediaType || contentType.startsWith(`${mediaType};`);

const startsWithKind = (bytes: Buffer): boolean => bytes.toString("latin1", 0, 8) === '{"kind":';

const responseStatus = ({ status, message, reason, details, code }: Partial<Status>): ResponseStatus => ({
  ...(status === undefined ? {} : { status }),
  ...(message === undefined ? {} : { message }),
  ...(reason === undefined ? {} : { reason }),
  ...(details === undefined ? {} : { details }),
  ...(code === undefined ? {} : { code }),
});

/** The `Status` a reply is; only failures and deletes answer with one. */
function statusOf({ method }: ApiRequest, { code, bytes, contentType = "" }: Reply): Partial<Status> | undefined {
  if ((code < 400 && method !== "DELETE") || !Buffer.isBuffer(bytes) || bytes.length > statusBytesMax) return undefined;
  const isYaml = isOf(contentType, "application/yaml");
  if (!isYaml && !isOf(contentType, "application/json")) return undefined;
  const value = attempt(() => read(bytes, isYaml));
  if (typeof value !== "object" || value === null || !("kind" in value) || value.kind !== "Status") return undefined;
  return value as Partial<Status>; // written by this server
}

const statusBytesMax = 1024 * 1024;

const read = (bytes: Buffer, isYaml: boolean): unknown => (isYaml ? decodeYaml(bytes) : decodeJson(bytes)).value;

const textOf = (value: unknown): string => JSON.stringify(value);

/** What cannot be read or written is left out of the event. */
function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    return undefined;
  }
}

/** Of an object, of the items of a list, and of the rows of a table. */
function withoutManagedFields(object: object): object {
  const { metadata, items, rows } = object as {
    readonly metadata?: ObjectMeta;
    readonly items?: unknown;
    readonly rows?: unknown;
  };
  const each = (list: unknown, change: (item: object) => object): unknown =>
    Array.isArray(list) ? list.map((item: unknown) => (isObject(item) ? change(item) : item)) : list;
  const { managedFields: _managedFields, ...kept } = metadata ?? {};
  // Fields keep their places.
  return {
    ...object,
    ...(metadata === undefined ? {} : { metadata: kept }),
    ...(items === undefined ? {} : { items: each(items, withoutManagedFields) }),
    ...(rows === undefined
      ? {}
      : {
          rows: each(rows, (row) =>
            "object" in row && isObject(row.object) ? { ...row, object: withoutManagedFields(row.object) } : row,
          ),
        }),
  };
}

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null;

/** Which credentials were tried, never what they were. Source: upstream's `getAuthMethods`. */
function attempted(request: ApiRequest): string {
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

/** Upstream: a text, as for a broken server. */
const notStored = (request: ApiRequest): Reply => ({
  code: 500,
  contentType: "text/plain; charset=utf-8",
  headers: { "x-content-type-options": "nosniff" },
  bytes: Buffer.from(`Internal Server Error: ${goQuote(request.url)}: failed to store audit event\n`),
});
