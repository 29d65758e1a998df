/**
 * Calls of commands to a running server, by the kubeconfig of its data folder or another one. Bounded in time and size,
 * as all outgoing calls.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import { openOutgoing, OutgoingError } from "#client/outgoing-https.ts";
import type { Status } from "#meta/status-error.ts";
import { systemClock } from "#std/clock.ts";
import { ConfigError } from "#codec/config-document.ts";
import { reasonOf } from "#std/system-error.ts";
import { optional, type Settings, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { readWebhookConnection, type WebhookConnection } from "#client/webhook-connection.ts";

/** Flags of commands that ask a server. */
export const connectionFlags = {
  dataDir: text(
    ["data-dir", "Binnacle"],
    "./.binnacle",
    "folder",
    "The server's data folder; its admin.kubeconfig says where the server is and who asks.",
  ),
  kubeconfig: optional(["kubeconfig", "Binnacle"], "file", "Ask by this kubeconfig instead of the data folder's."),
  server: optional(["server", "Binnacle"], "url", "Ask at this address instead of the kubeconfig's."),
};

/** Reads the kubeconfig the flags lead to. Throws `StartError`. */
export function findServer(settings: Settings<typeof connectionFlags>): WebhookConnection {
  const { dataDir = connectionFlags.dataDir.default, kubeconfig, server } = settings;
  const file = kubeconfig ?? join(dataDir, "admin.kubeconfig");
  try {
    // Also when a folder on the way may not be looked into.
    if (kubeconfig === undefined && statSync(file, { throwIfNoEntry: false }) === undefined) {
      throw new StartError(`no admin.kubeconfig in ${dataDir}: name the server's folder with --data-dir`);
    }
    const found = readWebhookConnection(file);
    const url = server ?? found.url;
    if (URL.parse(url)?.protocol !== "https:") {
      throw new StartError(`${JSON.stringify(url)} is no https URL: credentials go nowhere else`);
    }
    return { ...found, url: url.replace(/\/+$/, "") };
  } catch (error) {
    if (error instanceof StartError) throw error;
    if (error instanceof ConfigError) throw new StartError(error.message, { cause: error });
    throw new StartError(`cannot read ${file}: ${reasonOf(error)}`, { cause: error });
  }
}

const defaultTimeoutMs = 30_000;
const maxBytes = 1024 * 1024;

/** No server answers at the address. */
export class Unreachable extends StartError {}

/**
 * Creates an object; resolves with the answer. Rejects with `StartError` for every failure, and with `Unreachable` when
 * the server does not answer.
 */
export async function post<T>(
  { url, headers, trust }: WebhookConnection,
  path: string,
  object: unknown,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const outgoing = openOutgoing({ ...trust, clock: systemClock });
  try {
    const { code, body } = await outgoing.callOut({
      url: url + path,
      method: "POST",
      headers: { ...headers, accept: "application/json", "content-type": "application/json" },
      body: Buffer.from(JSON.stringify(object)),
      timeoutMs,
      maxBytes,
    });
    return read<T>(url, code, body.toString());
  } catch (error) {
    throw error instanceof StartError ? error : new Unreachable(whyUnreachable(url, error), { cause: error });
  } finally {
    outgoing.close();
  }
}

function read<T>(url: string, code: number, body: string): T {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new StartError(`${url} answered ${code} with something that is not JSON: is it an API server?`);
  }
  if (code < 300) return value as T; // the caller names what the path answers
  const { message } = (value ?? {}) as Partial<Status>;
  throw new StartError(`the server at ${url} refused: ${typeof message === "string" ? message : `code ${code}`}`);
}

function whyUnreachable(url: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof OutgoingError) return `${url} did not answer: ${message}`;
  if (code !== undefined && /^(?:E[A-Z]+|EAI_[A-Z]+)$/.test(code)) {
    return `no server answers at ${url} (${code}): start it with binnacle serve, or say where it is with --server`;
  }
  return `cannot trust what answers at ${url} (${code ?? message}): is it the server of this kubeconfig?`;
}
