/**
 * A client over HTTP/2 for checks of several servers: a connection to one server, which is made again after it broke, and
 * calls with a time limit. An answer that does not come in time is an error, since nobody knows what became of the call.
 */
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";

interface Http2Answer {
  readonly status: number;
  readonly text: string;
}

interface Call {
  readonly method?: string;
  readonly body?: unknown;
  readonly type?: string;
  readonly timeoutMs?: number;
}

export class Http2Client {
  readonly #url: string;
  readonly #ca: string | undefined;
  readonly #token: string;
  #session: ClientHttp2Session | undefined;

  /** Without `ca` the certificate is not checked. */
  constructor(server: { readonly url: string; readonly ca?: string }, token = "admin-token") {
    this.#url = server.url;
    this.#ca = server.ca;
    this.#token = token;
  }

  /** The session, which is a new one if the last one broke. */
  #connected(): ClientHttp2Session {
    let session = this.#session;
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(this.#url, this.#ca === undefined ? { rejectUnauthorized: false } : { ca: this.#ca });
      session.on("error", () => undefined); // the calls report it
      this.#session = session;
    }
    return session;
  }

  /** Opens a stream. The caller reads it, and ends it by `close`. */
  open(path: string, { method = "GET", body, type = "application/json" }: Call = {}): ClientHttp2Stream {
    const hasBody = body !== undefined;
    const stream = this.#connected().request(
      {
        ":method": method,
        ":path": path,
        authorization: `Bearer ${this.#token}`,
        accept: "application/json",
        ...(hasBody ? { "content-type": type } : {}),
      },
      { endStream: !hasBody },
    );
    if (hasBody) stream.end(JSON.stringify(body));
    return stream;
  }

  /** Sends a request. Rejects when the connection breaks, or when the answer does not come in time (10 s). */
  call(path: string, call: Call = {}): Promise<Http2Answer> {
    return new Promise((resolve, reject) => {
      let stream: ClientHttp2Stream;
      try {
        stream = this.open(path, call);
      } catch (error) {
        reject(error as Error); // the session ended just now
        return;
      }
      let status = 0;
      const pieces: Buffer[] = [];
      const timer = setTimeout(() => {
        reject(new Error("no answer in time"));
        stream.close(constants.NGHTTP2_CANCEL);
        // A connection that is silent is not used again.
        this.#session?.destroy();
      }, call.timeoutMs ?? 10_000);
      const failed = (error: Error): void => {
        clearTimeout(timer);
        reject(error);
      };
      stream.once("response", (headers) => {
        status = Number(headers[":status"]);
      });
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("error", failed);
      stream.once("close", () => failed(new Error("the connection broke")));
      stream.once("end", () => {
        if (status === 0) return;
        clearTimeout(timer);
        resolve({ status, text: Buffer.concat(pieces).toString() });
      });
    });
  }

  close(): void {
    this.#session?.destroy();
  }
}
