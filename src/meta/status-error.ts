/**
 * `StatusError`, the only error that reaches clients, as a `metav1.Status`. There is one constructor for each reason,
 * with upstream's wording, which clients parse. Source: upstream's `api/errors`.
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
  readonly metadata: {
    readonly continue?: string;
    readonly resourceVersion?: string;
    readonly remainingItemCount?: number;
  };
  readonly status: "Success" | "Failure";
  readonly message?: string;
  readonly reason?: string;
  readonly details?: StatusDetails;
  readonly code: number;
}

/** A refused object and its errors. */
interface InvalidObject {
  readonly of: KindName;
  readonly name: string;
  readonly errors: readonly FieldError[];
}

export class StatusError extends Error {
  readonly status: Status;
  /** The object and its errors, if `invalidObject` made this error. */
  readonly invalid: InvalidObject | undefined;
  /**
   * Whether the message may show values of an object. False for texts of admission, for which its author is
   * responsible, and for errors whose values were removed; if absent, `invalid` and the cause decide.
   */
  readonly showsValues: boolean | undefined;

  constructor(status: Status, options?: StatusErrorOptions) {
    super(options?.message ?? status.message, options);
    this.name = "StatusError";
    this.status = status;
    this.invalid = options?.invalid;
    this.showsValues = options?.showsValues;
  }
}

/** Returns the error for the case that its message, or the name in its details, is a value of an object. */
export const showingValues = ({ status }: StatusError): StatusError => new StatusError(status, { showsValues: true });

