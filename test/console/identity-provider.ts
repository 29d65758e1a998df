/**
 * An OpenID Connect provider at which people sign in, for tests of the console: https with a private authority, the
 * authorization code flow with PKCE, and every misbehaviour on request.
 */
import { createHash, generateKeyPairSync, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { FakeAuthority } from "#authn/fake-authority.ts";
import { signJwt } from "#authn/jwt.ts";
import type { ServerSettings } from "#server/options.ts";
import { file } from "../harness.ts";

/** The things that the provider does otherwise than it should from now on. */
interface Misbehaviour {
  /** Parameters of the answer to the browser, in the place of the right ones; `null` for none. */
  readonly answer?: Readonly<Record<string, string | null>>;
  /** Claims of tokens in the place of the right ones. */
  readonly claims?: object;
  /** The user that signs in, in the place of alice. */
  readonly user?: string;
  /** The address to which the browser is sent in the place of the console. */
  readonly leadsTo?: (query: URLSearchParams) => string;
  /** Answers the exchange of a code in the place of a token. */
  readonly exchange?: (response: ServerResponse) => void;
  /** Gives codes out again that were exchanged before. */
  readonly replays?: boolean;
}

interface Grant {
  readonly query: URLSearchParams;
  readonly user: string;
  isUsed: boolean;
}

export class SignInProvider {
  readonly url: string;
  readonly clientId: string;
  misbehaviour: Misbehaviour = {};
  /** The codes that the provider was asked to exchange. */
  readonly exchanged: string[] = [];
  readonly #server: https.Server;
  readonly #grants = new Map<string, Grant>();
  readonly #pair;
  readonly #namesIssuer: boolean;

  private constructor(server: https.Server, clientId: string, kind: "rsa" | "ec", namesIssuer: boolean) {
    this.#server = server;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on a port of TCP
    this.clientId = clientId;
    this.#pair =
      kind === "rsa"
        ? generateKeyPairSync("rsa", { modulusLength: 2048 })
        : generateKeyPairSync("ec", { namedCurve: "P-256" });
    this.#namesIssuer = namesIssuer;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(
    authority: FakeAuthority,
    { clientId = "console", kind = "rsa" as "rsa" | "ec", namesIssuer = true },
  ): Promise<SignInProvider> {
    const { certificate: cert, key } = await authority.issue({ commonName: "provider", usage: "server" });
    const server = https.createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new SignInProvider(server, clientId, kind, namesIssuer);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? "", this.url);
    const json = (code: number, body: object): void =>
      void response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (pathname === "/.well-known/openid-configuration") {
      json(200, {
        issuer: this.url,
        jwks_uri: `${this.url}/keys`,
        authorization_endpoint: `${this.url}/authorize?kept=1`,
        token_endpoint: `${this.url}/token`,
        scopes_supported: ["openid", "email"],
        authorization_response_iss_parameter_supported: this.#namesIssuer,
      });
    } else if (pathname === "/keys") {
      json(200, { keys: [{ ...this.#pair.publicKey.export({ format: "jwk" }), kid: "k", use: "sig" }] });
    } else if (pathname === "/authorize") {
      response.writeHead(302, { location: this.#authorize(searchParams) }).end();
    } else if (pathname === "/token" && request.method === "POST") {
      const pieces: Buffer[] = [];
      for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
      if (this.misbehaviour.exchange !== undefined) {
        this.exchanged.push("");
        this.misbehaviour.exchange(response);
        return;
      }
      const { code, body } = await this.#exchange(new URLSearchParams(Buffer.concat(pieces).toString()));
      json(code, body);
    } else if (pathname === "/page") {
      response.writeHead(200, { "content-type": "text/html" }).end("<p>The page of the provider</p>");
    } else response.writeHead(404).end();
  }

  /** Returns the address to which the browser goes on. */
  #authorize(query: URLSearchParams): string {
    const { answer = {}, leadsTo, user = "alice", replays = false } = this.misbehaviour;
    if (leadsTo !== undefined) return leadsTo(query);
    const [used] = [...this.#grants].filter(([, { isUsed }]) => isUsed).at(-1) ?? [];
    const code = replays && used !== undefined ? used : randomBytes(16).toString("hex");
    if (!this.#grants.has(code)) this.#grants.set(code, { query, user, isUsed: false });
    const back = new URL(query.get("redirect_uri") ?? "");
    const parameters = { code, state: query.get("state"), ...(this.#namesIssuer ? { iss: this.url } : {}), ...answer };
    for (const [name, value] of Object.entries(parameters)) if (value !== null) back.searchParams.set(name, value);
    return back.href;
  }

  async #exchange(form: URLSearchParams): Promise<{ readonly code: number; readonly body: object }> {
    const code = form.get("code") ?? "";
    this.exchanged.push(code);
    const grant = this.#grants.get(code);
    const digest = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    const isRight =
      grant?.isUsed === false &&
      digest === grant.query.get("code_challenge") &&
      grant.query.get("code_challenge_method") === "S256" &&
      grant.query.get("kept") === "1" &&
      grant.query.get("scope") === "openid email" &&
      form.get("grant_type") === "authorization_code" &&
      form.get("client_id") === this.clientId &&
      grant.query.get("client_id") === this.clientId &&
      form.get("redirect_uri") === grant.query.get("redirect_uri");
    if (!isRight) {
      return { code: 400, body: { error: "invalid_grant", error_description: "<img src=x onerror=alert(1)>" } };
    }
    grant.isUsed = true;
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: this.url,
      aud: this.clientId,
      sub: grant.user,
      nonce: grant.query.get("nonce"),
      iat: now,
      exp: now + 3600,
      ...this.misbehaviour.claims,
    };
    return { code: 200, body: { id_token: await signJwt(claims, this.#pair.privateKey, "k"), access_token: "opaque" } };
  }
}

/** Returns the settings of a server that takes the tokens of a provider. */
export const flagsOf = ({ url, clientId }: SignInProvider, authority: FakeAuthority): ServerSettings => ({
  oidcIssuerUrl: url,
  oidcClientId: clientId,
  oidcCaFile: file("ca.crt", authority.certificate),
  oidcUsernamePrefix: "oidc:",
});
