/**
 * Continue tokens: the start of a list's next chunk, and its revision. They are opaque to clients; the form is
 * upstream's (base64url of a small JSON object), for tools that decode it.
 */
import { posix } from "node:path";
import { decodeJson } from "#codec/json.ts";
import { badRequest } from "#meta/status-error.ts";
import type { DecodeError } from "#schema/decode-error.ts";
import type { Field, Schema } from "#schema/schema.ts";
import { decodeTyped } from "#schema/typed.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import type { Revision } from "#storage/log-store.ts";

export interface Continue {
  /** The revision of the first chunk; -1 asks for the rest at the present revision, without consistency. */
  readonly revision: Revision;
  /** The first key of the chunk, relative to the prefix of the list. */
  readonly start: string;
}

const version = "meta.k8s.io/v1";

export function encodeContinue(token: Continue): string {
  return Buffer.from(JSON.stringify({ v: version, rv: token.revision, start: token.start })).toString("base64url");
}

/** Decodes a token. Throws `badRequest`, in upstream's words, for a text that `encodeContinue` cannot have made. */
export function decodeContinue(text: string): Continue {
  const { v = "", rv = 0, start = "" } = fieldsOf(text);
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${v}`);
  const revision = nearestNumber(rv);
  if (revision === 0) throw invalidToken("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if (start === "") throw invalidToken("encoded start key empty (version meta.k8s.io/v1)");
  // Invariant: a start key stays inside its list, so no segment may step out of it.
  const key = start.startsWith("/") ? start : `/${start}`;
  if (posix.normalize(key) !== key || (key !== "/" && key.endsWith("/"))) throw invalidToken(start);
  return { revision: Math.max(revision, -1), start: key.slice(1) };
}

interface Fields {
  readonly v?: string;
  readonly rv?: Int64;
  readonly start?: string;
}

const schema: Schema = {
  type: "object",
  name: "continueToken",
  goType: "storage.continueToken",
  fields: new Map<string, Field>([
    ["v", { schema: { type: "string" } }],
    ["rv", { schema: { type: "integer", format: "int64" } }],
    ["start", { schema: { type: "string" } }],
  ]),
};

function fieldsOf(text: string): Fields {
  const wrong = /[^A-Za-z0-9_\-\r\n]/.exec(text)?.index;
  const length = text.replace(/[\r\n]/g, "").length;
  if (wrong !== undefined || length % 4 === 1) {
    throw invalidToken(`illegal base64 data at input byte ${wrong ?? text.length - 1}`);
  }
  try {
    const { value } = decodeJson(Buffer.from(text, "base64url"));
    return decodeTyped(schema, value ?? {}, { keys: 0, unknown: false }) as Fields; // the schema says so
  } catch (cause) {
    throw invalidToken((cause as DecodeError).message, cause);
  }
}

function invalidToken(reason: string, cause?: unknown): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${reason}`, cause);
}
