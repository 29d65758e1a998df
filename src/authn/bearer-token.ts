/** `Authorization: Bearer <token>`. Source: RFC 6750 section 2.1 and upstream's `authentication/request/bearertoken`. */
import { type Authentication, type Authenticator, noCredentials } from "./authenticator.ts";

/** Knows the users behind tokens of one kind. `none`: not one of mine. */
export interface TokenAuthenticator {
  authenticateToken(token: string): Authentication | Promise<Authentication>;
}

/** Asks for each bearer token one after the other. A token that nobody knows is refused. */
export function bearerToken(tokens: readonly TokenAuthenticator[]): Authenticator {
  return {
    async authenticate(credentials) {
      const header = credentials.headers["authorization"];
      if (header === undefined) return noCredentials;
      const token = tokenOf(header);
      if (token === undefined) return noCredentials;
      if (token === "") {
        if (hasMoreParts(header)) credentials.warnings.push(extraSpace);
        return noCredentials;
      }
      const reasons: string[] = [];
      for (const authenticator of tokens) {
        const answer = await authenticator.authenticateToken(token);
        if (answer.outcome === "user") return answer;
        if (answer.outcome === "refused") reasons.push(answer.reason);
      }
      return { outcome: "refused", reason: reasons.length === 0 ? "invalid bearer token" : reasons.join("; ") };
    },
  };
}

const extraSpace = "the provided Authorization header contains extra space before the bearer token, and is ignored";

/**
 * The word after `Bearer` (in any case); what follows it does not count. Empty when two spaces follow each other,
 * `undefined` when this is no bearer token.
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
