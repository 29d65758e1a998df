/**
 * JSON Web Tokens in compact form: parsing, verification, signing. Source: RFC 7515, 7518 and 7519.
 *
 * The key alone decides which algorithms are allowed, never the token. A token that says `none`, or HS256 with a public
 * key as the shared secret, therefore finds no key.
 *
 * Hot path under floods of bad tokens: cheap signatures are verified on the event loop, because handing them to another
 * thread costs more, but only a few in each turn of the loop, so that other requests are not delayed. Expensive
 * signatures go to other threads, a few at a time. Figures: docs/performance.md.
 */
import { constants, type KeyObject, sign, verify } from "node:crypto";
import { tooManyRequests } from "#meta/status-error.ts";
import { Deque } from "#std/deque.ts";
import { isObject } from "#std/is-object.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** A parsed token; untrusted until its signature is verified. */
export interface Jwt {
  readonly algorithm: string;
  /** The `kid`; empty when there is none. */
  readonly keyId: string;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The signed part, which is ASCII. */
  readonly signed: string;
  readonly signature: Buffer;
}

/** The maximum length of a token; no token in a header field is longer. */
export const tokenLengthMax = 65_536;

/**
 * Parses a token; `undefined` for a text that is no token of this form, and for one with headers that must be
 * understood (`crit`).
 */
export function parseJwt(token: string): Jwt | undefined {
  if (token.length > tokenLengthMax) return undefined;
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  if (first <= 0 || second <= first + 1 || !compactForm.test(token)) return undefined;
  const header = decodeJson(token.slice(0, first));
  const claims = decodeJson(token.slice(first + 1, second));
  if (header === undefined || claims === undefined || Object.hasOwn(header, "crit")) return undefined;
  const { alg } = header;
  const kid = header["kid"] ?? "";
  if (typeof alg !== "string" || typeof kid !== "string") return undefined;
  const signature = Buffer.from(token.slice(second + 1), "base64url");
  // A signature has only one form: with other unused bits in its last letter the token would be another one with the
  // same meaning.
  if (signature.toString("base64url") !== token.slice(second + 1)) return undefined;
  return {
    algorithm: alg,
    keyId: kid,
    claims,
    signed: token.slice(0, second),
    signature,
  };
}

const compactForm = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/**
 * Memory in which one token after the other is decoded: buffers of their own would pile up until the next collection.
 */
const scratch = Buffer.allocUnsafeSlow(tokenLengthMax);

