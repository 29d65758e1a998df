/**
 * Exchanges the code of a person who has signed in at an OpenID Connect provider for an ID token, as a public client with
 * PKCE. Source: OpenID Connect Core 1.0 section 3.1.3, RFC 7636.
 */
import { type Outgoing, OutgoingError } from "#egress/outgoing-https.ts";
import { isObject } from "#std/is-object.ts";
import { audienceClaim, parseJwt, textClaim } from "./jwt.ts";
import { issuerOf, type TokenIssuer } from "./oidc.ts";

/** An issuer at which people may sign in. */
export interface CodeIssuer extends Pick<TokenIssuer, "url" | "audiences" | "provider"> {
  /** The calls that exchange codes. */
  readonly exchanging: Outgoing;
}

interface Exchange {
  readonly clientId: string;
  readonly redirectUri: string;
  /** The code, and the secret of which the provider has the digest, as the browser sent them. */
  readonly code: string;
  readonly verifier: string;
}

/** The ID token, or the reason for which there is none. */
type Exchanged =
  | { readonly token: string; readonly problem?: undefined }
  | { readonly token?: undefined; readonly problem: string };

const timeoutMs = 10_000;
const bytesMax = 256 * 1024;
const problemLengthMax = 500;

/** Asks the provider. The token is for the browser that has the code; whoever takes it verifies its signature. */
export async function exchangeCode(issuer: CodeIssuer, exchange: Exchange): Promise<Exchanged> {
  const endpoint = issuer.provider.codeFlow?.tokenEndpoint;
  if (endpoint === undefined) return { problem: "the provider has no endpoint for codes" };
  const form = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: exchange.clientId,
    redirect_uri: exchange.redirectUri,
    code: exchange.code,
    code_verifier: exchange.verifier,
  });
  try {
    const { code, body } = await issuer.exchanging.callOut({
      url: endpoint,
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: Buffer.from(form.toString()),
      timeoutMs,
      maxBytes: bytesMax,
    });
    return readAnswer(issuer, code, body.toString());
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException; // errors of the system and of TLS have one
    return { problem: `the provider does not answer: ${error instanceof OutgoingError ? error.message : code}` };
  }
}

/** Only the words of an answer that RFC 6749 names are given on: the provider decides which server is asked. */
function readAnswer(issuer: CodeIssuer, code: number, text: string): Exchanged {
  const { id_token: token, error, error_description: description } = jsonObject(text);
  if (code !== 200) {
    const words = [error, description].filter((word) => typeof word === "string" && word !== "");
    const reason = words.length === 0 ? `code ${code}` : words.join(": ").slice(0, problemLengthMax);
    return { problem: `the provider refused: ${reason}` };
  }
  const jwt = typeof token === "string" ? parseJwt(token) : undefined;
  if (typeof token !== "string" || jwt === undefined) return { problem: "the provider gave no ID token" };
  if (issuerOf(jwt) !== issuer.url) {
    return { problem: `the token is of the issuer ${quoted(textClaim(jwt.claims, "iss"))}, not of ${issuer.url}` };
  }
  const audiences = audienceClaim(jwt.claims) ?? [];
  if (!audiences.some((audience) => issuer.audiences.includes(audience))) {
    return { problem: `the token is meant for ${quoted(audiences)}, and this server is ${quoted(issuer.audiences)}` };
  }
  return { token };
}

const quoted = (value: unknown): string => (JSON.stringify(value) ?? "none").slice(0, problemLengthMax);

function jsonObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
