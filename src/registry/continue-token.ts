/**
 * Tokens that say where the next chunk of a list starts and at which revision. Clients treat them as opaque; the form
 * is upstream's (base64url of a small JSON object), so tools that peek into one understand it.
 */
import { badRequest } from "#meta/status-error.ts";
import type { Revision } from "#storage/backend.ts";

export interface Continue {
  /** Revision of the first chunk; -1 asks for the rest at the present revision, giving up consistency. */
  readonly revision: Revision;
  /** First key wanted, relative to the prefix of the list. */
  readonly start: string;
}

const version = "meta.k8s.io/v1";
const lengthMax = 4096;

export function encodeContinue(token: Continue): string {
  return Buffer.from(JSON.stringify({ v: version, rv: token.revision, start: token.start })).toString("base64url");
}

/** Throws `badRequest` for everything that did not come from `encodeContinue`. */
export function decodeContinue(text: string): Continue {
  if (text.length > lengthMax || !/^[A-Za-z0-9_-]+$/.test(text)) throw invalidToken("illegal base64 data");
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(text, "base64url").toString());
  } catch (cause) {
    throw invalidToken("no JSON inside", cause);
  }
  if (typeof value !== "object" || value === null) throw invalidToken("no object inside");
  const { v, rv, start } = value as Record<string, unknown>; // checked next
  if (v !== version) throw invalidToken(`server does not recognize this encoded version ${JSON.stringify(v)}`);
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0 || rv < -1) {
    throw invalidToken("incorrect encoded start resourceVersion (version meta.k8s.io/v1)");
  }
  if (typeof start !== "string" || start === "") throw invalidToken("encoded start key empty (version meta.k8s.io/v1)");
  // Invariant: a start key stays inside its list, so no segment may step out of it.
  if (start.startsWith("/") || /(^|\/)\.{1,2}(\/|\0|$)/.test(start)) throw invalidToken(`invalid start key: ${start}`);
  return { revision: rv, start };
}

function invalidToken(reason: string, cause?: unknown): Error {
  return badRequest(`continue key is not valid: ${reason}`, cause);
}