function decodeJson(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(scratch.toString("utf8", 0, scratch.write(part, "base64url")));
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns a claim as text; `undefined` when it is missing or something else. */
export function textClaim(claims: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  return typeof value === "string" ? value : undefined;
}

/** Returns `aud`, which is one text or a list of texts; `undefined` when it is something else. */
export function audienceClaim(claims: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  const { aud } = claims;
  if (aud === undefined || aud === null) return [];
  if (typeof aud === "string") return [aud];
  return Array.isArray(aud) && aud.every((one) => typeof one === "string") ? aud : undefined;
}

/**
 * The times between which a token is valid, and the time when it was issued, in seconds since the epoch; absent ones
 * are not checked.
 */
export interface Times {
  readonly notBefore: number | undefined;
  readonly expiry: number | undefined;
  readonly issuedAt: number | undefined;
}

/** Returns the times; `undefined` when one of them is no number. */
export function timeClaims(claims: Readonly<Record<string, unknown>>): Times | undefined {
  const { nbf, exp, iat } = claims;
  for (const value of [nbf, exp, iat]) {
    if (value !== undefined && value !== null && !(typeof value === "number" && Number.isFinite(value)))
      return undefined;
  }
  const number = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return { notBefore: number(nbf), expiry: number(exp), issuedAt: number(iat) };
}

/** The allowed difference between clocks. Source: the library that upstream uses. */
export const leewayMs = 60_000;

type TimeProblem = "expired" | "not valid yet" | "issued in the future";

export function timeProblem({ notBefore, expiry, issuedAt }: Times, nowMs: number): TimeProblem | undefined {
  if (notBefore !== undefined && nowMs + leewayMs < notBefore * 1000) return "not valid yet";
  if (expiry !== undefined && nowMs - leewayMs > expiry * 1000) return "expired";
  return issuedAt !== undefined && nowMs + leewayMs < issuedAt * 1000 ? "issued in the future" : undefined;
}

interface Algorithm {
  readonly hash: "sha256" | "sha384" | "sha512";
  readonly keyType: "rsa" | "ec";
  /** The curve of an elliptic key. */
  readonly curve?: string;
  /** Whether it uses the probabilistic padding of RSA. */
  readonly isPss?: true;
}

const algorithms: ReadonlyMap<string, Algorithm> = new Map([
  ["RS256", { hash: "sha256", keyType: "rsa" }],
  ["RS384", { hash: "sha384", keyType: "rsa" }],
  ["RS512", { hash: "sha512", keyType: "rsa" }],
  ["ES256", { hash: "sha256", keyType: "ec", curve: "prime256v1" }],
  ["ES384", { hash: "sha384", keyType: "ec", curve: "secp384r1" }],
  ["ES512", { hash: "sha512", keyType: "ec", curve: "secp521r1" }],
  ["PS256", { hash: "sha256", keyType: "rsa", isPss: true }],
  ["PS384", { hash: "sha384", keyType: "rsa", isPss: true }],
  ["PS512", { hash: "sha512", keyType: "rsa", isPss: true }],
]);

interface KeyTraits {
  readonly algorithms: readonly string[];
  readonly isQuick: boolean;
}

const traits = new WeakMap<KeyObject, KeyTraits>();

function traitsOf(key: KeyObject): KeyTraits {
  let keyTraits = traits.get(key);
  if (keyTraits === undefined) {
    const { namedCurve: curve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
    const names = [...algorithms].flatMap(([name, { keyType, curve: wanted }]) =>
      key.asymmetricKeyType === keyType && wanted === (keyType === "ec" ? curve : undefined) ? [name] : [],
    );
    keyTraits = { algorithms: names, isQuick: curve === "prime256v1" || (modulusLength > 0 && modulusLength <= 4096) };
    traits.set(key, keyTraits);
  }
  return keyTraits;
}

/** Returns the algorithms that a key can be used with, the one for signing first; none for other kinds of keys. */
export const algorithmsOf = (key: KeyObject): readonly string[] => traitsOf(key).algorithms;

/** Signs with the first algorithm of `key`, which is a private one. */
export function signJwt(claims: object, key: KeyObject, keyId: string): Promise<string> {
  const name = algorithmsOf(key)[0];
  const algorithm = algorithms.get(name ?? "");
  if (algorithm === undefined) throw new Error("this kind of key signs no tokens");
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const signed = `${encode({ alg: name, kid: keyId })}.${encode(claims)}`;
  return new Promise((resolve, reject) => {
    sign(algorithm.hash, Buffer.from(signed), signing(algorithm, key), (error, signature) => {
      if (error === null) resolve(`${signed}.${signature.toString("base64url")}`);
      else reject(error);
    });
  });
}

function signing({ isPss }: Algorithm, key: KeyObject) {
  return {
    key,
    dsaEncoding: "ieee-p1363" as const,
    ...(isPss ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST } : {}),
  };
}

/** The number of signatures that other threads verify at the same time; files need the rest of these threads. */
const parallelMax = 2;
/** The number of quick signatures that are verified in one turn of the event loop: they take about a millisecond. */
const perRoundMax = 16;
/** The maximum number of waiting signatures; further callers are told to retry. */
const defaultWaitingMax = 10_000;

/** Verifies signatures in the order of arrival: those of quick keys among themselves, and those of others. */
export class SignatureVerifier {
  readonly #quick = new Deque<() => void>();
  readonly #dear = new Deque<() => void>();
  readonly #waitingMax: number;
  /** The number of verifications that other threads are doing. */
  #running = 0;
  #thisRound = 0;

  constructor(waitingMax = defaultWaitingMax) {
    this.#waitingMax = waitingMax;
  }

  /**
   * Whether `key` (a public one) made the signature with an algorithm that is the key's and among `allowed`.
   * Rejects with a `StatusError` (429) when too many wait: such a token was neither good nor bad.
   */
  verify(jwt: Jwt, key: KeyObject, allowed: readonly string[] = algorithmsOf(key)): MaybePromise<boolean> {
    const algorithm = algorithms.get(jwt.algorithm);
    if (algorithm === undefined || !allowed.includes(jwt.algorithm) || !algorithmsOf(key).includes(jwt.algorithm)) {
      return false;
    }
    if (!traitsOf(key).isQuick) {
      return this.#wait(this.#dear, (settle) => this.#verifyElsewhere(algorithm, jwt, key, settle));
    }
    if (this.#quick.length === 0 && this.#thisRound < perRoundMax) {
      this.#count();
      return isSigned(algorithm, jwt, key);
    }
    return this.#wait(this.#quick, (settle) => settle(isSigned(algorithm, jwt, key)));
  }

  #wait(queue: Deque<() => void>, work: (settle: (isGood: boolean) => void) => void): Promise<boolean> {
    if (queue.length >= this.#waitingMax) {
      return Promise.reject(tooManyRequests("too many new tokens wait to be verified, please try again later", 1));
    }
    return new Promise((resolve) => {
      queue.push(() => work(resolve));
      if (queue === this.#dear) this.#nextElsewhere();
    });
  }

  /** Counts a verification in this turn. The first one schedules the next turn. */
  #count(): void {
    if (this.#thisRound === 0) setImmediate(() => this.#nextRound());
    this.#thisRound += 1;
  }

  #nextRound(): void {
    this.#thisRound = 0;
    while (this.#quick.length > 0 && this.#thisRound < perRoundMax) {
      this.#count();
      this.#quick.shift()!();
    }
  }

  #verifyElsewhere(algorithm: Algorithm, jwt: Jwt, key: KeyObject, settle: (isGood: boolean) => void): void {
    const signed = Buffer.from(jwt.signed, "latin1");
    verify(algorithm.hash, signed, signing(algorithm, key), jwt.signature, (error, isGood) => {
      this.#running -= 1;
      settle(error === null && isGood);
      this.#nextElsewhere();
    });
  }

  #nextElsewhere(): void {
    while (this.#running < parallelMax && this.#dear.length > 0) {
      this.#running += 1;
      this.#dear.shift()!();
    }
  }
}

function isSigned(algorithm: Algorithm, jwt: Jwt, key: KeyObject): boolean {
  try {
    const signed = scratch.subarray(0, scratch.write(jwt.signed, "latin1"));
    return verify(algorithm.hash, signed, signing(algorithm, key), jwt.signature);
  } catch {
    // The signature does not have the form of the key's signatures.
    return false;
  }
}
