/**
 * A webhook server for tests: HTTPS in a process of its own; the path selects the answer or the fault. It records
 * requests. This file has both sides: the class, and the program that the class starts.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import { convert } from "./extensions/converter.ts";

/** The answer to every request at a path. An empty one allows the request. */
export interface WebhookAnswer {
  /** The members of the response beside its uid. */
  readonly response?: object;
  /** The operations of a JSON Patch in the response. */
  readonly patch?: readonly object[];
  /** The number of repetitions of the operations. */
  readonly patchTimes?: number;
  /** The length of a warning in bytes. */
  readonly warningBytes?: number;
  /** The body in place of a review. */
  readonly body?: string;
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the webhook never answers. */
  readonly hangs?: boolean;
  /**
   * Whether the webhook converts: it sets the `apiVersion` of each object, and with `ports` also the fields that
   * differ.
   */
  readonly converts?: boolean | "ports";
}

/** A received request. */
export interface Received {
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly authorization: string;
  /** The values of headers about traces and their context; empty without the header. */
  readonly trace: { readonly traceparent: string; readonly tracestate: string; readonly baggage: string };
  /** The common name of the client's certificate. */
  readonly client: string;
  readonly review: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly request: Readonly<Record<string, unknown>> & { readonly uid: string };
  };
}

interface Start {
  readonly certificate: string;
  readonly key: string;
  readonly authority: string;
}

type ToServer = { readonly start: Start } | { readonly path: string; readonly answer: WebhookAnswer };
type FromServer = { readonly port: number } | { readonly isSet: string } | { readonly received: Received };

export class WebhookServer {
  readonly #process: ChildProcess;
  readonly authority: FakeAuthority;
  readonly port: number;
  readonly received: Received[] = [];

  private constructor(process: ChildProcess, authority: FakeAuthority, port: number) {
    this.#process = process;
    this.authority = authority;
    this.port = port;
    process.on("message", (message: FromServer) => {
      if ("received" in message) this.received.push(message.received);
    });
  }

  /** Starts the server. `hosts` are further names in its certificate. */
  static async open(hosts: readonly string[] = []): Promise<WebhookServer> {
    const authority = await fakeAuthority("webhooks");
    const issued = await authority.issue({
      commonName: "webhook",
      usage: "server",
      hosts: ["localhost", "127.0.0.1", ...hosts],
    });
    const child = fork(fileURLToPath(import.meta.url), { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const { certificate, key } = issued;
    child.send({ start: { certificate, key, authority: authority.certificate } } satisfies ToServer);
    const [{ port }] = (await once(child, "message")) as [{ readonly port: number }]; // the first message
    return new WebhookServer(child, authority, port);
  }

  get caBundle(): string {
    return Buffer.from(this.authority.certificate).toString("base64");
  }

  /** Sets the answer at a path, and returns the `clientConfig` of a webhook at this path. */
  async at(path: string, answer: WebhookAnswer = {}): Promise<{ readonly url: string; readonly caBundle: string }> {
    const isSet = new Promise<void>((resolve) => {
      const hear = (message: FromServer): void => {
        if (!("isSet" in message) || message.isSet !== path) return;
        this.#process.off("message", hear);
        resolve();
      };
      this.#process.on("message", hear);
    });
    this.#process.send({ path, answer } satisfies ToServer);
    await isSet;
    return { url: `https://127.0.0.1:${this.port}${path}`, caBundle: this.caBundle };
  }

  /** Returns the requests at a path since the last call, in order. */
  take(path: string): Received[] {
    const matching = this.received.filter((one) => one.path === path);
    for (const one of matching) this.received.splice(this.received.indexOf(one), 1);
    return matching;
  }

  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
  }
}

function serve(send: (message: FromServer) => void): void {
  const answers = new Map<string, WebhookAnswer>();
  process.on("message", (message: ToServer) => {
    if ("path" in message) {
      answers.set(message.path, message.answer);
      send({ isSet: message.path });
      return;
    }
    const { certificate, key, authority } = message.start;
    const server = https.createServer(
      { cert: certificate, key, ca: authority, requestCert: true, rejectUnauthorized: false },
      (request, response) => void reply(request, response, answers, send),
    );
    server.listen(0, "127.0.0.1", () => send({ port: (server.address() as AddressInfo).port })); // a TCP server has a port
  });
  process.on("disconnect", () => process.exit());
}

async function reply(
  request: IncomingMessage,
  response: ServerResponse,
  answers: ReadonlyMap<string, WebhookAnswer>,
  send: (message: FromServer) => void,
): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const review = JSON.parse(Buffer.concat(pieces).toString() || "{}") as Received["review"];
  const { subject } = (request.socket as TLSSocket).getPeerCertificate();
  const { host = "", authorization = "" } = request.headers;
  const header = (name: string): string => String(request.headers[name] ?? "");
  const trace = {
    traceparent: header("traceparent"),
    tracestate: header("tracestate"),
    baggage: header("baggage"),
  };
  send({ received: { path, query, host, authorization, trace, client: String(subject?.CN ?? ""), review } });
  const answer = answers.get(path) ?? {};
  if (answer.hangs === true) return;
  const { code = 200, headers = { "content-type": "application/json" } } = answer;
  response.writeHead(code, headers).end(answer.body ?? JSON.stringify(reviewOf(answer, review)));
}

function reviewOf(answer: WebhookAnswer, { apiVersion, kind, request }: Received["review"]): object {
  const { patch = [], patchTimes = 1, warningBytes, response, converts } = answer;
  const operations = Array.from({ length: patchTimes }, () => patch).flat();
  const wanted = String(request["desiredAPIVersion"]);
  const convertObject = (object: object): object =>
    converts === "ports" ? convert(object as Parameters<typeof convert>[0], wanted) : { ...object, apiVersion: wanted };
  return {
    apiVersion,
    kind,
    response: {
      uid: request.uid,
      ...(converts !== undefined
        ? {
            result: { status: "Success" },
            convertedObjects: (request["objects"] as readonly object[]).map(convertObject),
          }
        : { allowed: true }),
      ...(patch.length === 0
        ? {}
        : { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") }),
      ...(warningBytes === undefined ? {} : { warnings: ["w".repeat(warningBytes)] }),
      ...response,
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.send !== undefined) {
  serve((message) => process.send!(message)); // the process was forked
}
