/**
 * The keys and endpoints of an OpenID Connect provider, found by discovery and kept in memory, so that a token is verified
 * without a call. Keys are fetched at the start until that succeeds, every 15 minutes, and for a token with an unknown key, but
 * then at most every ten seconds. If a provider does not answer, its old keys stay. Source: OpenID Connect Discovery
 * 1.0, RFC 7517.
 */
import { createPublicKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";
import type { Outgoing } from "#egress/outgoing-https.ts";
import type { Clock } from "#std/clock.ts";
import { algorithmsOf } from "./jwt.ts";

interface ProviderOptions {
  /** The issuer: `https://…`, compared byte by byte. */
  readonly url: string;
  /** The URL of the discovery document; by default it is below the issuer's URL. */
  readonly discoveryUrl?: string;
  readonly outgoing: Outgoing;
  readonly clock: Clock;
  /** Called when keys could not be fetched; it is tried again. */
  failed(error: unknown): void;
}

/** The authorization code flow, as the discovery document describes it. */
interface CodeFlow {
  /** An https URL to which browsers are sent. */
  readonly authorizationEndpoint: string;
  /** An https URL at which a code becomes a token. */
  readonly tokenEndpoint: string;
  /** The scopes that the provider names; `undefined` if it names none. */
  readonly scopes: readonly string[] | undefined;
  /** Whether the provider says with each code that it is its own (RFC 9207). */
  readonly namesIssuer: boolean;
}

interface Discovered {
  readonly keys: readonly ProviderKey[];
  readonly codeFlow: CodeFlow | undefined;
}

interface ProviderKey {
  readonly id: string;
  readonly key: KeyObject;
}

const timeoutMs = 10_000;
const bytesMax = 1024 * 1024;
const keysMax = 100;
const rsaBitsMin = 2048;
const retryMs = 10_000;
const refreshMs = 15 * 60_000;
const retryRefreshMs = 60_000;
/** The maximum number of tokens that wait for new keys; further ones are refused at once. */
const waitingMax = 1000;

export class OidcProvider {
  readonly #options: ProviderOptions;
  readonly #gone = new AbortController();
  readonly #first = Promise.withResolvers<void>();
  #keys: readonly ProviderKey[] | undefined;
  #codeFlow: CodeFlow | undefined;
  #fetching: Promise<void> | undefined;
  #fetchedMs = Number.NEGATIVE_INFINITY;
  #waiting = 0;
  #cancel: () => void = () => undefined;
  /** A number that grows with every change of the keys. */
  generation = 0;

  /** Starts to fetch at once. */
  constructor(options: ProviderOptions) {
    this.#options = options;
    this.#first.promise.catch(() => undefined);
    void this.#fetch();
  }

  /** Resolves when there are keys; rejects when the provider is closed before. */
  get ready(): Promise<void> {
    return this.#first.promise;
  }

  /** The endpoints for people who sign in; `undefined` until discovery, and where the provider has none. */
  get codeFlow(): CodeFlow | undefined {
    return this.#codeFlow;
  }

  /**
   * Returns the keys that may have signed a token: all of them when it names none. `undefined` until keys were fetched.
   */
  keysFor(keyId: string): readonly KeyObject[] | undefined {
    const keys = this.#keys;
    if (keys === undefined || keyId === "") return keys?.map(({ key }) => key);
    return keys.filter(({ id }) => id === keyId).map(({ key }) => key);
  }

  /**
   * Fetches keys for a token with an unknown key. `undefined` when keys were fetched a moment ago, or too many callers
   * wait.
   */
  fetchAgain(): Promise<void> | undefined {
    const { clock } = this.#options;
    if (this.#fetching === undefined) {
      if (clock.monotonic() - this.#fetchedMs < retryMs) return undefined;
      void this.#fetch();
    }
    if (this.#waiting >= waitingMax) return undefined;
    this.#waiting += 1;
    return this.#fetching?.finally(() => {
      this.#waiting -= 1;
    });
  }

  close(): void {
    this.#cancel();
    this.#gone.abort();
    this.#first.reject(new Error("the provider is asked no longer"));
  }

  /** Fetches discovery document and keys. Never rejects. */
  #fetch(): Promise<void> {
    const { clock, failed } = this.#options;
    this.#cancel();
    this.#fetching = this.#load()
      .then(
        ({ keys, codeFlow }) => {
          this.#codeFlow = codeFlow;
          this.#take(keys);
          return refreshMs;
        },
        (error: unknown) => {
          if (!this.#gone.signal.aborted) failed(error);
          return this.#keys === undefined ? retryMs : retryRefreshMs;
        },
      )
      .then((pauseMs) => {
        this.#fetching = undefined;
        this.#fetchedMs = clock.monotonic();
        if (!this.#gone.signal.aborted) this.#cancel = clock.after(pauseMs, () => void this.#fetch());
      });
    return this.#fetching;
  }

  #take(keys: readonly ProviderKey[]): void {
    const before = this.#keys;
    const isSame =
      before?.length === keys.length &&
      keys.every(({ id, key }, at) => before[at]!.id === id && before[at]!.key.equals(key));
    if (isSame) return;
    this.#keys = keys;
    this.generation += 1;
    this.#first.resolve();
  }

  async #load(): Promise<Discovered> {
    const { url, discoveryUrl } = this.#options;
    const at = discoveryUrl ?? `${url.replace(/\/$/, "")}/.well-known/openid-configuration`;
    const document = await this.#get(at);
    const { issuer, jwks_uri: keysUrl } = document;
    if (issuer !== url) {
      throw new Error(`${at} is the document of the issuer ${JSON.stringify(issuer)}, not of ${JSON.stringify(url)}`);
    }
    if (!isHttps(keysUrl)) throw new Error(`${at}: jwks_uri must be an https URL`);
    const { keys } = await this.#get(keysUrl);
    if (!Array.isArray(keys)) throw new Error(`${keysUrl} holds no keys`);
    const usable = keys.slice(0, keysMax).flatMap(providerKey);
    if (usable.length === 0) throw new Error(`${keysUrl} holds no key that signs tokens`);
    return { keys: usable, codeFlow: codeFlowOf(document) };
  }

  async #get(url: string): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#options.outgoing.callOut({
      url,
      headers: { accept: "application/json" },
      timeoutMs,
      maxBytes: bytesMax,
      signal: this.#gone.signal,
    });
    if (answer.code !== 200) throw new Error(`${url} answered ${answer.code}${redirection(answer.code)}`);
    let value: unknown;
    try {
      value = JSON.parse(answer.body.toString());
    } catch (cause) {
      throw new Error(`${url} is no JSON document`, { cause });
    }
    if (typeof value !== "object" || value === null) throw new Error(`${url} is no JSON object`);
    return value as Readonly<Record<string, unknown>>; // an object
  }
}

