/**
 * Calls from commands to a running server, with the kubeconfig of its data folder or another kubeconfig. Calls have
 * limits of time and size.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { openOutgoing, OutgoingError } from "#egress/outgoing-https.ts";
import type { Status } from "#meta/status-error.ts";
import { systemClock } from "#std/clock.ts";
import { ConfigError } from "#codec/config-document.ts";
import { exactValue } from "#codec/strict.ts";
import { reasonOf } from "#std/system-error.ts";
import { binnacleFlag, optional, type Settings, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { readWebhookConnection, type WebhookConnection } from "#egress/webhook-connection.ts";

/** Flags of commands that call a server. */
export const connectionFlags = {
  dataDir: text(
    binnacleFlag("data-dir"),
    "./.binnacle",
    "folder",
    "The server's data folder; its admin.kubeconfig says where the server is and who asks.",
  ),
  kubeconfig: optional(binnacleFlag("kubeconfig"), "file", "Ask by this kubeconfig instead of the data folder's."),
  server: optional(binnacleFlag("server"), "url", "Ask at this address instead of the kubeconfig's."),
};

/** Reads the kubeconfig to which the flags lead. Throws `StartError`. */
export function findServer(settings: Settings<typeof connectionFlags>): WebhookConnection {
  const { dataDir = connectionFlags.dataDir.default, kubeconfig, server } = settings;
  const file = kubeconfig ?? join(dataDir, "admin.kubeconfig");
  try {
    // `statSync` throws for a folder on the way that cannot be searched.
    if (kubeconfig === undefined && statSync(file, { throwIfNoEntry: false }) === undefined) {
      throw new StartError(`no admin.kubeconfig in ${dataDir}: name the server's folder with --data-dir`);
    }
    const webhook = readWebhookConnection(file);
    const url = server ?? webhook.url;
    if (URL.parse(url)?.protocol !== "https:") {
      throw new StartError(`${JSON.stringify(url)} is no https URL: credentials go nowhere else`);
    }
    return { ...webhook, url: url.replace(/\/+$/, "") };
  } catch (error) {
    if (error instanceof StartError) throw error;
    if (error instanceof ConfigError) throw new StartError(error.message, { cause: error });
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

const defaultTimeoutMs = 30_000;
/** The maximum bytes of one answer, which may be a page of a hundred large objects. */
const maxBytes = 256 * 1024 * 1024;

/** No server answers at the address. */
export class Unreachable extends StartError {}

/** The server answered with an error. */
export class ErrorAnswer extends StartError {
  readonly code: number;
  /** The reason in the `Status` of the answer; empty without one. */
  readonly reason: string;
  /** The message of the server. */
  readonly said: string;
  /** The continue token of a 410 answer to a list; empty without one. */
  readonly continue: string;

  constructor(url: string, code: number, { message, reason, metadata }: Partial<Status>) {
    const said = typeof message === "string" && message !== "" ? message : `code ${code}`;
    super(`the server at ${url} refused: ${said}`);
    this.code = code;
    this.reason = reason ?? "";
    this.said = said;
    const token = (metadata as { readonly continue?: unknown } | undefined)?.continue; // absent but in such a `Status`
    this.continue = typeof token === "string" ? token : "";
  }
}

export interface ServerCall {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** The media type of the body, which is JSON. */
  readonly contentType?: string;
  readonly timeoutMs?: number;
}

interface ServerAnswer<T> {
  readonly value: T;
  /** The warnings that the server sent. */
  readonly warnings: readonly string[];
}

/** Calls one server over connections that stay open. */
export interface ServerClient {
  readonly url: string;
  /**
   * Rejects with `StartError` for every failure: with `Unreachable` when the server does not answer, with `Refused` for
   * codes of 300 and more. `T` is the caller's claim about the answer of the path.
   */
  call<T>(call: ServerCall): Promise<ServerAnswer<T>>;
  close(): void;
}

export function openServerClient({ url, headers, trust }: WebhookConnection): ServerClient {
  const outgoing = openOutgoing({ ...trust, clock: systemClock });
  return {
    url,
    async call<T>({ method, path, body, contentType = "application/json", timeoutMs = defaultTimeoutMs }: ServerCall) {
      const sent = body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) };
      const type = body === undefined ? {} : { "content-type": contentType };
      try {
        const answer = await outgoing.callOut({
          url: url + path,
          method,
          headers: { ...headers, accept: "application/json", ...type },
          ...sent,
          timeoutMs,
          maxBytes,
        });
        return {
          value: read<T>(url, answer.code, answer.body.toString()),
          warnings: warningsOf(answer.headers["warning"]),
        };
      } catch (error) {
        throw error instanceof StartError ? error : new Unreachable(whyUnreachable(url, error), { cause: error });
      }
    },
    close: () => outgoing.close(),
  };
}

/** Creates an object and resolves with the answer. Rejects as `ServerClient.call` does. */
export async function post<T>(
  server: WebhookConnection,
  path: string,
  object: unknown,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const client = openServerClient(server);
  try {
    return (await client.call<T>({ method: "POST", path, body: object, timeoutMs })).value;
  } finally {
    client.close();
  }
}

function read<T>(url: string, code: number, body: string): T {
  let value: unknown;
  try {
    value = longNumber.test(body) ? exactValue(body) : JSON.parse(body);
  } catch {
    if (code >= 400) throw new ErrorAnswer(url, code, { message: body.slice(0, 200).trim() });
    throw new StartError(`${url} answered ${code} with something that is not JSON: is it an API server?`);
  }
  if (code < 300) return value as T; // the caller names what the path answers
  throw new ErrorAnswer(url, code, (value ?? {}) as Partial<Status>); // whose fields are checked
}

/** Matches numbers that may be too large for a double to hold exactly. */
const longNumber = /[0-9]{16}/;

function warningsOf(header: string | readonly string[] | undefined): string[] {
  const text = typeof header === "string" ? header : (header?.join(", ") ?? "");
  return [...text.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, quoted = ""]) => quoted.replace(/\\(.)/g, "$1"));
}

function whyUnreachable(url: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof OutgoingError) return `${url} did not answer: ${message}`;
  if (code !== undefined && /^(?:E[A-Z]+|EAI_[A-Z]+)$/.test(code)) {
    return `no server answers at ${url} (${code}): start it with binnacle serve, or say where it is with --server`;
  }
  return `cannot trust what answers at ${url} (${code ?? message}): is it the server of this kubeconfig?`;
}
