/**
 * Plain HTTP/1.1 on the loopback address, for a program and a browser on the same machine. Requests have bounds of size
 * and time; an answer is written at once, or piece by piece with a bound of what waits for a slow reader.
 */
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";

const { createServer } = process.getBuiltinModule("node:http");

/** A request, and the way to answer it. */
export interface LocalExchange {
  readonly method: string;
  /** The path and query as they were sent. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Aborted when the peer leaves before the answer is complete. */
  readonly signal: AbortSignal;
  /** Reads the body. Resolves with `undefined` for one that is longer than `bytesMax`. */
  body(bytesMax: number): Promise<Buffer | undefined>;
  /** Answers at once. Names of headers are in lower case. */
  answer(code: number, headers: Readonly<Record<string, string>>, bytes: Buffer): void;
  /** Writes the head of an answer that comes in pieces. */
  begin(code: number, headers: Readonly<Record<string, string>>): void;
  /** Writes a piece. Returns false when the peer has left, or reads so slowly that it was cut off. */
  write(piece: Buffer): boolean;
  end(): void;
}

interface LocalHttpOptions {
  /** The port; 0 takes a free one. */
  readonly port: number;
  /** Never rejects. */
  handle(exchange: LocalExchange): Promise<void>;
}

interface LocalHttp {
  readonly port: number;
  close(): Promise<void>;
}

/** The maximum bytes of an answer that wait for their reader. */
const waitingBytesMax = 32 * 1024 * 1024;
const connectionsMax = 256;

/** Opens the port. Rejects with `StartError`. */
export function openLocalHttp({ port, handle }: LocalHttpOptions): Promise<LocalHttp> {
  const server = createServer({
    maxHeaderSize: 64 * 1024,
    headersTimeout: 20_000,
    requestTimeout: 60_000,
    keepAliveTimeout: 60_000,
  });
  server.maxConnections = connectionsMax;
  server.on("request", (request, response) => void handle(exchangeOf(request, response)));
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(new StartError(`cannot listen on port ${port} of 127.0.0.1: ${reasonOf(error)}`, { cause: error }));
    });
    server.listen(port, "127.0.0.1", () => {
      const { port: taken } = server.address() as AddressInfo; // it listens on a port of TCP
      resolve({ port: taken, close: () => closed(server) });
    });
  });
}

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });

function exchangeOf(request: IncomingMessage, response: ServerResponse): LocalExchange {
  const { method = "", url = "", headers } = request;
  const gone = new AbortController();
  response.on("close", () => {
    if (!response.writableFinished) gone.abort(new Error("the browser has left"));
  });
  response.on("error", () => gone.abort(new Error("the browser has left")));
  return {
    method,
    url,
    headers,
    signal: gone.signal,
    body: (bytesMax) => readBody(request, bytesMax),
    answer(code, given, bytes) {
      if (response.headersSent || response.destroyed) return;
      // The rest of a request that was refused would be taken for the next one.
      const rest = request.complete ? {} : { connection: "close" };
      response.writeHead(code, { ...given, ...rest, "content-length": bytes.length });
      response.end(method === "HEAD" ? undefined : bytes);
    },
    begin(code, given) {
      response.writeHead(code, given);
      response.flushHeaders();
    },
    write(piece) {
      if (response.destroyed) return false;
      response.write(piece);
      if (response.writableLength <= waitingBytesMax) return true;
      response.destroy();
      return false;
    },
    end: () => void response.end(),
  };
}

async function readBody(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > bytesMax) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
