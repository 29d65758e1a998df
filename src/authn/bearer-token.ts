/**
 * Authenticates by `Authorization: Bearer <token>`. Source: RFC 6750 section 2.1 and upstream's
 * `authentication/request/bearertoken`.
 */
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type Authentication, type Authenticator, firstUser, noCredentials } from "./authenticator.ts";

/** Authenticates tokens of one kind. `none`: the token is not of this kind. */
export interface TokenAuthenticator {
  /**
   * Authenticates a token, which must have one of `audiences`; absent: one of this server's. Methods without audiences
   * leave them to `forAudiences`.
   */
  authenticateToken(token: string, audiences?: readonly string[]): MaybePromise<Authentication>;
}

/** Asks each kind of token in order, as `firstUser` does. */
export const tokenUnion = (tokens: readonly TokenAuthenticator[]): TokenAuthenticator => ({
  authenticateToken: (token, audiences) => firstUser(tokens, (one) => one.authenticateToken(token, audiences)),
});

/**
 * Adapts a token method without audiences: its users have the audiences `own`, the names of this server, and are
 * unknown when only other audiences are requested. Source: upstream's `authenticator.WrapAudienceAgnosticToken`.
 */
export const forAudiences = (own: readonly string[], inner: TokenAuthenticator): TokenAuthenticator => ({
  authenticateToken(token, audiences) {
    if (audiences === undefined) return inner.authenticateToken(token);
    const shared = own.filter((audience) => audiences.includes(audience));
    return andThen(inner.authenticateToken(token, audiences), (answer) => {
      if (answer.outcome !== "user" || answer.audiences !== undefined) return answer;
      return shared.length === 0 ? noCredentials : { ...answer, audiences: shared };
    });
  },
});

/** Asks the methods in order. A token that no method knows is refused. */
export function bearerToken(tokens: readonly TokenAuthenticator[]): Authenticator {
  return {
    authenticate(credentials) {
      const header = credentials.headers["authorization"];
      if (header === undefined) return noCredentials;
      const token = tokenOf(header);
      if (token === undefined) return noCredentials;
      if (token === "") {
        if (hasMoreParts(header)) credentials.warnings.push(extraSpace);
        return noCredentials;
      }
      return andThen(
        firstUser(tokens, (one) => one.authenticateToken(token)),
        (answer) => {
          if (answer.outcome === "user" && answer.warnings !== undefined) credentials.warnings.push(...answer.warnings);
          return answer.outcome === "none" ? unknownToken : answer;
        },
      );
    },
  };
}

const unknownToken: Authentication = { outcome: "refused", reason: "invalid bearer token" };
const extraSpace = "the provided Authorization header contains extra space before the bearer token, and is ignored";

/**
 * Returns the word after `Bearer` (in any case); anything after the word is ignored. Empty when two spaces follow each
 * other, `undefined` when this is not a bearer token.
 */
function tokenOf(header: string): string | undefined {
  const trimmed = header.trim();
  if (trimmed.length < 7 || trimmed.charCodeAt(6) !== 0x20) return undefined;
  if (trimmed.slice(0, 6).toLowerCase() !== "bearer") return undefined;
  const end = trimmed.indexOf(" ", 7);
  return end === -1 ? trimmed.slice(7) : trimmed.slice(7, end);
}

function hasMoreParts(header: string): boolean {
  return header.trim().indexOf(" ", 7) !== -1;
}
