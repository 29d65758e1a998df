/** Audit events and their JSON. Source of fields and order: the type `Event` of upstream's `audit.k8s.io/v1`. */
import { goQuote } from "#meta/field-error.ts";
import type { Status } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Level, Stage } from "./policy.ts";

export interface AuditEvent {
  readonly level: Level;
  readonly auditId: string;
  readonly stage: Stage;
  readonly requestUri: string;
  readonly verb: string;
  /** The user; `undefined` before authentication, or when it failed. */
  readonly user: UserInfo | undefined;
  readonly impersonatedUser: UserInfo | undefined;
  readonly sourceIps: readonly string[];
  readonly userAgent: string;
  readonly objectRef: ObjectReference | undefined;
  readonly responseStatus: ResponseStatus | undefined;
  /** The objects as JSON on one line. */
  readonly requestObject: string | undefined;
  readonly responseObject: string | undefined;
  readonly requestReceivedMs: number;
  readonly stageMs: number;
  readonly annotations: ReadonlyMap<string, string> | undefined;
}

/** A reference to the object; unknown fields are empty or absent. */
interface ObjectReference {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string | undefined;
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resourceVersion?: string | undefined;
  readonly subresource: string;
}

export type ResponseStatus = Partial<Pick<Status, "status" | "message" | "reason" | "details" | "code">>;

/** An event on its way to the backends; its text is made once. */
export class EventRecord {
  readonly event: AuditEvent;
  #text: string | undefined;
  #bytes: number | undefined;

  constructor(event: AuditEvent) {
    this.event = event;
  }

  /** The event as one line of JSON, in the form of an item of an `EventList`. */
  get text(): string {
    this.#text ??= encode(this.event);
    return this.#text;
  }

  get bytes(): number {
    this.#bytes ??= Buffer.byteLength(this.text);
    return this.#bytes;
  }

  /** Returns the event with its kind, as one line of JSON. `apiVersion` is the domain's `audit.k8s.io/v1`. */
  line(apiVersion: string): string {
    return `{"kind":"Event","apiVersion":${JSON.stringify(apiVersion)},${this.text.slice(1)}\n`;
  }

  /** Returns the event without objects, and with the annotation of truncation. */
  truncate(annotation: string): EventRecord {
    const annotations = new Map(this.event.annotations).set(annotation, "true");
    return new EventRecord({ ...this.event, requestObject: undefined, responseObject: undefined, annotations });
  }
}

function encode(event: AuditEvent): string {
  const { requestObject, responseObject, annotations } = event;
  const head = JSON.stringify({
    level: event.level,
    auditID: event.auditId,
    stage: event.stage,
    requestURI: event.requestUri,
    verb: event.verb,
    user: event.user === undefined ? {} : encodeUser(event.user),
    impersonatedUser: event.impersonatedUser === undefined ? undefined : encodeUser(event.impersonatedUser),
    sourceIPs: event.sourceIps.length === 0 ? undefined : event.sourceIps,
    userAgent: present(event.userAgent),
    objectRef: event.objectRef === undefined ? undefined : encodeReference(event.objectRef),
    responseStatus: event.responseStatus === undefined ? undefined : encodeStatus(event.responseStatus),
  });
  const tail = JSON.stringify({
    requestReceivedTimestamp: microTime(event.requestReceivedMs),
    stageTimestamp: microTime(event.stageMs),
    annotations:
      annotations === undefined || annotations.size === 0
        ? undefined
        : Object.fromEntries([...annotations].sort(([a], [b]) => (a < b ? -1 : 1))),
  });
  const request = requestObject === undefined ? "" : `"requestObject":${requestObject},`;
  const response = responseObject === undefined ? "" : `"responseObject":${responseObject},`;
  return `${head.slice(0, -1)},${request}${response}${tail.slice(1)}`;
}

const present = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

function encodeUser({ name, uid, groups, extra }: UserInfo): object {
  return {
    username: present(name),
    uid: present(uid),
    groups: groups.length === 0 ? undefined : groups,
    extra,
  };
}

function encodeReference(of: ObjectReference): object {
  return {
    resource: present(of.resource),
    namespace: present(of.namespace),
    name: present(of.name),
    uid: present(of.uid),
    apiGroup: present(of.apiGroup),
    apiVersion: present(of.apiVersion),
    resourceVersion: present(of.resourceVersion),
    subresource: present(of.subresource),
  };
}

function encodeStatus({ status, message, reason, details, code }: ResponseStatus): object {
  return { metadata: {}, status, message: present(message), reason: present(reason), details, code };
}

/** Returns a time as `2026-01-31T12:00:00.123000Z`. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace("Z", "000Z");

/** Returns the event as one line of the format `legacy`. Source: upstream's `audit.EventString`. */
export function legacyLine(event: AuditEvent): string {
  const { user, impersonatedUser } = event;
  const groups = (of: UserInfo): string => of.groups.map(goQuote).join(",");
  const fields: readonly [string, string][] = [
    ["id", event.auditId],
    ["stage", event.stage],
    ["ip", event.sourceIps[0] ?? "<unknown>"],
    ["method", event.verb],
    ["user", present(user?.name) ?? "<none>"],
    ["groups", user === undefined || user.groups.length === 0 ? "<none>" : groups(user)],
    ["as", impersonatedUser?.name ?? "<self>"],
    ["asgroups", impersonatedUser === undefined ? "<lookup>" : groups(impersonatedUser)],
    ["user-agent", event.userAgent],
    ["namespace", present(event.objectRef?.namespace) ?? "<none>"],
    ["uri", event.requestUri],
    ["response", event.responseStatus === undefined ? "<deferred>" : String(event.responseStatus.code ?? 0)],
  ];
  const text = fields.map(([name, value]) => `${name}=${goQuote(value)}`).join(" ");
  return `${new Date(event.requestReceivedMs).toISOString()} AUDIT: ${text}\n`;
}
