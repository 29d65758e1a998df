/** `ApiError`: the refusal of a request by a server, with the request that was refused. */
import { type Status, StatusError } from "#meta/status-error.ts";
import { oneLine } from "#std/printable.ts";
import type { ClientRequest } from "./transport.ts";

/** A request as errors name it. */
type FailedRequest = Pick<ClientRequest, "method" | "path">;

interface ApiErrorOptions extends ErrorOptions {
  /** The time that the server asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The message, in place of the usual one; it is made one line. */
  readonly message?: string;
}

/**
 * A request that the server refused. The message is one line that names method and object:
 * `GET pods "web" in "shop": pods "web" not found`. `status` is the whole answer.
 */
export class ApiError extends StatusError {
  /** The reason, such as `NotFound`, `Conflict` or `Forbidden`; empty if the server gave none. */
  readonly reason: string;
  /** The HTTP code. */
  readonly code: number;
  readonly method: ClientRequest["method"];
  /** The path of the request, with its query. */
  readonly path: string;
  /** The message of the server alone. */
  readonly said: string;
  /** The time that the server asks to wait before the next request, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(request: FailedRequest, status: Status, { retryAfterMs, message, ...options }: ApiErrorOptions = {}) {
    const said = status.message ?? `the server answered ${status.code}`;
    super(status, { ...options, message: oneLine(message ?? `${describeRequest(request)}: ${said}`) });
    this.name = "ApiError";
    this.reason = status.reason ?? "";
    this.code = status.code;
    this.method = request.method;
    this.path = request.path;
    this.said = said;
    const seconds = status.details?.retryAfterSeconds;
    this.retryAfterMs = retryAfterMs ?? (seconds === undefined ? undefined : seconds * 1000);
  }
}

/** Returns the method and what the path names: `PUT deployments/scale "web" in "shop"`, `GET /version`. */
export function describeRequest({ method, path }: FailedRequest): string {
  const plain = path.split("?", 1)[0]!;
  const parts = /^\/(?:api|apis\/[^/]+)\/[^/]+\/(.+)$/.exec(plain)?.[1]?.split("/").map(decoded);
  if (parts === undefined) return `${method} ${plain}`;
  const hasNamespace = parts[0] === "namespaces" && parts.length > 2 && !/^(?:status|finalize)$/.test(parts[2]!);
  const [resource, name, ...rest] = hasNamespace ? parts.slice(2) : parts;
  const called = name === undefined ? "" : ` ${JSON.stringify(name)}`;
  const where = hasNamespace ? ` in ${JSON.stringify(parts[1])}` : "";
  return `${method} ${[resource, ...rest].join("/")}${called}${where}`;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // it has a `%` that begins no escape
  }
}
