/**
 * Authenticates by a bearer token in a WebSocket subprotocol, which is in the only header that browsers can set there.
 * Source: upstream's `authentication/request/websocket`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { andThen } from "#std/maybe-promise.ts";
import { type Authentication, type Authenticator, firstUser, noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";

/** Asks each kind of token in order, in requests for a WebSocket only. */
export function webSocketToken(tokens: readonly TokenAuthenticator[], domain: ApiDomain): Authenticator {
  const prefix = domain.rename("base64url.bearer.authorization.k8s.io.");
  return {
    authenticate({ headers }) {
      const offered = headers["sec-websocket-protocol"];
      if (offered === undefined || headers["upgrade"]?.toLowerCase() !== "websocket") return noCredentials;
      const protocols = offered.split(",").map((protocol) => protocol.trim());
      const encoded = protocols.filter((protocol) => protocol.startsWith(prefix));
      if (encoded.length === 0) return noCredentials;
      if (encoded.length > 1) return refuse("more than one token among the subprotocols");
      const token = decodeText(encoded[0]!.slice(prefix.length));
      if (token === undefined) return refuse("the token among the subprotocols is no base64url of UTF-8");
      // A server has to choose a subprotocol, and must not choose the token: that would send the token back.
      if (protocols.length === 1) return refuse("no subprotocol beside the token");
      return andThen(
        firstUser(tokens, (one) => one.authenticateToken(token)),
        (answer) => (answer.outcome === "none" ? refuse("invalid bearer token") : answer),
      );
    },
  };
}

const refuse = (reason: string): Authentication => ({ outcome: "refused", reason });

/** Decodes strictly: without padding, blanks and letters of the other alphabet, which Node's decoder ignores. */
function decodeText(text: string): string | undefined {
  const bytes = Buffer.from(text, "base64url");
  if (text === "" || bytes.toString("base64url") !== text) return undefined;
  const token = bytes.toString("utf8");
  return token.includes("\ufffd") ? undefined : token;
}
