/**
 * `StatusError`, the one error that reaches clients as a `metav1.Status`. One constructor per reason, with upstream's
 * wording, which clients match on. Source: upstream's `api/errors`.
 */
import { aggregate, type FieldError, goQuote, printFieldError } from "./field-error.ts";
import { qualifiedResource } from "./group-version.ts";

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

export interface StatusDetails {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

export interface Status {
  readonly kind: "Status";
  readonly apiVersion: "v1";
  readonly metadata: { readonly continue?: string; readonly resourceVersion?: string };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** An object that is refused, and its errors. */
interface InvalidObject {
  readonly of: KindName;
  readonly name: string;
  readonly errors: readonly FieldError[];
}

export class StatusError extends Error {
  readonly status: Status;
  /** The object and its errors as `invalidObject` was given them. */
  readonly invalid: InvalidObject | undefined;
  /**
   * Whether the text may show values of an object. False for the words of admission, which are its author's, and for
   * errors that have lost their values; left out where `invalid` and the cause tell.
   */
  readonly showsValues: boolean | undefined;

  constructor(status: Status, options?: StatusErrorOptions) {
    super(status.message, options);
    this.name = "StatusError";
    this.status = status;
    this.invalid = options?.invalid;
    this.showsValues = options?.showsValues;
  }
}

/** These are facts about an error beyond what clients see. */
interface StatusErrorOptions extends ErrorOptions {
  readonly invalid?: InvalidObject;
  readonly showsValues?: boolean;
}

/** A resource as messages name it. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
}

/** A kind as messages name it. */
interface KindName {
  readonly group: string;
  readonly kind: string;
}

function failure(code: number, reason: string, message: string, details?: StatusDetails, cause?: unknown): StatusError {
  const status: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details: compact(details) }),
    code,
  };
  return new StatusError(status, cause === undefined ? undefined : { cause });
}

/** Empty texts are not sent. */
function compact(details: StatusDetails): StatusDetails {
  return Object.fromEntries(
    Object.entries(details).filter(([, value]) => value !== "" && value !== undefined),
  ) as StatusDetails; // the same keys, some left out; all are optional
}

const detailsOf = (of: ResourceName, name: string): StatusDetails => ({ name, group: of.group, kind: of.resource });

export const badRequest = (message: string, cause?: unknown): StatusError =>
  failure(400, "BadRequest", message, undefined, cause);

export const unauthorized = (message = "Unauthorized"): StatusError => failure(401, "Unauthorized", message);

/** `reason` is the authorizer's or plugin's sentence. */
export function forbidden(of: ResourceName, name: string, reason: string): StatusError {
  const resource = qualifiedResource(of);
  const subject = of.resource === "" ? "" : name === "" ? resource : `${resource} ${goQuote(name)}`;
  const message = subject === "" ? `forbidden: ${reason}` : `${subject} is forbidden: ${reason}`;
  return failure(403, "Forbidden", message, detailsOf(of, name));
}

export const notFound = (of: ResourceName, name: string): StatusError =>
  failure(404, "NotFound", `${qualifiedResource(of)} ${goQuote(name)} not found`, detailsOf(of, name));

/** A path that is not served. Upstream: its answer has empty details. */
export const resourceNotFound = (): StatusError =>
  failure(404, "NotFound", "the server could not find the requested resource", {});

/** A subresource that 1.32 has and this server has not, in the words client-go has for answers that say no more. */
export function subresourceNotFound(of: ResourceName, subresource: string, verb: string, name: string): StatusError {
  const part = { group: of.group, resource: `${of.resource}/${subresource}` };
  const message = `the server could not find the requested resource (${verb} ${qualifiedResource(part)} ${name})`;
  return failure(404, "NotFound", message, detailsOf(part, name));
}

export const methodNotAllowed = (of: ResourceName, verb: string): StatusError =>
  failure(405, "MethodNotAllowed", `${verb} is not supported on resources of kind ${goQuote(qualifiedResource(of))}`, {
    group: of.group,
    kind: of.resource,
  });

/** A custom kind whose definition is on its way out. */
export function whileTerminating(of: ResourceName, verb: string): StatusError {
  const { status } = methodNotAllowed(of, verb);
  const message = `${verb} not allowed while custom resource definition is terminating`;
  return new StatusError({ ...status, message });
}

/** A method no verb answers to, such as TRACE. */
export const methodUnknown = (): StatusError =>
  failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

export const notAcceptable = (accepted: readonly string[]): StatusError =>
  failure(406, "NotAcceptable", `only the following media types are accepted: ${accepted.join(", ")}`);

