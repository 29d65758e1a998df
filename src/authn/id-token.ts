/**
 * The claims of an ID token that have a meaning for every provider: their types, audiences and times, as the library
 * that upstream uses decodes them. Source: OpenID Connect Core 1.0 section 2, and the answers of kube-apiserver.
 */
import { isObject } from "#std/is-object.ts";
import type { Jwt } from "./jwt.ts";

interface IdToken {
  readonly audiences: readonly string[];
  /** The times in whole seconds since the epoch; `undefined` when a token has none. */
  readonly expiry: number | undefined;
  readonly notBefore: number | undefined;
}

/** Reads the claims of a token; `undefined` if one of them has another type than it must have. */
export function readIdToken({ claims }: Pick<Jwt, "claims">): IdToken | undefined {
  const { sub, nonce, at_hash: accessTokenHash, aud, exp, nbf, iat } = claims;
  if (![sub, nonce, accessTokenHash].every(isTextOrNone)) return undefined;
  if (!haveSources(claims["_claim_names"], claims["_claim_sources"])) return undefined;
  const audiences = audiencesOf(aud);
  const times = [exp, iat, nbf ?? undefined].map((time) => (time === undefined ? undefined : seconds(time)));
  if (audiences === undefined || times.includes(Number.NaN)) return undefined;
  const [expiry, , notBefore] = times;
  return { audiences, expiry, notBefore };
}

const isNone = (value: unknown): value is null | undefined => value === null || value === undefined;
const isTextOrNone = (value: unknown): value is string | null | undefined => isNone(value) || typeof value === "string";

function audiencesOf(value: unknown): readonly string[] | undefined {
  if (isNone(value)) return [];
  if (typeof value === "string") return [value];
  return Array.isArray(value) && value.every(isTextOrNone) ? value.map((one) => one ?? "") : undefined;
}

/** Matches a number as JSON writes it, which may be in quotes. */
const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

/** Returns the whole seconds of a time; NaN if it is no number. */
function seconds(value: unknown): number {
  const number = typeof value === "string" && jsonNumber.test(value) ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? Math.trunc(number) : Number.NaN;
}

/** Whether claims that are kept elsewhere have a source. They are not fetched. */
function haveSources(names: unknown, given: unknown): boolean {
  if (![names, given].every((value) => isNone(value) || isObject(value))) return false;
  const sources = (given ?? {}) as Readonly<Record<string, unknown>>; // an object, as was checked
  const areGood = Object.values(sources).every((source) => {
    if (isNone(source)) return true;
    return isObject(source) && [source["endpoint"], source["access_token"]].every(isTextOrNone);
  });
  const wanted = Object.values(names ?? {}) as readonly unknown[]; // the values of an object
  return areGood && wanted.every((name) => isTextOrNone(name) && Object.hasOwn(sources, name ?? ""));
}
