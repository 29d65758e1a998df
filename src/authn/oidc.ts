/**
 * Authenticates ID tokens of OpenID Connect providers. The issuer selects the provider; signature, audience and times
 * are checked; then claims are mapped to a user. Results of valid tokens are cached by digest until they expire. Hot
 * path: a known token costs one digest. Source: upstream's `plugin/pkg/authenticator/token/oidc`.
 */
import { decodeJson } from "#codec/json.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import { isObject } from "#std/is-object.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { type Authentication, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";
import { tokenDigest } from "./token-digest.ts";
import { readIdToken } from "./id-token.ts";
import { type Jwt, parseJwt, SignatureVerifier, textClaim } from "./jwt.ts";
import { ClaimError, type ClaimRules, type Claims, userOfClaims } from "./oidc-claims.ts";
import type { OidcProvider } from "./oidc-provider.ts";

/** A provider and the requirements on its tokens. */
export interface TokenIssuer {
  readonly url: string;
  /** The audiences, of which a token must have one. */
  readonly audiences: readonly string[];
  /** The names of allowed algorithms, as in RFC 7518. */
  readonly algorithms: readonly string[];
  readonly rules: ClaimRules;
  readonly provider: OidcProvider;
}

interface VerifiedToken {
  readonly answer: Authentication;
  readonly issuer: TokenIssuer;
  readonly generation: number;
  readonly expiryMs: number;
}

/** Gets the issuer of a token that was checked, the result, and how long the check took. */
type TokenObserver = (issuer: string, result: "success" | "failure", seconds: number) => void;

const verifiedTokensMax = 4096;
/** The allowed clock skew before a token becomes valid, the same as upstream's. */
const notBeforeLeewayMs = 60_000;
/** The last second that is a time in Go; a later one lies in its past. */
const lastSecond = 2 ** 63 - 62_135_596_800;

export class OidcTokens implements TokenAuthenticator {
  readonly #clock: Clock;
  readonly #observe: TokenObserver;
  readonly #verifier = new SignatureVerifier();
  #verifiedTokens = new ExpiringCache<VerifiedToken>(verifiedTokensMax);
  #issuers: ReadonlyMap<string, TokenIssuer> = new Map();

  /** `observe` is called after each check of a token that was not known. */
  constructor(clock: Clock, observe: TokenObserver = () => undefined) {
    this.#clock = clock;
    this.#observe = observe;
  }

  /** Replaces the issuers and clears the cache of tokens. */
  use(issuers: readonly TokenIssuer[]): void {
    this.#issuers = new Map(issuers.map((issuer) => [issuer.url, issuer]));
    this.#verifiedTokens = new ExpiringCache(verifiedTokensMax);
  }

  authenticateToken(token: string): MaybePromise<Authentication> {
    if (this.#issuers.size === 0 || !token.includes(".")) return noCredentials;
    const digest = tokenDigest(token);
    const cached = this.#verifiedTokens.get(digest);
    if (cached !== undefined && cached.generation === cached.issuer.provider.generation) {
      return this.#clock.now() < cached.expiryMs ? cached.answer : refuse("token is expired");
    }
    const jwt = parseJwt(token);
    const issuer = jwt === undefined ? undefined : this.#issuers.get(issuerOf(jwt));
    return jwt === undefined || issuer === undefined ? noCredentials : this.#verify(issuer, jwt, digest);
  }

  async #verify(issuer: TokenIssuer, jwt: Jwt, digest: string): Promise<Authentication> {
    const startMs = this.#clock.monotonic();
    const answer = await this.#check(issuer, jwt, digest);
    const result = answer.outcome === "user" ? "success" : "failure";
    this.#observe(issuer.url, result, (this.#clock.monotonic() - startMs) / 1000);
    return answer;
  }

  async #check(issuer: TokenIssuer, jwt: Jwt, digest: string): Promise<Authentication> {
    const { provider } = issuer;
    if (provider.keysFor("") === undefined) return refuse(`authenticator for issuer ${issuer.url} is not initialized`);
    // A token that can be refused without verifying its signature is not verified.
    const idToken = readIdToken(jwt);
    const problem = problemOf(issuer, jwt, idToken, this.#clock.now());
    if (problem !== undefined) return refuse(problem);
    let { generation } = provider;
    let isGood = await this.#isSigned(issuer, jwt);
    if (!isGood) {
      const fetched = provider.fetchAgain();
      if (fetched !== undefined) {
        await fetched;
        if (provider.generation !== generation) {
          ({ generation } = provider);
          isGood = await this.#isSigned(issuer, jwt);
        }
      }
    }
    if (!isGood) return refuse("failed to verify signature");
    try {
      const answer: Authentication = { outcome: "user", user: userOfClaims(issuer.rules, exactClaims(jwt)) };
      const expiryMs = (idToken?.expiry ?? 0) * 1000;
      if (this.#issuers.get(issuer.url) === issuer)
        this.#verifiedTokens.set(digest, { answer, issuer, generation, expiryMs });
      return answer;
    } catch (error) {
      if (error instanceof ClaimError) return { outcome: "refused", reason: error.message };
      throw error;
    }
  }

  async #isSigned({ provider, algorithms }: TokenIssuer, jwt: Jwt): Promise<boolean> {
    for (const key of provider.keysFor(jwt.keyId) ?? []) {
      if (await this.#verifier.verify(jwt, key, algorithms)) return true;
    }
    return false;
  }
}

/** Returns the issuer of a token. Upstream: one provider leaves out the scheme in some of its tokens. */
export function issuerOf({ claims }: Jwt): string {
  const issuer = textClaim(claims, "iss") ?? "";
  return issuer === "accounts.google.com" ? `https://${issuer}` : issuer;
}

/** Returns the claims with the numbers as they are written, and without half characters. Throws `ClaimError`. */
function exactClaims({ claims, signed }: Jwt): Claims {
  try {
    const { value } = decodeJson(Buffer.from(signed.slice(signed.indexOf(".") + 1), "base64url"));
    return isObject(value) ? value : claims;
  } catch (error) {
    throw new ClaimError(error instanceof Error ? error.message : "the claims are no JSON");
  }
}

function problemOf(
  { audiences, algorithms }: TokenIssuer,
  { algorithm }: Jwt,
  idToken: ReturnType<typeof readIdToken>,
  nowMs: number,
) {
  if (!algorithms.includes(algorithm)) return "token is signed with another algorithm than the allowed";
  if (idToken === undefined) return "a claim of the token has another type than it must have";
  const { expiry, notBefore } = idToken;
  if (!idToken.audiences.some((audience) => audiences.includes(audience))) return "token is meant for another audience";
  if (expiry === undefined) return "token has no expiry";
  if (nowMs > expiry * 1000 || expiry > lastSecond) return "token is expired";
  return notBefore !== undefined && nowMs + notBeforeLeewayMs < notBefore * 1000 ? "token is not valid yet" : undefined;
}

const refuse = (reason: string): Authentication => ({ outcome: "refused", reason: `oidc: ${reason}` });