/** 406 before a handler runs: no clause of `Accept` names a type that the route produces. */
export const representationNotAcceptable = (produced: readonly string[]): StatusError =>
  failure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${produced.join(", ")}`, {});

/** A view of one object was requested for a list, or the reverse; `type` is upstream's name of the actual type. */
export const wrongView = (view: string, isList: boolean, type: string): StatusError =>
  failure(
    406,
    "NotAcceptable",
    `you requested ${view}, but the requested object is ${isList ? "a list" : "not a list"} (*${type})`,
  );

/** 415 before a handler runs: the route consumes other content types (patches). */
export const contentTypeNotConsumed = (): StatusError =>
  failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});

/** `isGenerated`: a prefix of the name was given, whether or not the name is made of it. */
export function alreadyExists(of: ResourceName, name: string, isGenerated = false): StatusError {
  const message = `${qualifiedResource(of)} ${goQuote(name)} already exists`;
  if (!isGenerated) return failure(409, "AlreadyExists", message, detailsOf(of, name));
  const why = "the server was not able to generate a unique name for the object";
  return failure(409, "AlreadyExists", `${message}, ${why}`, { ...detailsOf(of, name), retryAfterSeconds: 1 });
}

export const conflict = (
  of: ResourceName,
  name: string,
  reason: string,
  causes?: readonly StatusCause[],
): StatusError =>
  failure(409, "Conflict", `Operation cannot be fulfilled on ${qualifiedResource(of)} ${goQuote(name)}: ${reason}`, {
    ...detailsOf(of, name),
    ...(causes === undefined ? {} : { causes }),
  });

/** A server-side apply that would take fields of other managers. */
export const applyConflict = (message: string, causes: readonly StatusCause[]): StatusError =>
  failure(409, "Conflict", message, { causes });

/** A version or continue token that has left the history. */
export const expired = (message: string): StatusError => failure(410, "Expired", message);

/** An expired continue token; with `continueToken` a client can go on without consistency. */
export function expiredContinue(message: string, continueToken: string): StatusError {
  const { status } = expired(message);
  return new StatusError({ ...status, metadata: { continue: continueToken } });
}

/** The limits of listed errors and of their characters; the rest is counted. */
const findingsMax = 100;
const findingsLengthMax = 256 * 1024;

function firstErrors(errors: readonly FieldError[]): readonly FieldError[] {
  let length = 0;
  const end = errors.findIndex((error, index) => {
    length += error.field.length + error.message.length;
    return index === findingsMax || (index > 0 && length > findingsLengthMax);
  });
  return end < 0 ? errors : errors.slice(0, end);
}

/** The code is always 422. `details.kind` is a kind here, unlike most other reasons. */
export function invalidObject(
  of: KindName,
  name: string,
  errors: readonly FieldError[],
  options?: ErrorOptions,
): StatusError {
  const shown = firstErrors(errors);
  const lines = shown.map(printFieldError);
  if (errors.length > shown.length) lines.push(`and ${errors.length - shown.length} more`);
  const kind = of.group === "" ? of.kind : `${of.kind}.${of.group}`;
  const { status } = failure(422, "Invalid", `${kind} ${goQuote(name)} is invalid: ${aggregate(lines)}`, {
    name,
    group: of.group,
    kind: of.kind,
    causes: shown.map((error) => ({
      reason: error.type,
      message: error.message,
      field: error.field === "" ? "<nil>" : error.field,
    })),
  });
  return new StatusError(status, { ...options, invalid: { of, name, errors } });
}

export const requestTooLarge = (message: string): StatusError =>
  failure(413, "RequestEntityTooLarge", `Request entity too large: ${message}`);

/** Upstream has no `Status` for these two: its server refuses in plain text before there is a request. */
export const targetTooLong = (message: string): StatusError => failure(414, "", `Request URI too long: ${message}`);

export const headersTooLarge = (message: string): StatusError =>
  failure(431, "", `Request header fields too large: ${message}`);

/** An object that is, or becomes by its defaults, larger than what is stored of one. */
export const objectTooLarge = (bytesMax: number): StatusError =>
  requestTooLarge(`the object is larger than the ${bytesMax} bytes that are stored of one (--max-object-size)`);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  failure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

export const tooManyRequests = (message: string, retryAfterSeconds: number): StatusError =>
  failure(429, "TooManyRequests", message, { retryAfterSeconds });

/** An eviction that a budget forbids now; `retryAfterSeconds` 0 gives no time. */
export const disruptionRefused = (cause: string, retryAfterSeconds = 0): StatusError =>
  failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: "DisruptionBudget", message: cause }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });

/** The private story goes into `cause` and the log. */
export const internalError = (message: string, cause?: unknown): StatusError =>
  failure(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] }, cause);

/** The success answer of an action without a result. */
export const success = (code: number): Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code,
});

export const unclassified = (message: string, cause?: unknown): StatusError =>
  failure(500, "", message, undefined, cause);

/** A stored object that can no longer be decoded. */
export const storageReadError = (name: string, cause: unknown): StatusError =>
  failure(
    500,
    "StorageReadError",
    "data from the storage is not transformable or decodable",
    { name, causes: [{ reason: "UnexpectedServerResponse", field: "metadata.name", message: name }] },
    cause,
  );

/** A collection with objects that cannot be read, by key; `of` is what they are. */
export const unreadableObjects = (
  of: ResourceName,
  found: readonly { readonly key: string; readonly problem: string }[],
): StatusError =>
  failure(500, "StorageReadError", `failed to read one or more ${qualifiedResource(of)} from the storage`, {
    ...detailsOf(of, "list"),
    causes: found.map(({ key, problem }) => ({
      reason: "UnexpectedServerResponse",
      message: `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${problem}`,
      field: key,
    })),
  });

/** A patch that cannot be applied to this object. The private story goes into `cause`. */
export const failedPatch = (cause: unknown): StatusError =>
  failure(422, "Invalid", "the server rejected our request due to an error in our request", {}, cause);

export const serviceUnavailable = (message: string): StatusError => failure(503, "ServiceUnavailable", message);

export const timeout = (message: string, retryAfterSeconds?: number): StatusError =>
  failure(504, "Timeout", `Timeout: ${message}`, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** A version the store has not reached yet. */
export const tooLargeResourceVersion = (wanted: string, current: string): StatusError =>
  failure(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
