/** Calls on one object, or on a subresource of it. */
import { isDeepStrictEqual } from "node:util";
import type { ApiObject } from "#meta/object-meta.ts";
import type { StatusCause } from "#meta/status-error.ts";
import { pause } from "#std/clock.ts";
import { ApiError } from "../api-error.ts";
import type { Mutable, Patch } from "../draft.ts";
import { parseExactJson } from "../parse-json.ts";
import { jsonBody } from "../rest-client.ts";
import type { ClientRequest } from "../transport.ts";
import {
  type CallOptions,
  encodeObject,
  objectPath,
  type Query,
  queryOf,
  type OutgoingObject,
  type CallTarget,
  type WriteCallOptions,
  writeQuery,
} from "./target.ts";

export interface ApplyCallOptions extends WriteCallOptions {
  /** Whether fields are taken from other managers. */
  readonly force?: boolean | undefined;
}

/** A field that another manager owns with another value. */
export interface FieldConflict {
  /** The path of the field: `.spec.length`. */
  readonly field: string;
  /** The manager that owns it; empty if the server does not say. */
  readonly manager: string;
  /** The words of the server. */
  readonly message: string;
}

/** The outcome of an apply: the object, or the conflicts that kept everything as it was. */
export type Applied<T> =
  | { readonly object: T; readonly conflicts: undefined }
  | { readonly object: undefined; readonly conflicts: readonly FieldConflict[] };

/** An object that is sent under a name. */
type NamedObject = OutgoingObject & {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
};

export async function get<T>(target: CallTarget, name: string, options: CallOptions): Promise<T> {
  return target.parts.rest.call<T>(await readRequest(target, name, options));
}

async function readRequest(target: CallTarget, name: string, options: CallOptions): Promise<ClientRequest> {
  options.signal?.throwIfAborted();
  return { method: "GET", path: await objectPath(target, name, options), signal: options.signal };
}

/** Returns the request of a write. `query` has parameters beyond those of all writes. */
const writeRequest = (
  target: CallTarget,
  request: Pick<ClientRequest, "method" | "path" | "contentType" | "body">,
  options: WriteCallOptions,
  query: Query = {},
): ClientRequest => ({
  ...request,
  path: request.path + queryOf({ ...writeQuery(target, options), ...query }),
  signal: options.signal,
});

/** Creates an object at a path: that of a collection, or of a subresource. */
export async function create<T>(
  target: CallTarget,
  path: string,
  object: OutgoingObject,
  options: WriteCallOptions,
): Promise<T> {
  const request = { method: "POST", path, ...(await encodeObject(target, object)) } as const;
  return target.parts.rest.call<T>(writeRequest(target, request, options));
}

export async function replace<T>(target: CallTarget, object: NamedObject, options: WriteCallOptions): Promise<T> {
  options.signal?.throwIfAborted();
  const path = await objectPath(target, object.metadata.name, options, object);
  const request = { method: "PUT", path, ...(await encodeObject(target, object)) } as const;
  return target.parts.rest.call<T>(writeRequest(target, request, options));
}

export async function apply<T>(
  target: CallTarget,
  object: NamedObject,
  options: ApplyCallOptions,
): Promise<Applied<T>> {
  options.signal?.throwIfAborted();
  const path = await objectPath(target, object.metadata.name, options, object);
  const force = options.force === true ? true : undefined;
  const body = await encodeObject(target, object, "application/apply-patch+yaml");
  const request = writeRequest(target, { method: "PATCH", path, ...body }, options, { force });
  try {
    return { object: await target.parts.rest.call<T>(request), conflicts: undefined };
  } catch (error) {
    const conflicts = error instanceof ApiError && error.code === 409 ? fieldConflicts(error) : [];
    if (conflicts.length === 0) throw error;
    return { object: undefined, conflicts };
  }
}

const fieldConflicts = ({ status }: ApiError): readonly FieldConflict[] =>
  (status.details?.causes ?? []).filter(({ reason }) => reason === "FieldManagerConflict").map(conflictOf);

/** Reads the manager from the words that every server has: `conflict with "kubectl" using apps/v1`. */
function conflictOf({ field = "", message = "" }: StatusCause): FieldConflict {
  const quoted = /^conflict with ("(?:[^"\\]|\\.)*")/.exec(message)?.[1];
  return { field, manager: quoted === undefined ? "" : unquoted(quoted), message };
}

function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text.slice(1, -1); // Go has escapes that JSON lacks
  }
}

const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
} as const;

/** `T` is the type of the answer, and `P` of what is patched. */
export async function patch<T, P>(
  target: CallTarget,
  name: string,
  change: Patch<P>,
  options: WriteCallOptions,
): Promise<T> {
  options.signal?.throwIfAborted();
  const [[form, body], ...others] = Object.entries(change) as [[keyof typeof patchTypes, unknown]];
  if (others.length > 0) throw new TypeError("a patch has one form: merge, json or strategic");
  const path = await objectPath(target, name, options);
  const request = { method: "PATCH", path, ...jsonBody(body, patchTypes[form]) } as const;
  return target.parts.rest.call<T>(writeRequest(target, request, options));
}

const attemptsMax = 10;
const pauseMaxMs = 1000;

/**
 * Reads the object, lets `edit` change a copy of it, and writes the copy, again after a conflict. Numbers that JavaScript
 * cannot represent are written as they were read.
 */
export async function change<T extends ApiObject>(
  target: CallTarget,
  name: string,
  edit: (object: Mutable<T>) => unknown,
  options: WriteCallOptions,
): Promise<T> {
  const { clock, random } = target.parts;
  const signal = options.signal ?? new AbortController().signal;
  for (let attempt = 1; ; attempt++) {
    const before = await target.parts.rest.exact<T>(await readRequest(target, name, options));
    const text = JSON.stringify(before);
    const copy = parseExactJson(text) as Mutable<T>; // a copy may be changed
    await edit(copy);
    if (isDeepStrictEqual(before, copy)) return JSON.parse(text) as T; // the same object, as all calls return it
    try {
      return await replace<T>(target, copy as NamedObject, options); // the server has named what it returned
    } catch (error) {
      const isConflict = error instanceof ApiError && error.reason === "Conflict";
      if (!isConflict || attempt === attemptsMax) throw error;
    }
    await pause(clock, Math.min(10 * 2 ** attempt, pauseMaxMs) * random.next(), signal);
  }
}

/** Whether the server said that there is no such object. A kind or path that is not served is a failure instead. */
export const isAbsent = (error: unknown): boolean =>
  error instanceof ApiError && error.code === 404 && (error.status.details?.name ?? "") !== "";
