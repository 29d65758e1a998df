/** Sends the same requests to two servers, and selects the parts of the answers that are compared. */
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";

export type Json = Readonly<Record<string, unknown>>;

export interface Server {
  readonly name: string;
  readonly url: URL;
  readonly token: string;
  readonly agent: Agent;
}

export interface Answer {
  readonly code: number;
  readonly body: Json;
  readonly warnings: readonly string[];
}

export interface ServerRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: Json | readonly Json[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Parses a server of the command line, `URL,TOKEN`. Ends the process if it is invalid. */
export function readServer(name: string, text: string | undefined): Server {
  const [address = "", token = ""] = (text ?? "").split(",");
  const url = URL.parse(address);
  if (url?.protocol !== "https:" || token === "") {
    process.stderr.write(`--${name}: expected https://HOST:PORT,TOKEN; --help prints what there is\n`);
    process.exit(2);
  }
  const tokenText = token.startsWith("@") ? readFileSync(token.slice(1), "utf8").trim() : token;
  return { name, url, token: tokenText, agent: new Agent({ keepAlive: true, rejectUnauthorized: false }) };
}

export function ask(server: Server, serverRequest: ServerRequest): Promise<Answer> {
  const { method, path, body, headers: more } = serverRequest;
  return new Promise((resolve, reject) => {
    const headers = {
      authorization: `Bearer ${server.token}`,
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
      "user-agent": "differ",
      ...more,
    };
    // The connection may be closed because it was idle, or because a handler panicked. The server continues.
    const onLoss = (error: NodeJS.ErrnoException): void => {
      if (error.code !== "ECONNRESET") reject(error);
      else if (outgoing.reusedSocket) ask(server, serverRequest).then(resolve, reject);
      else resolve({ code: 0, body: { message: `no answer from ${server.name}` }, warnings: [] });
    };
    const outgoing = request(new URL(path, server.url), { method, headers, agent: server.agent }, (reply) => {
      const parts: Buffer[] = [];
      reply.on("data", (part: Buffer) => parts.push(part));
      reply.on("error", onLoss);
      reply.on("end", () => {
        const text = Buffer.concat(parts).toString();
        const warnings = [reply.headers["warning"] ?? []].flat().flatMap((text) => text.split(/, (?=299 - ")/));
        // A body may have another form than JSON.
        const content = text.startsWith("{") ? (JSON.parse(text) as Json) : { text };
        resolve({ code: reply.statusCode ?? 0, body: content, warnings });
      });
    });
    outgoing.on("error", onLoss);
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** The compared members of a failure. */
interface Failure {
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly causes?: readonly { readonly reason: string; readonly field: string; readonly message: string }[];
  };
}

const isSuccess = (code: number): boolean => code > 0 && code < 400;

/** Returns the compared parts of an answer, without random names and addresses in Go syntax. */
export function comparableText({ code, body, warnings }: Answer): string {
  const { reason = "", message = "", details } = isSuccess(code) ? {} : (body as Failure); // a Status, or no member
  const causes = details?.causes?.map((cause) => `${cause.reason} ${cause.field}: ${cause.message}`).sort();
  // Findings are a set, since upstream repeats many of them.
  const lines = [
    `${code} ${reason}`,
    ...new Set(causes ?? [message]),
    ...warnings.map((text) => `warning: ${text}`).sort(),
  ];
  return lines
    .join("\n")
    .replace(/selfType\d+/g, "selfType")
    .replace(/(\(\*[\w.]+\))\((?!nil)[^)]*\)/g, "$1(...)");
}

/** Returns a text without the random part of type names. */
export const withoutRandom = (text: string): string => text.replace(/\b([A-Z][a-zA-Z]+)\d{5,}\b/g, "$1");

export class Comparison {
  readonly servers: readonly Server[];
  compared = 0;
  differing = 0;
  /** The number of documented differences, which the other numbers do not include. */
  excused = 0;

  constructor(servers: readonly Server[]) {
    this.servers = servers;
  }

  /** Sends a request to both servers and compares the answers. Returns the code if they agree. */
  async ask(what: string, method: string, path: string, body?: (server: number) => Json): Promise<number | undefined> {
    const answers = await Promise.all(
      this.servers.map((server, at) => ask(server, { method, path, ...(body && { body: body(at) }) })),
    );
    const isSame = this.compare(what, body?.(0), answers.map(comparableText));
    return isSame ? answers[0]!.code : undefined;
  }

  /** Whether both texts are equal. Prints them otherwise. */
  compare(what: string, serverRequest: unknown, [one, other]: readonly string[]): boolean {
    this.compared++;
    if (one === other) return true;
    this.differing++;
    const texts = this.servers.map(({ name }, at) => `--- ${name}\n${[one, other][at]}`).join("\n");
    process.stdout.write(`${what}\n${serverRequest === undefined ? "" : JSON.stringify(serverRequest)}\n${texts}\n\n`);
    return false;
  }

  /** Sends a request to both servers without a comparison. */
  askEach(method: string, path: string, body?: Json): Promise<readonly Answer[]> {
    return Promise.all(this.servers.map((server) => ask(server, { method, path, ...(body && { body }) })));
  }

  /** Repeats a request until both servers answer with this code. */
  async waitForCode(code: number, method: string, path: string, body?: Json): Promise<void> {
    for (let attempt = 0; attempt < 400; attempt++) {
      if ((await this.askEach(method, path, body)).every((answer) => answer.code === code)) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`${method} ${path} is not answered with ${code}`);
  }
}
