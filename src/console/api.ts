/**
 * Requests to the API server. The token is in the memory of this object and nowhere else: not in cookies, storage or
 * URLs. What fails is an `ApiFailure`, which says what the server said.
 */
import { effect, type Signal, signal } from "@preact/signals";
import { parseExactJson } from "#client/parse-json.ts";
import { isObject } from "#std/is-object.ts";
import type { ProviderToken } from "./providers.ts";

/** The way in which the page may ask: with a token, by the browser's certificate, or through `binnacle console`. */
export interface SignedIn {
  readonly kind: "token" | "certificate" | "code";
  /** Empty where the browser shows a certificate. */
  readonly token: string;
  /** The address of the cluster; that of the page, unless `binnacle console` stands between. */
  readonly cluster: string;
  readonly namespace: string;
  /** The end and user of a token of an identity provider. */
  readonly provided?: ProviderToken;
}

/** A user as whom the cluster is looked at. */
interface SeenAs {
  readonly user: string;
  readonly groups: readonly string[];
}

interface FailureCause {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

/** The words of the server about a failure: a `Status` of the API, as far as it is one. */
interface ServerStatus {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly kind?: string; readonly causes?: readonly FailureCause[] };
}

export class ApiFailure extends Error {
  readonly code: number;
  readonly status: ServerStatus;

  constructor(code: number, status: ServerStatus) {
    super((status.message ?? "") === "" ? `the server answered ${code}` : status.message);
    this.code = code;
    this.status = status;
  }
}

interface ApiCall {
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly body?: string;
  readonly signal?: AbortSignal | undefined;
}

const jsonType = "application/json";

/** The words of the page about a write that the server refused because the sign-in has ended. */
const unsentText = "your sign-in has ended, and nothing was done: sign in again, then repeat it";

export class Api {
  #access: SignedIn;
  readonly #waits: boolean;
  /** The user as whom requests are made; `undefined` for the one who signed in. */
  readonly seenAs: Signal<SeenAs | undefined> = signal(undefined);
  /** Whether the server has refused the token. */
  readonly isSignedOut = signal(false);
  /** The warnings of answers, the newest first. */
  readonly warnings = signal<readonly string[]>([]);

  /** `waits` says whether requests wait for a new token when theirs has ended. */
  constructor(access: SignedIn, waits: boolean) {
    this.#access = access;
    this.#waits = waits;
  }

  get access(): SignedIn {
    return this.#access;
  }

  /** Goes on with another token of the same user. */
  renew(access: SignedIn): void {
    this.#access = access;
    this.isSignedOut.value = false;
  }

  /** Returns the value of an answer in JSON. Rejects with `ApiFailure`. */
  async json<T>(call: ApiCall): Promise<T> {
    const text = await (await this.send({ accept: jsonType, ...call })).text();
    try {
      return parseExactJson(text) as T; // the caller knows what is at the path
    } catch (cause) {
      throw new ApiFailure(0, { message: `the answer of ${call.path} is not JSON: ${String(cause)}` });
    }
  }

  get<T>(path: string, abort?: AbortSignal): Promise<T> {
    return this.json<T>({ path, signal: abort });
  }

  async text(call: ApiCall): Promise<string> {
    return (await this.send({ accept: "*/*", ...call })).text();
  }

