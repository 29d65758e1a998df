/**
 * The local console's answers to a browser: its files, the sign-in, and everything else from the cluster, asked with the
 * credentials of the kubeconfig. The browser never sees those, and only pages that signed in here are answered.
 */
import type { Connection } from "#client/connection.ts";
import { ConnectionError } from "#client/connection-error.ts";
import type { Impersonation } from "#client/connection-settings.ts";
import type { ClientRequest, ClientResponse } from "#client/transport.ts";
import {
  ConsoleFiles,
  consoleHeaders,
  consolePath,
  consoleText,
  hostName,
  isLoopbackName,
  sessionPath,
} from "#server/console-files.ts";
import { isForeign } from "#server/foreign-request.ts";
import type { LocalExchange } from "#transport/local-http.ts";
import type { SignIn } from "./sign-in.ts";

interface GatewayParts {
  readonly signIn: SignIn;
  /** The address of the cluster, which the page shows. */
  readonly cluster: string;
  /** The namespace of the kubeconfig. */
  readonly namespace: string;
  /** Opens a connection to the cluster, which is made as another user if one is given. */
  connect(as: Impersonation | undefined): Connection;
}

const codeBytesMax = 1024;
const bodyBytesMax = 3 * 1024 * 1024;
/** The number of other users as whom connections stay open. */
const usersMax = 8;

/** The headers of all answers of the cluster: none is a page, whatever the cluster says that it is. */
const passedHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

export class Gateway {
  readonly #parts: GatewayParts;
  readonly #files = new ConsoleFiles();
  /** The connections by user, the one that was used last at the end. */
  readonly #connections = new Map<string, Connection>();
  #port = 0;

  constructor(parts: GatewayParts) {
    this.#parts = parts;
  }

  /** Sets the port on which the gateway is reached. */
  serveOn(port: number): void {
    this.#port = port;
  }

  /** Answers a request. Never rejects. */
  async handle(exchange: LocalExchange): Promise<void> {
    try {
      await this.#answer(exchange);
    } catch (error) {
      if (exchange.signal.aborted) return;
      const message = error instanceof ConnectionError ? error.message : "the console failed to ask the cluster";
      this.#refuse(exchange, 502, message);
    }
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connections.values(), (one) => one.close()));
  }

  async #answer(exchange: LocalExchange): Promise<void> {
    const { method, url, headers } = exchange;
    const path = url.split("?", 1)[0]!;
    const { host = "", origin } = headers;
    // A name of others that leads here (DNS rebinding) would make their pages and the console one origin.
    const isOwn = isLoopbackName(hostName(host)) && host.endsWith(`:${this.#port}`);
    const isOfPage = origin === undefined || origin === `http://${host}`;
    const head = {
      method,
      site: headers["sec-fetch-site"] as string | undefined, // it is not a header that may repeat
      mode: headers["sec-fetch-mode"] as string | undefined, // the same
      destination: headers["sec-fetch-dest"] as string | undefined, // the same
    };
    if (!isOwn || !isOfPage || isForeign(head)) {
      this.#refuse(exchange, 403, "this is for pages of the console on this machine only");
    } else if (path === "/" || path === "/console") {
      exchange.answer(302, { ...consoleHeaders, location: consolePath }, Buffer.alloc(0));
    } else if (path === sessionPath) {
      await this.#session(exchange);
    } else if (path.startsWith(consolePath)) {
      const isRead = method === "GET" || method === "HEAD";
      const file = isRead
        ? await this.#files.answer(path, headers["accept-encoding"] as string | undefined) // one text
        : consoleText(405, "the console has files only");
      exchange.answer(file.code, file.headers, file.bytes);
    } else await this.#forward(exchange);
  }

  /** Says how one signs in, takes a code, or signs a page out. */
  async #session(exchange: LocalExchange): Promise<void> {
    const { signIn, cluster, namespace } = this.#parts;
    const json = (code: number, value: object): void =>
      exchange.answer(
        code,
        { ...consoleHeaders, "cache-control": "no-store", "content-type": "application/json" },
        Buffer.from(`${JSON.stringify(value)}\n`),
      );
    if (exchange.method === "GET") json(200, { signIn: "code", cluster, namespace });
    else if (exchange.method === "DELETE") {
      signIn.end(tokenOf(exchange));
      json(200, {});
    } else if (exchange.method !== "POST") json(405, { message: "a code is sent with POST" });
    else if (exchange.headers["content-type"] !== "application/json") json(415, { message: "a code is sent as JSON" });
    else {
      const body = await exchange.body(codeBytesMax);
      const token = signIn.redeem(codeOf(body?.toString() ?? ""));
      if (token === undefined) json(403, { message: "the code is wrong, was used before, or is older than a minute" });
      else json(200, { token });
    }
  }

  async #forward(exchange: LocalExchange): Promise<void> {
    const { method, url, headers, signal } = exchange;
    if (!this.#parts.signIn.isSession(tokenOf(exchange))) return this.#refuse(exchange, 401, "sign in with a new code");
    const wanted = methods.find((one) => one === method);
    if (wanted === undefined) return this.#refuse(exchange, 405, `the console does not send ${method}`);
    if (!url.startsWith("/") || url.startsWith("//")) return this.#refuse(exchange, 400, "this is no path");
    const body = await exchange.body(bodyBytesMax);
    if (body === undefined) return this.#refuse(exchange, 413, "the body has more than 3 MB");
    const request: ClientRequest = {
      method: wanted,
      path: url,
      accept: headers.accept,
      contentType: headers["content-type"],
      ...(body.length === 0 ? {} : { body }),
      signal,
    };
    const connection = this.#connectionOf(impersonationOf(headers));
    const isWatch = /[?&]watch=(?:true|1)(?:&|$)/.test(url);
    if (isWatch) await watch(exchange, connection, request);
    else pass(exchange, await connection.request(request), headers.accept);
  }

  #connectionOf(as: Impersonation | undefined): Connection {
    const key = JSON.stringify(as ?? null);
    const connection = this.#connections.get(key) ?? this.#parts.connect(as);
    this.#connections.delete(key);
    this.#connections.set(key, connection);
    if (this.#connections.size > usersMax) {
      const [oldest, unused] = this.#connections.entries().next().value!; // there are some
      this.#connections.delete(oldest);
      void unused.close();
    }
    return connection;
  }

  /** Answers with a `Status`, as the cluster would. */
  #refuse(exchange: LocalExchange, code: number, message: string): void {
    const status = { kind: "Status", apiVersion: "v1", status: "Failure", message, code };
    const headers = { ...passedHeaders, "content-type": "application/json" };
    exchange.answer(code, headers, Buffer.from(`${JSON.stringify(status)}\n`));
  }
}

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

