/**
 * Authenticates ID tokens of OpenID Connect providers. The issuer selects the provider; signature, audience and times
 * are checked; then claims are mapped to a user. Results of valid tokens are cached by digest until they expire. Hot
 * path: a known token costs one digest. Source: upstream's `plugin/pkg/authenticator/token/oidc`.
 */
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { type Authentication, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";
import { tokenDigest } from "./token-digest.ts";
import { audienceClaim, type Jwt, parseJwt, SignatureVerifier, textClaim, timeClaims } from "./jwt.ts";
import { ClaimError, type ClaimRules, userOfClaims } from "./oidc-claims.ts";
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

const verifiedTokensMax = 4096;
/** The allowed clock skew before a token becomes valid, the same as upstream's. */
const notBeforeLeewayMs = 5 * 60_000;

export class OidcTokens implements TokenAuthenticator {
  readonly #clock: Clock;
  readonly #verifier = new SignatureVerifier();
  #verifiedTokens = new ExpiringCache<VerifiedToken>(verifiedTokensMax);
  #issuers: ReadonlyMap<string, TokenIssuer> = new Map();

  constructor(clock: Clock) {
    this.#clock = clock;
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
    const { provider } = issuer;
    if (provider.keysFor("") === undefined) return refuse(`authenticator for issuer ${issuer.url} is not initialized`);
    // A token that can be refused without verifying its signature is not verified.
    const problem = problemOf(issuer, jwt, this.#clock.now());
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
      const answer: Authentication = { outcome: "user", user: userOfClaims(issuer.rules, jwt.claims) };
      const expiryMs = (timeClaims(jwt.claims)?.expiry ?? 0) * 1000;
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

function problemOf({ audiences, algorithms }: TokenIssuer, { algorithm, claims }: Jwt, nowMs: number) {
  if (!algorithms.includes(algorithm)) return "token is signed with another algorithm than the allowed";
  const tokenAudiences = audienceClaim(claims);
  if (tokenAudiences === undefined || !tokenAudiences.some((audience) => audiences.includes(audience))) {
    return "token is meant for another audience";
  }
  const times = timeClaims(claims);
  if (times?.expiry === undefined) return "token has no expiry";
  if (nowMs > times.expiry * 1000) return "token is expired";
  return times.notBefore !== undefined && nowMs + notBeforeLeewayMs < times.notBefore * 1000
    ? "token is not valid yet"
    : undefined;
}

const refuse = (reason: string): Authentication => ({ outcome: "refused", reason: `oidc: ${reason}` });