  /**
   * Sends a request. Rejects with `ApiFailure` for codes of 400 and more, and when no answer comes. Where one signs in at an
   * identity provider, a read with a token that has ended waits until the user has signed in again. A write does not: the
   * user may no longer want it by then.
   */
  async send(call: ApiCall): Promise<Response> {
    const as = this.seenAs.peek();
    for (;;) {
      const { token, provided } = this.#access;
      const response = await this.#ask(call, as);
      if (response.status < 400) return response;
      const failure = new ApiFailure(response.status, statusOf(await response.text()));
      if (response.status !== 401) throw failure;
      if (token === this.#access.token) this.isSignedOut.value = true;
      if (provided === undefined || !this.#waits) throw failure;
      if ((call.method ?? "GET") !== "GET") throw new ApiFailure(401, { ...failure.status, message: unsentText });
      await this.#renewed(as, call.signal);
    }
  }

  /** Resolves when the user has signed in again. Rejects when the request is given up, or would be another user's. */
  #renewed(as: SeenAs | undefined, abort: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      let stop = (): void => undefined;
      const giveUp = (): void => {
        stop();
        reject(abort?.reason as Error); // it is an error of the browser
      };
      abort?.addEventListener("abort", giveUp, { once: true });
      stop = effect(() => {
        const isOthers = this.seenAs.value !== as;
        if (this.isSignedOut.value && !isOthers) return;
        queueMicrotask(() => stop());
        abort?.removeEventListener("abort", giveUp);
        if (isOthers) reject(new ApiFailure(0, { message: "the cluster is seen as another user by now" }));
        else resolve();
      });
    });
  }

  /** Sends a request, and resolves with any answer. */
  fetch(call: ApiCall): Promise<Response> {
    return this.#ask(call, this.seenAs.peek());
  }

  async #ask(call: ApiCall, as: SeenAs | undefined): Promise<Response> {
    const { method = "GET", path, accept = jsonType, contentType = jsonType, body, signal: abort } = call;
    const headers = new Headers({ accept });
    const { token } = this.access;
    if (token !== "") headers.set("authorization", `Bearer ${token}`);
    if (body !== undefined) headers.set("content-type", contentType);
    if (as !== undefined) this.#impersonate(headers, as);
    const url = urlOf(path);
    let response: Response;
    try {
      response = await fetch(url, {
        method,
        headers,
        redirect: "error",
        cache: "no-store",
        credentials: this.access.kind === "certificate" ? "same-origin" : "omit",
        referrerPolicy: "no-referrer",
        ...(body === undefined ? {} : { body }),
        ...(abort === undefined ? {} : { signal: abort }),
      });
    } catch (cause) {
      if (abort?.aborted === true) throw cause;
      throw new ApiFailure(0, { message: "the server does not answer" });
    }
    this.#warn(response.headers);
    return response;
  }

  #impersonate(headers: Headers, as: SeenAs): void {
    // Headers carry bytes, and servers read them as UTF-8; `binnacle console` takes them escaped.
    const escaped = this.access.kind === "code" ? encodeURIComponent : utf8Bytes;
    headers.set("impersonate-user", escaped(as.user));
    for (const group of as.groups) headers.append("impersonate-group", escaped(group));
  }

  #warn(headers: Headers): void {
    const given = headers.get("x-console-warnings");
    const texts =
      given === null
        ? [...(headers.get("warning") ?? "").matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) => text)
        : given.split(",").map(decodeURIComponent);
    const fresh = texts.filter((text) => !this.warnings.value.includes(text));
    if (fresh.length > 0) this.warnings.value = [...fresh, ...this.warnings.value].slice(0, 20);
  }
}

/** A part of a path that names no object but a path above it. Browsers take escaped dots for dots. */
const dots = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i;

/** Returns the URL of a path. Throws `ApiFailure` for one that leads elsewhere than it says. */
function urlOf(path: string): URL {
  const url = new URL(path, location.href);
  if (url.origin === location.origin && !dots.test(path.split(/[?#]/, 1)[0]!)) return url;
  throw new ApiFailure(400, { message: `${path} leads elsewhere: a name cannot be "." or ".."` });
}

const utf8Bytes = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text));

function statusOf(text: string): ServerStatus {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value as ServerStatus; // members are read with care
  } catch {
    // It is a text of another server.
  }
  return { message: text.slice(0, 500).trim() };
}

/** Whether a failure says that the server is not Binnacle: it does not know the path at all. */
export const hasNoHistory = (error: unknown): boolean =>
  error instanceof ApiFailure && (error.code === 404 || error.code === 403) && !error.status.details?.kind;

/** Returns what a failure says, in words. */
export const failureText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