const redirection = (code: number): string => (code >= 300 && code < 400 ? "; redirects are not followed" : "");

/** Returns the endpoints; `undefined` if one is missing, or is no https URL. */
function codeFlowOf(document: Readonly<Record<string, unknown>>): CodeFlow | undefined {
  const {
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    scopes_supported: scopes,
    authorization_response_iss_parameter_supported: namesIssuer,
  } = document;
  if (!isHttps(authorizationEndpoint) || !isHttps(tokenEndpoint)) return undefined;
  return {
    authorizationEndpoint,
    tokenEndpoint,
    scopes: Array.isArray(scopes) ? scopes.filter((scope) => typeof scope === "string") : undefined,
    namesIssuer: namesIssuer === true,
  };
}

const isHttps = (url: unknown): url is string => typeof url === "string" && URL.parse(url)?.protocol === "https:";

/** Returns the key; nothing for keys that sign no tokens here. */
function providerKey(jwk: unknown): readonly ProviderKey[] {
  if (typeof jwk !== "object" || jwk === null) return [];
  const { kid = "", kty, use = "sig" } = jwk as Readonly<Record<string, unknown>>;
  if (typeof kid !== "string" || use !== "sig" || (kty !== "RSA" && kty !== "EC")) return [];
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" } as JsonWebKeyInput);
    const { modulusLength = rsaBitsMin } = key.asymmetricKeyDetails ?? {};
    return algorithmsOf(key).length === 0 || modulusLength < rsaBitsMin ? [] : [{ id: kid, key }];
  } catch {
    return [];
  }
}