/** Facts about an error that clients do not see. */
interface StatusErrorOptions extends ErrorOptions {
  /** The message of the error, if it says more than that of the status. */
  readonly message?: string;
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

/** Returns the details without empty texts, which are not sent. */
function compact(details: StatusDetails): StatusDetails {
  return Object.fromEntries(
    Object.entries(details).filter(([, value]) => value !== "" && value !== undefined),
  ) as StatusDetails; // the same keys, some left out; all are optional
}

const detailsOf = (of: ResourceName, name: string): StatusDetails => ({ name, group: of.group, kind: of.resource });

export const badRequest = (message: string, cause?: unknown): StatusError =>
  failure(400, "BadRequest", message, undefined, cause);

export const unauthorized = (message = "Unauthorized"): StatusError => failure(401, "Unauthorized", message);

/** `reason` is the message of the authorizer or plugin. */
export function forbidden(of: ResourceName, name: string, reason: string): StatusError {
  const resource = qualifiedResource(of);
  const subject = of.resource === "" ? "" : name === "" ? resource : `${resource} ${goQuote(name)}`;
  const message = subject === "" ? `forbidden: ${reason}` : `${subject} is forbidden: ${reason}`;
  return failure(403, "Forbidden", message, detailsOf(of, name));
}

export const notFound = (of: ResourceName, name: string): StatusError =>
  failure(404, "NotFound", `${qualifiedResource(of)} ${goQuote(name)} not found`, detailsOf(of, name));

/** Returns the error of a path that is not served. Its details are empty, as upstream. */
export const resourceNotFound = (): StatusError =>
  failure(404, "NotFound", "the server could not find the requested resource", {});

/**
 * Returns the error of a subresource that 1.32 has and this server lacks, in client-go's words for answers without a
 * message.
 */
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

/** Returns the error of a write to a custom kind whose definition is being deleted. */
export function whileTerminating(of: ResourceName, verb: string): StatusError {
  const { status } = methodNotAllowed(of, verb);
  const message = `${verb} not allowed while custom resource definition is terminating`;
  return new StatusError({ ...status, message });
}

/** Returns the error of a method without a verb, such as TRACE. */
export const methodUnknown = (): StatusError =>
  failure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

export const notAcceptable = (accepted: readonly string[]): StatusError =>
  failure(406, "NotAcceptable", `only the following media types are accepted: ${accepted.join(", ")}`);

/** Returns a 406 from before the handler: no clause of `Accept` names a type that the route produces. */
export const representationNotAcceptable = (produced: readonly string[]): StatusError =>
  failure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${produced.join(", ")}`, {});

/**
 * Returns the error for a representation of one object that was requested for a list, or the reverse; `type` is
 * upstream's name of the actual type.
 */
export const wrongView = (view: string, isList: boolean, type: string): StatusError =>
  failure(
    406,
    "NotAcceptable",
    `you requested ${view}, but the requested object is ${isList ? "a list" : "not a list"} (*${type})`,
  );

/** Returns a 415 from before the handler: the route accepts other content types (patches). */
export const contentTypeNotConsumed = (): StatusError =>
  failure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});

/** Returns the same for a body of unknown length. Upstream's text ends with the types of the routes that are left: none. */
export const contentTypeUnrouted = (): StatusError =>
  failure(415, "UnsupportedMediaType", "415: Unsupported Media Type\n\nAvailable representations: ", {});

/** `isGenerated` says that the request had a `generateName`, whether or not the name is made of it. */
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

/** Returns the error of a server-side apply that would take fields from other managers. */
export const applyConflict = (message: string, causes: readonly StatusCause[]): StatusError =>
  failure(409, "Conflict", message, { causes });

/** Returns the error of a version or continue token that is no longer in the history. */
export const expired = (message: string): StatusError => failure(410, "Expired", message);

/** Returns the error of an expired continue token. With `continueToken`, a client can continue without consistency. */
export function expiredContinue(message: string, continueToken: string): StatusError {
  const { status } = expired(message);
  return new StatusError({ ...status, metadata: { continue: continueToken } });
}

/** The maximum number of listed errors and of their characters; the others are counted. */
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

/** Returns a 422. `details.kind` is a kind here, unlike for most other reasons. */
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

/** Upstream has no `Status` for these two errors: its server refuses in plain text before there is a request. */
export const targetTooLong = (message: string): StatusError => failure(414, "", `Request URI too long: ${message}`);

export const headersTooLarge = (message: string): StatusError =>
  failure(431, "", `Request header fields too large: ${message}`);

/** Returns the error of an object that exceeds the size limit of storage, as sent or after its defaults. */
export const objectTooLarge = (bytesMax: number): StatusError =>
  requestTooLarge(`the object is larger than the ${bytesMax} bytes that are stored of one (--max-object-size)`);

export const unsupportedMediaType = (accepted: readonly string[]): StatusError =>
  failure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

export const tooManyRequests = (message: string, retryAfterSeconds?: number): StatusError =>
  failure(429, "TooManyRequests", message, retryAfterSeconds === undefined ? undefined : { retryAfterSeconds });

/** Returns the error of an eviction that a budget currently forbids. With `retryAfterSeconds` 0 it suggests no time. */
export const disruptionRefused = (cause: string, retryAfterSeconds = 0): StatusError =>
  failure(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [{ reason: "DisruptionBudget", message: cause }],
    ...(retryAfterSeconds === 0 ? {} : { retryAfterSeconds }),
  });

/** `cause` is for the log only. */
export const internalError = (message: string, cause?: unknown): StatusError =>
  failure(500, "InternalError", `Internal error occurred: ${message}`, { causes: [{ message }] }, cause);

/** Returns the success answer of an action without a result. */
export const success = (code: number): Status => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Success",
  code,
});

export const unclassified = (message: string, cause?: unknown): StatusError =>
  failure(500, "", message, undefined, cause);

/** Returns the error of a stored object that can no longer be decoded. */
export const storageReadError = (name: string, cause: unknown): StatusError =>
  failure(
    500,
    "StorageReadError",
    "data from the storage is not transformable or decodable",
    { name, causes: [{ reason: "UnexpectedServerResponse", field: "metadata.name", message: name }] },
    cause,
  );

/** Returns the error of a collection with unreadable objects, listed by key; `of` names their resource. */
export const unreadableObjects = (
  of: ResourceName,
  problems: readonly { readonly key: string; readonly problem: string }[],
): StatusError =>
  failure(500, "StorageReadError", `failed to read one or more ${qualifiedResource(of)} from the storage`, {
    ...detailsOf(of, "list"),
    causes: problems.map(({ key, problem }) => ({
      reason: "UnexpectedServerResponse",
      message: `StorageError: corrupt object, Code: 7, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${problem}`,
      field: key,
    })),
  });

/** Returns the error of a patch that cannot be applied to this object. `cause` is for the log only. */
export const failedPatch = (cause: unknown): StatusError =>
  failure(422, "Invalid", "the server rejected our request due to an error in our request", {}, cause);

/** Returns the error of another server that gave no `Status`, by its code alone. */
export function genericFailure(code: number, of: ResourceName, name: string): StatusError {
  const [reason, message] = genericFailures[code] ?? [
    code >= 500 ? "InternalError" : "",
    `the server responded with the status code ${code} but did not return more information`,
  ];
  return failure(code, reason, `${message} ( ${qualifiedResource(of)} ${name})`, detailsOf(of, name));
}

/** Reasons and messages of `genericFailure` by code. */
const genericFailures: Readonly<Record<number, readonly [string, string]>> = {
  401: ["Unauthorized", "the server has asked for the client to provide credentials"],
  403: ["Forbidden", "the server does not allow access to the requested resource"],
  404: ["NotFound", "the server could not find the requested resource"],
  405: ["MethodNotAllowed", "the server does not allow this method on the requested resource"],
  503: ["ServiceUnavailable", "the server is currently unable to handle the request"],
  504: [
    "Timeout",
    "the server was unable to return a response in the time allotted, but may still be processing the request",
  ],
};

export const serviceUnavailable = (message: string): StatusError => failure(503, "ServiceUnavailable", message);

export const timeout = (message: string, retryAfterSeconds?: number): StatusError =>
  failure(504, "Timeout", `Timeout: ${message}`, retryAfterSeconds === undefined ? {} : { retryAfterSeconds });

/** Returns the error of a version that the store has not reached yet. */
export const tooLargeResourceVersion = (wanted: string, current: string): StatusError =>
  failure(504, "Timeout", `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