const tokenOf = ({ headers }: LocalExchange): string => /^Bearer (\S+)$/.exec(headers.authorization ?? "")?.[1] ?? "";

function codeOf(text: string): string {
  try {
    const { code } = JSON.parse(text) as { readonly code?: unknown }; // anything else has no such member
    return typeof code === "string" ? code : "";
  } catch {
    return "";
  }
}

/** Returns the user as whom a page wants to see the cluster. */
function impersonationOf(headers: LocalExchange["headers"]): Impersonation | undefined {
  const user = headers["impersonate-user"];
  const groups = headers["impersonate-group"] ?? "";
  if (typeof user !== "string") return undefined;
  // The page sends names of groups in one header, each escaped as a part of a URL, since the names may have commas.
  const names = String(groups)
    .split(",")
    .map((name) => decoded(name.trim()))
    .filter((name) => name !== "");
  return { user: decoded(user), groups: names, extra: {} };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const newline = Buffer.from("\n");

/** Gives the lines of a watch on as they come. */
async function watch(exchange: LocalExchange, connection: Connection, request: ClientRequest): Promise<void> {
  const cut = new AbortController();
  const signal = AbortSignal.any([exchange.signal, cut.signal]);
  let hasBegun = false;
  const begin = (): void => {
    if (hasBegun) return;
    hasBegun = true;
    exchange.begin(200, { ...passedHeaders, "content-type": "application/json" });
  };
  const answer = await connection.lines(
    { ...request, signal },
    {
      begin,
      line(line) {
        if (!exchange.write(line) || !exchange.write(newline)) cut.abort(new Error("the browser reads too slowly"));
      },
    },
  );
  if (answer.code !== 200) return pass(exchange, answer, "application/json");
  begin();
  exchange.end();
}

/** Answers with what the cluster said. Its type is one that no browser runs or shows as a page. */
function pass(exchange: LocalExchange, answer: ClientResponse, accept: string | undefined): void {
  const isJson = /^\s*[{[]/.test(answer.body.toString("latin1", 0, 64)) && accept?.includes("yaml") !== true;
  const warnings = (answer.warnings ?? []).map((text) => encodeURIComponent(text)).join(",");
  const headers = {
    ...passedHeaders,
    "content-type": isJson ? "application/json" : "text/plain; charset=utf-8",
    ...(warnings === "" ? {} : { "x-console-warnings": warnings }),
  };
  exchange.answer(answer.code, headers, answer.body);
}
