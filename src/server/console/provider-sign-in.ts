/**
 * Signing in at identity providers: the page is told where to send people, and the server exchanges the code with which
 * they come back, since many providers answer no page of another site. The page alone keeps the token.
 */
import { type CodeIssuer, exchangeCode } from "#authn/code-exchange.ts";
import { isObject } from "#std/is-object.ts";

/** A provider, as the page is told. */
interface OfferedProvider {
  readonly issuer: string;
  readonly clientId: string;
  readonly authorizationEndpoint: string;
  readonly scope: string;
  /** Whether an answer that does not name the issuer is not the provider's. */
  readonly namesIssuer: boolean;
}

export interface ProviderParts {
  /** Returns the present issuers of the server. */
  issuers(): readonly CodeIssuer[];
  /** The clients: `id`, or `issuer=id`. */
  readonly clientIds: readonly string[];
}

interface SignInAnswer {
  readonly code: number;
  readonly body: { readonly token: string } | { readonly message: string };
}

/** The number of exchanges at a time: strangers may ask for them. */
const exchangesMax = 8;
const partLengthMax = 8192;

export class ProviderSignIn {
  readonly #parts: ProviderParts;
  #exchanges = 0;

  constructor(parts: ProviderParts) {
    this.#parts = parts;
  }

  /** Returns the providers at which people may sign in. */
  offers(): readonly OfferedProvider[] {
    const clients = this.#clients();
    return clients.flatMap(({ issuer, clientId }) => {
      const flow = issuer.provider.codeFlow;
      // With several providers, one of them could send people to another one and get the code of that one (mix-up), unless
      // answers say whose they are.
      if (flow === undefined || (clients.length > 1 && !flow.namesIssuer)) return [];
      const { authorizationEndpoint, namesIssuer, scopes } = flow;
      return [{ issuer: issuer.url, clientId, authorizationEndpoint, scope: scopeOf(scopes), namesIssuer }];
    });
  }

  /** Exchanges a code. `text` is the body of the request, and `redirectUri` the address to which the provider sent it. */
  async redeem(text: string, redirectUri: string): Promise<SignInAnswer> {
    const sent = readSent(text);
    if (sent === undefined) return refuse(400, "issuer, code and verifier are texts");
    const { issuer: url, code, verifier } = sent;
    const offer = this.offers().find((one) => one.issuer === url);
    const issuer = this.#parts.issuers().find((one) => one.url === url);
    if (offer === undefined || issuer === undefined) return refuse(403, "nobody signs in at this provider here");
    if (this.#exchanges >= exchangesMax) return refuse(429, "too many people sign in at the moment: try again");
    this.#exchanges += 1;
    try {
      const { token, problem } = await exchangeCode(issuer, { clientId: offer.clientId, redirectUri, code, verifier });
      return token === undefined ? refuse(403, problem) : { code: 200, body: { token } };
    } finally {
      this.#exchanges -= 1;
    }
  }

  /** Returns the issuers that have a client here: the one that the flag names, or else their only audience. */
  #clients(): readonly { readonly issuer: CodeIssuer; readonly clientId: string }[] {
    const { issuers, clientIds } = this.#parts;
    const general = clientIds.find((entry) => !entry.startsWith("https:"));
    return issuers().flatMap((issuer) => {
      const beginning = `${issuer.url}=`;
      const own = clientIds.find((entry) => entry.startsWith(beginning))?.slice(beginning.length);
      const audience = issuer.audiences.length === 1 ? issuer.audiences[0] : undefined;
      const clientId = own ?? general ?? audience;
      return clientId === undefined ? [] : [{ issuer, clientId }];
    });
  }
}

const refuse = (code: number, message: string): SignInAnswer => ({ code, body: { message } });

/** Returns the scopes that claims of users may need, if the provider has them; all have `openid`. */
function scopeOf(scopes: readonly string[] | undefined): string {
  const wanted = ["profile", "email", "groups"].filter((scope) => scopes?.includes(scope) === true);
  return ["openid", ...(scopes === undefined ? ["profile", "email"] : wanted)].join(" ");
}

function readSent(text: string): Readonly<Record<"issuer" | "code" | "verifier", string>> | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { issuer, code, verifier } = value;
  const isPart = (part: unknown): part is string =>
    typeof part === "string" && part !== "" && part.length <= partLengthMax;
  return isPart(issuer) && isPart(code) && isPart(verifier) ? { issuer, code, verifier } : undefined;
}
