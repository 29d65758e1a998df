/** The options of connections and logs in the query of a request. Source: the answers of kube-apiserver. */
import { apiVersionOf } from "#meta/group-version.ts";
import { type FieldError, forbidden, goQuote, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { badRequest, invalidObject } from "#meta/status-error.ts";
import { formatTime, parseTime } from "#meta/time.ts";
import type { SubresourceDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { queryFlag } from "../../request-info.ts";
import type { Scope } from "../../scope.ts";

/**
 * Returns the options of the connection in the query, as an object of their kind; they include the path behind the
 * subresource. Throws `badRequest`.
 */
export function connectOptions({ definition, request }: Scope, { kind, proxyPath }: SubresourceDefinition): ApiObject {
  const options: Record<string, unknown> = { kind, apiVersion: apiVersionOf(definition) };
  for (const [name, { schema, omitempty }] of definition.schema.fields ?? []) {
    if (options[name] !== undefined || (name === "path" && proxyPath === true)) continue;
    const texts = request.query.getAll(name);
    const value = texts.length === 0 ? undefined : valueOf(texts, schema);
    if (value !== undefined && value !== false && value !== "") options[name] = value;
    else if (schema.type === "array" && omitempty !== true) options[name] = null;
  }
  if (proxyPath === true) {
    const behind = pathBehind(request.info);
    if (behind !== "") options["path"] = behind;
  }
  // Upstream: the object has no metadata. Plugins read metadata only of their own kinds.
  return options as Partial<ApiObject> as ApiObject;
}

/** Returns the path behind the subresource `proxy`. */
export function pathBehind({ path, resource, name }: Scope["request"]["info"]): string {
  const before = `/${resource}/${name}/proxy`;
  return path.slice(path.indexOf(before) + before.length);
}

function valueOf(texts: readonly string[], { type, items }: Schema): unknown {
  const [first = ""] = texts;
  if (type === "boolean") return first !== "0" && first.toLowerCase() !== "false";
  if (type !== "array") return first;
  return items?.type === "integer" ? texts.flatMap((text) => text.split(",")).map(portOf) : texts;
}

const portMax = 65_535;

function portOf(text: string): number {
  const isNumber = /^\d+$/.test(text);
  if (isNumber && Number(text) <= portMax) return Number(text);
  const why = isNumber ? "value out of range" : "invalid syntax";
  throw badRequest(`cannot convert to []int32: strconv.ParseUint: parsing ${goQuote(text)}: ${why}`);
}

/** The options of a request for the log of a container. */
export interface LogOptions {
  /** The container; empty for the only one. */
  readonly container: string;
  readonly skipsVerification: boolean;
  /** The parameters for the kubelet. */
  readonly parameters: URLSearchParams;
}

/** Throws `badRequest` for a value that cannot be read, and `invalidObject` for one that is not allowed. */
export function logOptions({ request, name, parts }: Pick<Scope, "request" | "name" | "parts">): LogOptions {
  const { query } = request;
  const number = (field: string): bigint | undefined => (query.has(field) ? integer(query.get(field)!) : undefined);
  const sinceSeconds = number("sinceSeconds");
  const sinceTime = query.has("sinceTime") ? timeOf(query.get("sinceTime")!) : undefined;
  const tailLines = number("tailLines");
  const limitBytes = number("limitBytes");
  const errors: FieldError[] = [];
  const below = (field: string, value: bigint | undefined, least: bigint, detail: string): void => {
    if (value !== undefined && value < least) errors.push(invalid(FieldPath.of(field), Number(value), detail));
  };
  below("tailLines", tailLines, 0n, "must be greater than or equal to 0");
  below("limitBytes", limitBytes, 1n, "must be greater than 0");
  if (sinceSeconds !== undefined && sinceTime !== undefined) {
    const detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
    errors.push(forbidden(FieldPath.of("[]"), detail));
  } else below("sinceSeconds", sinceSeconds, 1n, "must be greater than 0");
  if (parts.splitsLogs) checkStream(query.get("stream") ?? "All", tailLines, errors);
  else if (query.has("stream")) errors.push(forbidden(streamPath, "may not be specified"));
  if (errors.length > 0) throw invalidObject({ group: "", kind: "PodLogOptions" }, name, errors);

  const parameters = new URLSearchParams();
  for (const field of ["follow", "previous", "timestamps"]) {
    if (queryFlag(query.get(field))) parameters.set(field, "true");
  }
  for (const [field, value] of Object.entries({ limitBytes, sinceSeconds, sinceTime, tailLines })) {
    if (value !== undefined) parameters.set(field, String(value));
  }
  if (parts.splitsLogs) parameters.set("stream", query.get("stream") ?? "All");
  const skipsVerification = queryFlag(query.get("insecureSkipTLSVerifyBackend"));
  return { container: query.get("container") ?? "", skipsVerification, parameters };
}

const streamPath = FieldPath.of("stream");
const streams = ["All", "Stdout", "Stderr"];

function checkStream(stream: string, tailLines: bigint | undefined, errors: FieldError[]): void {
  if (!streams.includes(stream)) errors.push(notSupported(streamPath, stream, streams));
  if (stream === "All" || tailLines === undefined) return;
  const detail = "`tailLines` and specific `stream` are mutually exclusive for now";
  errors.push(forbidden(FieldPath.of("[]"), detail));
}

const integerMax = 2n ** 63n - 1n;

function integer(text: string): bigint {
  const bad = (why: string): Error => badRequest(`strconv.ParseInt: parsing ${goQuote(text)}: ${why}`);
  if (!/^[+-]?\d+$/.test(text)) throw bad("invalid syntax");
  const value = text.length > 20 ? integerMax + 1n : BigInt(text.replace(/^\+/, ""));
  if (value > integerMax || value < -integerMax - 1n) throw bad("value out of range");
  return value;
}

/** Returns the time in whole seconds, as it is written for the kubelet. An empty text is the zero time. */
function timeOf(text: string): string {
  if (text === "" || text === "null") return "0001-01-01T00:00:00Z";
  const instant = parseTime(text);
  if (typeof instant === "string") throw badRequest(instant);
  return formatTime({ ...instant, nanos: 0 });
}
