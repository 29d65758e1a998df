/** The target of a call: a kind, or a subresource of it, in a cluster; and the paths and options of calls. */
import { apiPathOf, apiVersionOf } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { unlessAborted } from "#std/abort.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import type { BodyKind, Kind } from "../kind.ts";
import { jsonBody, type RestClient } from "../rest-client.ts";

/** The parts of a cluster that calls need. */
export interface ClusterParts {
  readonly rest: RestClient;
  readonly clock: Clock;
  readonly random: Random;
  /** The field manager of writes. */
  readonly manager: string;
  /** The namespace of calls that name none. */
  readonly namespace: string;
  /** Returns the name that a group has in the cluster. */
  readonly groupOf: (group: string) => MaybePromise<string>;
  /** Ends what goes on by itself, such as watches: it is aborted when the cluster is closed. */
  readonly closing: AbortSignal;
}

export interface CallTarget {
  readonly parts: ClusterParts;
  readonly kind: Kind;
  /** The kind of the bodies of requests. */
  readonly body: BodyKind;
  /** The namespace that the caller chose for all calls. */
  readonly namespace: string | undefined;
  /** The name of the subresource; empty for the object itself. */
  readonly subresource: string;
}

/** Options of every call. */
export interface CallOptions {
  /** The namespace; default: that of `in()`, that of the object, or that of the connection. */
  readonly in?: string | undefined;
  /** Ends the call: it rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
}

export interface WriteCallOptions extends CallOptions {
  /** Whether the server does everything but store the result. */
  readonly dryRun?: boolean | undefined;
  /** The field manager; default: that of the connection. */
  readonly manager?: string | undefined;
}

/** Selectors of objects. */
export interface Selection {
  /** The labels that objects must have: a selector (`"rig=gaff,!sunk"`), or values by key, several of which are a choice. */
  readonly labels?: string | Readonly<Record<string, string | readonly string[]>> | undefined;
  /** The fields that objects must have: a selector (`"spec.nodeName=a"`), or values by field. */
  readonly fields?: string | Readonly<Record<string, string>> | undefined;
}

/** Parameters of a query; those that are undefined are left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export function queryOf(parameters: Query): string {
  const entries = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return entries.length === 0 ? "" : `?${entries.join("&")}`;
}

/** Returns the parameters of a write. */
export const writeQuery = (
  { parts }: CallTarget,
  { dryRun = false, manager = parts.manager }: WriteCallOptions,
): Query => ({
  dryRun: dryRun ? "All" : undefined,
  fieldManager: manager,
});

export function selectionQuery({ labels, fields }: Selection): {
  readonly labelSelector: string | undefined;
  readonly fieldSelector: string | undefined;
} {
  const labelSelector = typeof labels === "object" ? Object.entries(labels).map(labelRequirement).join() : labels;
  const fieldSelector =
    typeof fields === "object"
      ? Object.entries(fields)
          .map(([field, value]) => `${field}=${value.replaceAll(/[\\,=]/g, "\\$&")}`)
          .join()
      : fields;
  return { labelSelector: labelSelector || undefined, fieldSelector: fieldSelector || undefined };
}

/** Returns the requirement of a label. Throws for a key or a value that no label has, which would mean something else. */
function labelRequirement([key, value]: [string, string | readonly string[]]): string {
  const values = typeof value === "string" ? [value] : value;
  const wrong = [key, ...values].find((text) => !/^[\w./-]*$/.test(text));
  if (wrong !== undefined) throw new TypeError(`${JSON.stringify(wrong)} is no key or value of a label`);
  return typeof value === "string" ? `${key}=${value}` : `${key} in (${value.join()})`;
}

/**
 * Returns the path of the collection: of one namespace, or of all of them for `undefined`. Waits for the name of the
 * group; rejects with the reason of a signal that is aborted meanwhile.
 */
export async function collectionPath(
  { parts, kind }: CallTarget,
  namespace: string | undefined,
  signal: AbortSignal | undefined,
): Promise<string> {
  const root = apiPathOf({ group: await unlessAborted(parts.groupOf(kind.group), signal), version: kind.version });
  const where = kind.namespaced && namespace !== undefined ? `/namespaces/${segment(namespace, "namespace")}` : "";
  return `${root}${where}/${kind.resource}`;
}

/** Returns the path of an object, or of its subresource. `object` is what is sent there. */
export async function objectPath(
  target: CallTarget,
  name: string,
  options: CallOptions,
  object?: OutgoingObject,
): Promise<string> {
  const collection = await collectionPath(target, namespaceOf(target, options, object), options.signal);
  const part = target.subresource === "" ? "" : `/${segment(target.subresource, "subresource")}`;
  return `${collection}/${segment(name, "name")}${part}`;
}

/** Returns a name as a part of a path. Throws for a name that would lead to another path, such as the empty one. */
function segment(name: string, what: string): string {
  // Programs in JavaScript have no compiler that tells them of a missing name.
  if (typeof name !== "string" || !name.isWellFormed()) throw new TypeError(`the ${what} of an object must be text`);
  if (name === "" || name === "." || name === ".." || name.includes("/")) {
    throw new TypeError(`${JSON.stringify(name)} is no ${what} of an object`);
  }
  return encodeURIComponent(name);
}

/** Returns the namespace of a call on one object. */
export function namespaceOf(target: CallTarget, options: CallOptions, object?: OutgoingObject): string {
  return options.in ?? target.namespace ?? object?.metadata?.namespace ?? target.parts.namespace;
}

/** An object as programs send it. */
export interface OutgoingObject {
  readonly apiVersion?: string | undefined;
  readonly kind?: string | undefined;
  readonly metadata?:
    | {
        readonly name?: string | undefined;
        readonly namespace?: string | undefined;
        readonly resourceVersion?: string | undefined;
      }
    | undefined;
}

/** Returns the body of a request: an object with its kind and `apiVersion`, in the cluster's name of the group. */
export async function encodeObject(
  { parts, body }: CallTarget,
  object: OutgoingObject,
  contentType?: string,
): Promise<ReturnType<typeof jsonBody>> {
  const { version, kind } = body;
  const own = apiVersionOf(body);
  const { apiVersion = own } = object;
  const renamed = apiVersionOf({ group: await parts.groupOf(body.group), version });
  return jsonBody({ kind, ...object, apiVersion: apiVersion === own ? renamed : apiVersion }, contentType);
}

/** Returns an item of a list with its kind and `apiVersion`, which servers leave out there. */
export async function itemCompleter<T extends ApiObject>({ parts, kind }: CallTarget): Promise<(item: T) => T> {
  const apiVersion = apiVersionOf({ group: await parts.groupOf(kind.group), version: kind.version });
  return (item) => ({ apiVersion, kind: kind.kind, ...item });
}
