/**
 * An HTTP client for tests: requests over node:https, expectations about answers, and watch streams read line by line.
 * Requests have Kubernetes' names and are translated to the server's domain.
 */
import assert from "node:assert/strict";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import https from "node:https";
import { type Fields, type Rename, View } from "./view.ts";

/** The maximum time that a test waits before it gives up. */
export const patienceMs = 120_000;
/** The maximum time of an answer, since hostile requests are sent in crowds. */
const answerMs = 600_000;

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly agent: https.Agent;
  readonly rename: Rename;
  /** The bearer tokens by user name. */
  readonly tokens: Readonly<Record<string, string>>;
}

export interface SendOptions {
  /** The user whose token is sent, by default `admin`; `nobody` sends no credentials. */
  readonly as?: string;
  readonly accept?: string;
  /** The media type of the body; by default `application/json`. An empty text sends no type. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** Whether everything is sent as written, without the names of the domain. */
  readonly literal?: boolean;
  /** The agent of the connection, for example one with a client certificate. */
  readonly agent?: https.Agent;
}

export const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** The Accept header of a Table. */
export const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1";

export class Answer extends View {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;

  constructor(title: string, message: IncomingMessage, bytes: Buffer, rename: Rename) {
    const text = bytes.toString();
    const status = message.statusCode ?? 0;
    super(tryParse(text), rename, `${title} answered ${status} ${text.slice(0, 1500)}`);
    this.status = status;
    this.headers = message.headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  /** The texts of the `Warning` headers. */
  get warnings(): string[] {
    const header = this.headers["warning"] ?? "";
    return [...header.matchAll(/299 - ("(?:[^"\\]|\\.)*")/g)].map((match) => JSON.parse(match[1]!) as string);
  }

  /** Checks the status, and fields of the body. */
  expect(status: number | readonly number[], fields: Fields = {}): this {
    const allowed = typeof status === "number" ? [status] : status;
    assert.ok(allowed.includes(this.status), `${this.title}\nstatus must be ${allowed.join(" or ")}`);
    return this.has(fields);
  }

  /** Checks that the answer is a failure `Status` with this code, reason and message. */
  expectFailure(code: number, reason: string, message?: string | RegExp, fields: Fields = {}): this {
    return this.expect(code, {
      kind: "Status",
      apiVersion: "v1",
      metadata: (value: unknown) => typeof value === "object",
      status: "Failure",
      reason,
      code,
      ...(message === undefined ? {} : { message }),
      ...fields,
    });
  }

  /** Checks that the answer is a failure `Status` with a 4xx code (the specification names no code). */
  expectClientError(message?: string | RegExp): this {
    assert.ok(this.status >= 400 && this.status < 500, `${this.title}\nmust be a 4xx`);
    return this.has({ kind: "Status", status: "Failure", code: this.status, ...(message ? { message } : {}) });
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export class Client {
  readonly endpoint: Endpoint;
  readonly #streams = new Set<WatchStream>();

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  get(path: string, options?: SendOptions): Promise<Answer> {
    return this.send("GET", path, undefined, options);
  }

  post(path: string, body: unknown, options?: SendOptions): Promise<Answer> {
    return this.send("POST", path, body, options);
  }

  put(path: string, body: unknown, options?: SendOptions): Promise<Answer> {
    return this.send("PUT", path, body, options);
  }

  delete(path: string, body?: unknown, options?: SendOptions): Promise<Answer> {
    return this.send("DELETE", path, body, options);
  }

  /** Sends a merge patch, or a patch of another type. */
  patch(path: string, body: unknown, type: string = patchTypes.merge, options?: SendOptions): Promise<Answer> {
    return this.send("PATCH", path, body, { type, ...options });
  }

  /** Sends a request. A body that is neither text nor bytes is sent as JSON. */
  async send(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Answer> {
    const message = await this.#open(method, path, body, options);
    const pieces: Buffer[] = [];
    for await (const piece of message) pieces.push(piece as Buffer);
    return new Answer(`${method} ${path}`, message, Buffer.concat(pieces), this.endpoint.rename);
  }

  /** Opens a watch; `watch=true` is added. Rejects when the answer is not a stream. */
  async watch(path: string, options: SendOptions = {}): Promise<WatchStream> {
    const target = `${path}${path.includes("?") ? "&" : "?"}watch=true`;
    const message = await this.#open("GET", target, undefined, options);
    assert.equal(message.statusCode, 200, `GET ${target}`);
    const stream = new WatchStream(`GET ${target}`, message, this.endpoint.rename);
    this.#streams.add(stream);
    return stream;
  }

  /** Closes the streams that a test left open. */
  close(): void {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }

  #open(method: string, path: string, body: unknown, options: SendOptions): Promise<IncomingMessage> {
    const { host, port, agent, tokens } = this.endpoint;
    const rename: Rename = options.literal === true ? (text) => text : this.endpoint.rename;
    const headers: Record<string, string | string[]> = { "user-agent": "suite/1.0" };
    const user = options.as ?? "admin";
    if (user !== "nobody") headers["authorization"] = `Bearer ${tokens[user] ?? user}`;
    if (options.accept !== undefined) headers["accept"] = rename(options.accept);
    const bytes = bodyBytes(body, rename);
    if (bytes !== undefined) {
      headers["content-length"] = String(bytes.length);
      const type = options.type ?? "application/json";
      if (type !== "") headers["content-type"] = type;
    }
    for (const [name, value] of Object.entries(options.headers ?? {})) {
      headers[name.toLowerCase()] = typeof value === "string" ? rename(value) : value.map(rename);
    }
    const asks = method === "GET" || path.endsWith("reviews");
    const send = (): Promise<IncomingMessage> =>
      new Promise((resolve, reject) => {
        const request = https.request(
          { host, port, method, path: rename(path), headers, agent: options.agent ?? agent, timeout: answerMs },
          resolve,
        );
        request.on("timeout", () => request.destroy(new Error(`${method} ${path}: no answer in time`)));
        request.on("error", (error: NodeJS.ErrnoException) => {
          // The server may close a connection that was idle for long, which happens when a test advances the clock.
          if (asks && request.reusedSocket && error.code === "ECONNRESET") resolve(send());
          else reject(error);
        });
        request.end(bytes);
      });
    return send();
  }
}

function bodyBytes(body: unknown, rename: Rename): Buffer | undefined {
  if (body === undefined) return undefined;
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(rename(typeof body === "string" ? body : JSON.stringify(body)));
}

/** A document of a watch stream. */
export class WatchEvent extends View {
  get type(): string {
    return this.string("type");
  }

  /** The name of the object. */
  get name(): string {
    return this.string("object.metadata.name");
  }

  /** The resource version of the object. */
  get version(): string {
    return this.string("object.metadata.resourceVersion");
  }
}

export class WatchStream {
  readonly title: string;
  readonly headers: IncomingHttpHeaders;
  readonly #message: IncomingMessage;
  readonly #rename: Rename;
  readonly #events: WatchEvent[] = [];
  #rest = "";
  #ended: "end" | "cut" | undefined;
  #wake: (() => void) | undefined;

  constructor(title: string, message: IncomingMessage, rename: Rename) {
    this.title = title;
    this.headers = message.headers;
    this.#message = message;
    this.#rename = rename;
    message.setEncoding("utf8");
    message.on("data", (text: string) => this.#take(text));
    message.on("end", () => this.#finish("end"));
    message.on("error", () => this.#finish("cut"));
    message.on("close", () => this.#finish("cut"));
  }

  /** Resolves with the next event. Rejects when the stream ends or no event arrives in time. */
  async next(withinMs: number = patienceMs): Promise<WatchEvent> {
    const event = await this.#poll(withinMs);
    if (event !== undefined) return event;
    throw new Error(`${this.title}: ${this.#ended === undefined ? "nothing came in time" : "the stream ended"}`);
  }

  /** Resolves with the next `count` events. */
  async take(count: number): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    while (events.length < count) events.push(await this.next());
    return events;
  }

  /** Resolves with the events up to and including the first that `isLast` accepts. */
  async until(isLast: (event: WatchEvent) => boolean): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (;;) {
      const event = await this.next();
      events.push(event);
      if (isLast(event)) return events;
    }
  }

  /** Resolves with all events until the server ends the stream. Rejects when the stream is cut off. */
  async rest(withinMs: number = patienceMs): Promise<WatchEvent[]> {
    const events: WatchEvent[] = [];
    const deadline = Date.now() + withinMs;
    for (;;) {
      const event = await this.#poll(deadline - Date.now());
      if (event !== undefined) events.push(event);
      else break;
    }
    assert.equal(this.#ended, "end", `${this.title}: the stream must end cleanly`);
    return events;
  }

  close(): void {
    this.#message.destroy();
  }

  async #poll(withinMs: number): Promise<WatchEvent | undefined> {
    const deadline = Date.now() + withinMs;
    while (this.#events.length === 0 && this.#ended === undefined) {
      const left = deadline - Date.now();
      if (left <= 0) return undefined;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#events.shift();
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#events.push(new WatchEvent(JSON.parse(line), this.#rename, `${this.title}: ${line}`));
    }
    this.#wake?.();
  }

  #finish(how: "end" | "cut"): void {
    this.#ended ??= how;
    this.#wake?.();
  }
}
