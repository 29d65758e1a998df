/** Raw bytes on a TLS connection, for malformed requests. */
import http2 from "node:http2";
import tls from "node:tls";
import { type Endpoint, patienceMs } from "./client.ts";

export interface RawConnection {
  readonly socket: tls.TLSSocket;
  /** Returns all bytes received so far, as Latin-1. */
  readonly received: () => string;
  write(text: string | Buffer): void;
  /** Resolves once `text` has been received or the connection is closed. Rejects after a timeout. */
  until(text: string, withinMs?: number): Promise<string>;
  /** Resolves with everything received once the server has closed the connection. Rejects after a timeout. */
  closed(withinMs?: number): Promise<string>;
}

/** Opens a connection that has agreed on HTTP/1.1 and that nothing reads yet. */
export async function connectTls(endpoint: Endpoint, ca: string): Promise<tls.TLSSocket> {
  const socket = tls.connect({
    host: endpoint.host,
    port: endpoint.port,
    ...(ca === "" ? { rejectUnauthorized: false } : { ca }),
    ALPNProtocols: ["http/1.1"],
  });
  await new Promise<void>((resolve, reject) => {
    socket.once("secureConnect", resolve);
    socket.once("error", reject);
  });
  // A connection that a failed test left open must not keep the process alive.
  socket.unref();
  return socket;
}

/** Opens a connection that has agreed on HTTP/1.1. Errors of the connection count as its end. */
export async function connectRaw(endpoint: Endpoint, ca: string): Promise<RawConnection> {
  const socket = await connectTls(endpoint, ca);
  let received = "";
  let isClosed = false;
  let wake: () => void = () => undefined;
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString("latin1");
    wake();
  });
  for (const event of ["end", "close", "error"] as const) {
    socket.on(event, () => {
      isClosed = true;
      wake();
    });
  }
  const wait = async (isDone: () => boolean, withinMs: number, what: string): Promise<string> => {
    const deadline = Date.now() + withinMs;
    while (!isDone()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`${what} did not come; received: ${received.slice(0, 500)}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return received;
  };
  return {
    socket,
    received: () => received,
    write: (text) => void socket.write(text),
    until: (text, withinMs = patienceMs) => wait(() => isClosed || received.includes(text), withinMs, text),
    closed: (withinMs = patienceMs) => wait(() => isClosed, withinMs, "the end"),
  };
}

/** Opens an HTTP/2 session. */
export async function connectHttp2(endpoint: Endpoint, ca: string): Promise<http2.ClientHttp2Session> {
  const options = ca === "" ? { rejectUnauthorized: false } : { ca };
  const session = http2.connect(`https://${endpoint.host}:${endpoint.port}`, options);
  session.on("error", () => undefined);
  await new Promise<void>((resolve, reject) => {
    session.once("connect", () => resolve());
    session.once("error", reject);
  });
  session.unref();
  return session;
}

/** Sends a request over an HTTP/2 session. Resolves with status and body. */
export function request2(
  session: http2.ClientHttp2Session,
  headers: http2.OutgoingHttpHeaders,
  body?: string | Buffer,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const stream = session.request(headers, { endStream: body === undefined });
    let status = 0;
    let text = "";
    stream.on("response", (answer) => {
      status = Number(answer[":status"]);
    });
    stream.setEncoding("utf8");
    stream.on("data", (piece: string) => {
      text += piece;
    });
    stream.on("end", () => resolve({ status, text }));
    stream.on("error", reject);
    if (body !== undefined) stream.end(body);
  });
}
