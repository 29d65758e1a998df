/**
 * Tokens that say where the next chunk of a list starts and at which revision. Clients treat them as opaque; the form
 * is upstream's (base64url of a small JSON object), so tools that peek into one understand it.
 */
import { posix } from "node:path";
import { decodeJson } from "#codec/json.ts";
import { badRequest } from "#meta/status-error.ts";
import type { DecodeError } from "#schema/decode-error.ts";
import { type Int64, isInt64, nearestNumber } from "#std/int64.ts";
import { isRawNumber } from "#std/raw-number.ts";
import type { Revision } from "#storage/backend.ts";

export interface Continue {
  /** Revision of the first chunk; -1 asks for the rest at the present revision, giving up consistency. */
  readonly revision: Revision;
  /** First key wanted, relative to the prefix of the list. */
  readonly start: string;
}

const version = "meta.k8s.io/v1";

export function encodeContinue(token: Continue): string {
  return Buffer.from(JSON.stringify({ v: version, rv: token.revision, start: token.start })).toString("base64url");
}

/** Throws `badRequest` for what `encodeContinue` cannot have made, in upstream's words. */
export function decodeContinue(text: string): Continue {
  const { v, rv, start } = fieldsOf(text);
  if ((v ?? "") !== version) throw invalidToken(`server does not recognize this encoded version ${v ?? ""}`);
  const revision = nearestNumber(rv ?? 0);
  if (revision === 0) throw invalidToken("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  if ((start ?? "") === "") throw invalidToken("encoded start key empty (version meta.k8s.io/v1)");
  // Invariant: a start key stays inside its list, so no segment may step out of it.
  const key = start!.startsWith("/") ? start! : `/${start}`;
  if (posix.normalize(key) !== key || (key !== "/" && key.endsWith("/"))) throw invalidToken(start!);
  return { revision: Math.max(revision, -1), start: key.slice(1) };
}

interface Fields {
  readonly v?: string | null;
  readonly rv?: Int64 | null;
  readonly start?: string | null;
}

function fieldsOf(text: string): Fields {
  const wrong = /[^A-Za-z0-9_\-\r\n]/.exec(text)?.index;
  const length = text.replace(/[\r\n]/g, "").length;
  if (wrong !== undefined || length % 4 === 1) {
    throw invalidToken(`illegal base64 data at input byte ${wrong ?? text.length - 1}`);
  }
  let value: unknown;
  try {
    ({ value } = decodeJson(Buffer.from(text, "base64url")));
  } catch (cause) {
    throw invalidToken((cause as DecodeError).message, cause);
  }
  value ??= {};
  if (jsonTypeOf(value) !== "object") {
    throw invalidToken(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type storage.continueToken`);
  }
  const fields = value as Readonly<Record<string, unknown>>; // an object
  for (const [name, type] of fieldTypes) {
    const field = fields[name] ?? undefined;
    if (field === undefined) continue;
    const found = jsonTypeOf(field);
    const literal = JSON.stringify(field);
    if (type === "string" ? found === "string" : found === "number" && isInt64(literal)) continue;
    const what = type === "int64" && found === "number" ? `number ${literal}` : found;
    throw invalidToken(`json: cannot unmarshal ${what} into Go struct field continueToken.${name} of type ${type}`);
  }
  return fields as Fields; // just checked
}

const fieldTypes = [
  ["v", "string"],
  ["rv", "int64"],
  ["start", "string"],
] as const;

function jsonTypeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (isRawNumber(value)) return "number";
  return typeof value === "boolean" ? "bool" : typeof value;
}

function invalidToken(reason: string, cause?: unknown): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${reason}`, cause);
}
