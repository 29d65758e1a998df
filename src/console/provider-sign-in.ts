/**
 * Signing in at an identity provider: the authorization code flow with PKCE, in a window of its own, so that the page, whose
 * memory alone has the secrets of the sign-in, stays as it is. The window comes back with a code and gives it to the page, which
 * sends it to its own server. Source: OpenID Connect Core 1.0, RFC 7636, RFC 9207.
 */
import { isObject } from "#std/is-object.ts";
import type { SignedIn } from "./api.ts";
import {
  type AnswerTaken,
  type Provider,
  type ProviderAnswer,
  type ProviderToken,
  signInChannel,
} from "./providers.ts";
import { plainText } from "./text.tsx";

/** Sends the window to the provider, and waits until it comes back. Rejects with an error in words for people. */
export async function signInAt(provider: Provider, opened: Window, abort: AbortSignal): Promise<SignedIn> {
  const [state, nonce, verifier] = [secret(), secret(), secret()];
  const url = new URL(provider.authorizationEndpoint);
  if (url.protocol !== "https:") throw new Error("the address of the provider is not https");
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier));
  const parameters = {
    response_type: "code",
    client_id: provider.clientId,
    redirect_uri: `${location.origin}/console/`,
    scope: provider.scope,
    state,
    nonce,
    code_challenge: base64url(new Uint8Array(digest)),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const answered = answerTo(state, abort);
  opened.location.replace(url.href);
  const answer = await answered;
  // Another provider may have answered in the place of this one: its code is not for this one's eyes.
  if (answer.issuer === "" ? provider.namesIssuer : answer.issuer !== provider.issuer) {
    throw new Error("the answer is not of this provider");
  }
  if (answer.code === "") {
    throw new Error(`the provider refused: ${plainText([answer.error, answer.description].join(" ").slice(0, 500))}`);
  }
  const token = await redeem(provider, answer.code, verifier);
  return { kind: "token", token, cluster: location.origin, namespace: "", ...readToken(provider, token, nonce) };
}

/** Waits for the window that comes back with this state. An answer with another one is of no sign-in of this page. */
function answerTo(state: string, abort: AbortSignal): Promise<ProviderAnswer> {
  const channel = new BroadcastChannel(signInChannel);
  return new Promise<ProviderAnswer>((resolve, reject) => {
    abort.addEventListener("abort", () => reject(new Error("the sign-in was given up")), { once: true });
    channel.onmessage = ({ data }: MessageEvent<ProviderAnswer | AnswerTaken>) => {
      if (!("state" in data) || data.state !== state) return;
      channel.postMessage({ taken: state } satisfies AnswerTaken);
      resolve(data);
    };
  }).finally(() => channel.close());
}

async function redeem({ issuer }: Provider, code: string, verifier: string): Promise<string> {
  const response = await fetch("session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ issuer, code, verifier }),
    redirect: "error",
    credentials: "omit",
  });
  const { token, message } = (await response.json()) as { readonly token?: string; readonly message?: string };
  if (token === undefined) throw new Error(plainText(message ?? "the code was refused"));
  return token;
}

/** Reads the claims of a token that the page has to know. The server verifies its signature with each request. */
function readToken(provider: Provider, token: string, nonce: string): { readonly provided: ProviderToken } {
  const claims = claimsOf(token);
  if (claims["nonce"] !== nonce) throw new Error("the token is not of this sign-in");
  const { sub: subject, iat, exp } = claims;
  if (typeof subject !== "string" || typeof iat !== "number" || typeof exp !== "number") {
    throw new Error("the token names no user, or no time");
  }
  // The clock of this machine may be another one than the provider's.
  return { provided: { provider, subject, expiresMs: Date.now() + (exp - iat) * 1000 } };
}

function claimsOf(token: string): Readonly<Record<string, unknown>> {
  try {
    const bytes = Uint8Array.fromBase64(token.split(".")[1] ?? "", { alphabet: "base64url" });
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
}

const secret = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)));

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
