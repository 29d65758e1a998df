/**
 * A server against which a workload runs: its address, credentials, and the process whose CPU time counts. A peer is
 * named on the command line; `startServer` starts ours.
 */
import { readFileSync } from "node:fs";
import { Connection, requestBytes, textOf } from "./connection.ts";
import { UsageError } from "./usage-error.ts";

export interface Target {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** The authority that signed the certificate. Without it the certificate is not checked. */
  readonly ca: string | undefined;
  /** The token of a user who may do everything. */
  readonly token: string;
  /** The root of the process tree whose CPU time counts; `undefined` if it is unknown. */
  readonly pid: number | undefined;
  /** The suffix of the vendor's API groups, as in `apiextensions.<domain>`. */
  readonly domain: string;
}

/** The syntax of `--peer`. */
const peerSyntax = "NAME=URL,TOKEN,PID";

/**
 * Parses `NAME=URL,TOKEN,PID`. The token `@FILE` is read from a file, the PID `-` means unknown. Throws a `UsageError`
 * for other texts.
 */
function parsePeer(text: string): Omit<Target, "domain"> {
  const refuse = (why: string): UsageError => new UsageError(`--peer: ${why}; expected ${peerSyntax}`);
  const at = text.indexOf("=");
  const [address = "", token = "", pid = "", ...rest] = text.slice(at + 1).split(",");
  if (at < 1 || token === "" || pid === "" || rest.length > 0) throw refuse("three parts after the name are needed");
  const url = URL.parse(address);
  if (url?.protocol !== "https:" || url.port === "") throw refuse("the URL is https://HOST:PORT");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (!["127.0.0.1", "localhost", "::1"].includes(host)) throw refuse("only servers of this machine are measured");
  if (pid !== "-" && !/^[1-9][0-9]*$/.test(pid)) throw refuse("the PID is a number or -");
  return {
    name: text.slice(0, at),
    host,
    port: Number(url.port),
    ca: undefined,
    token: token.startsWith("@") ? readFileSync(token.slice(1), "utf8").trim() : token,
    pid: pid === "-" ? undefined : Number(pid),
  };
}

/** Opens the peer that a text names, and reads its domain. */
export async function openPeer(text: string): Promise<Target> {
  const peer = parsePeer(text);
  const client = await Client.open({ ...peer, domain: "" });
  const groups = await client.send("GET", "/apis");
  client.close();
  const domain = /"name":\s*"apiextensions\.([^"]+)"/.exec(groups)?.[1];
  if (domain === undefined) throw new Error(`${peer.name} serves no custom resource definitions`);
  return { ...peer, domain };
}

/** A client for requests outside measured loops: one connection, bodies as text, errors are thrown. */
export class Client {
  readonly #target: Target;
  #connection: Connection;

  private constructor(target: Target, connection: Connection) {
    this.#target = target;
    this.#connection = connection;
  }

  static async open(target: Target): Promise<Client> {
    return new Client(target, await Connection.open(target));
  }

  /** Resolves with the status and body of any answer. */
  async ask(method: string, path: string, body = "", type?: string): Promise<{ code: number; text: string }> {
    if (this.#connection.isClosed) this.#connection = await Connection.open(this.#target);
    const answer = await this.#connection.request(requestBytes(method, path, this.#target.token, body, type));
    return { code: answer.code, text: textOf(answer) };
  }

  /** Resolves with the body of a success. Throws for any other answer. */
  async send(method: string, path: string, body = "", type?: string): Promise<string> {
    const { code, text } = await this.ask(method, path, body, type);
    if (code >= 300) throw new Error(`${this.#target.name}: ${method} ${path}: ${code} ${text.slice(0, 300)}`);
    return text;
  }

  close(): void {
    this.#connection.close();
  }
}

/** Creates a namespace for a workload. Resolves with its unique name. */
export async function makeNamespace(target: Target, purpose: string): Promise<string> {
  const name = `bench-${purpose}-${uniqueSuffix()}`;
  const client = await Client.open(target);
  await client.send(
    "POST",
    "/api/v1/namespaces",
    `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${name}"}}`,
  );
  client.close();
  return name;
}

/** Removes a namespace, whose content must be deleted before, and its finalizer if no controller does so. */
export async function dropNamespace(target: Target, name: string): Promise<void> {
  const client = await Client.open(target);
  const path = `/api/v1/namespaces/${name}`;
  await client.ask("DELETE", path);
  const empty = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${name}"},"spec":{"finalizers":[]}}`;
  await client.ask("PUT", `${path}/finalize`, empty);
  client.close();
}

/** Returns a few letters and digits that no other run has. */
export const uniqueSuffix = (): string => Math.random().toString(36).slice(2, 8).padEnd(6, "0");
