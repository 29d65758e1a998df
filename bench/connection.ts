/**
 * A minimal HTTP/1.1 client: one TLS connection, prepared request bytes, and answers parsed only for status and
 * framing. Its low cost keeps the server the bottleneck.
 */
import { connect, type TLSSocket } from "node:tls";

/** The address to connect to. Without a `ca` the certificate is not checked. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
  readonly ca: string | undefined;
}

interface Answer {
  readonly code: number;
  /** The body as received, including the framing of chunks. */
  readonly body: Buffer;
  readonly isChunked: boolean;
}

/** Returns the body as text, without framing. */
export function textOf({ body, isChunked }: Answer): string {
  if (!isChunked) return body.toString();
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.toString("latin1", at, line), 16);
    if (!(length > 0)) return Buffer.concat(parts).toString();
    parts.push(body.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}

const headerEnd = Buffer.from("\r\n\r\n");
const lastChunk = "0\r\n\r\n";

export class Connection {
  readonly #socket: TLSSocket;
  /** The received bytes of the answer, and the number needed, which is unknown before the headers have arrived. */
  #parts: Buffer[] = [];
  #size = 0;
  #need: number | "chunks" | undefined;
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((error: Error) => void) | undefined;
  #onChunk: ((chunk: Buffer) => void) | undefined;

  private constructor(socket: TLSSocket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on("data", (data: Buffer) => this.#data(data));
    socket.on("error", (error) => this.#reject?.(error));
    socket.on("close", () => this.#reject?.(new Error("the server closed the connection")));
  }

  static open({ host, port, ca }: Endpoint): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
      const socket = connect({ host, port, ...trust, servername: "localhost", ALPNProtocols: ["http/1.1"] });
      socket.once("error", reject);
      socket.once("secureConnect", () => {
        socket.off("error", reject);
        resolve(new Connection(socket));
      });
    });
  }

  /** Whether the connection ended without a request: a server closes connections that are idle for long. */
  get isClosed(): boolean {
    return this.#socket.destroyed || this.#socket.readableEnded;
  }

  /** Sends a request and resolves with its answer. Requests on one connection follow each other. */
  request(bytes: Buffer): Promise<Answer> {
    // A closed socket would never emit an event.
    if (this.isClosed) return Promise.reject(new Error("the server closed the connection"));
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(bytes);
    });
  }

  /** Sends a watch request. `onChunk` gets every piece of the body that arrives, framing included. */
  stream(bytes: Buffer, onChunk: (chunk: Buffer) => void): void {
    this.#onChunk = onChunk;
    this.#socket.write(bytes);
  }

  close(): void {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  #data(data: Buffer): void {
    if (this.#onChunk !== undefined) {
      this.#onChunk(data);
      return;
    }
    this.#parts.push(data);
    this.#size += data.length;
    this.#need ??= this.#bodyLength();
    if (this.#need === undefined || !this.#isComplete(this.#need, data)) return;
    const all = join(this.#parts);
    const answer: Answer = {
      code: Number(all.toString("latin1", 9, 12)),
      body: all.subarray(all.indexOf(headerEnd) + headerEnd.length),
      isChunked: this.#need === "chunks",
    };
    this.#parts = [];
    this.#size = 0;
    this.#need = undefined;
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(answer);
  }

  /** Returns the number of bytes of the whole answer, by its headers. */
  #bodyLength(): number | "chunks" | undefined {
    const all = join(this.#parts);
    const at = all.indexOf(headerEnd);
    if (at < 0) return undefined;
    const length = /\r\ncontent-length: (\d+)/i.exec(all.toString("latin1", 0, at));
    return length === null ? "chunks" : at + headerEnd.length + Number(length[1]);
  }

  #isComplete(need: number | "chunks", last: Buffer): boolean {
    if (need !== "chunks") return this.#size >= need;
    const end = last.length >= lastChunk.length ? last : join(this.#parts);
    return end.toString("latin1", Math.max(0, end.length - lastChunk.length)) === lastChunk;
  }
}

function join(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Returns the bytes of a request. With an empty token there are no credentials. */
export function requestBytes(
  method: string,
  path: string,
  token: string,
  body = "",
  contentType = "application/json",
): Buffer {
  const length = Buffer.byteLength(body);
  const user = token === "" ? "" : `Authorization: Bearer ${token}\r\n`;
  const framing = body === "" ? "" : `Content-Type: ${contentType}\r\nContent-Length: ${length}\r\n`;
  return Buffer.from(
    `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nUser-Agent: bench/1\r\nAccept: application/json\r\n${user}${framing}\r\n${body}`,
  );
}
