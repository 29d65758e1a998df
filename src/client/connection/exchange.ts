/** One request over a pool, and its answer: collected, or given on line by line. */
import type { Dispatcher } from "undici";
import type { ReceivedHeaders } from "./headers.ts";
import { type LineReader, LineSplitter } from "./lines.ts";
import type { Liveness, Watched } from "./liveness.ts";
import { bodyTooLong, isOfConnection, requestError } from "./problem.ts";

interface WireRequest {
  readonly method: Dispatcher.HttpMethod;
  /** The path with its query, or the whole URL for a proxy. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: Buffer | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The server's URL for messages, without path, user and password. */
  readonly address: string;
  /** Receives the lines of an answer with code 200, whose body is then empty. */
  readonly reader?: LineReader | undefined;
  /** The maximum time in milliseconds without a byte of the answer. */
  readonly idleMs?: number | undefined;
  /** The maximum bytes of an answer that is collected. */
  readonly bodyBytesMax: number;
}

export interface WireAnswer {
  readonly code: number;
  readonly headers: ReceivedHeaders;
  readonly body: Buffer;
}

/** The maximum bytes of a line. An event has one object; the largest list of a streamed one is about as long. */
const lineBytesMax = 256 * 1024 * 1024;

/**
 * Sends the request once. Rejects with `ConnectionError`, with the error of a listener, or with the signal's reason.
 * An answer that is given on by lines ends without an error when the signal is aborted. `liveness` is called when a
 * connection is there; it returns what watches over requests whose connection cannot be asked for a sign of life.
 */
export function exchange(
  pool: Dispatcher,
  request: WireRequest,
  liveness: () => Liveness | undefined,
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const handler = new WireExchange(request, liveness, resolve, reject);
    const { method, path, headers, body } = request;
    pool.dispatch({ method, path, headers, ...(body === undefined ? {} : { body }) }, handler);
  });
}

/** A request that is under way. */
class WireExchange implements Dispatcher.DispatchHandler, Watched {
  readonly idleMs: number;
  /** The time of the last sign of the server, in milliseconds of the clock of `Liveness`. */
  lastMs = 0;
  readonly #request: WireRequest;
  readonly #livenessNow: () => Liveness | undefined;
  readonly #resolve: (answer: WireAnswer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #liveness: Liveness | undefined;
  #isSettled = false;
  #code = 0;
  #headers: ReceivedHeaders = {};
  #body: Buffer[] = [];
  #bodyBytes = 0;
  #lines: LineSplitter | undefined;

  constructor(
    request: WireRequest,
    liveness: () => Liveness | undefined,
    resolve: (answer: WireAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.idleMs = request.idleMs ?? Infinity;
    this.#request = request;
    this.#livenessNow = liveness;
    this.#resolve = resolve;
    this.#reject = reject;
    request.signal?.addEventListener("abort", this.#aborted, { once: true });
    if (request.signal?.aborted === true) this.#aborted();
  }

  /** Gives the request up, with an error of undici or of the system. */
  fail(error: Error): void {
    if (this.#isSettled) return;
    const { address, method } = this.#request;
    const [sent, reads, answered] = [this.#controller !== undefined, method === "GET", this.#code !== 0];
    // Errors of `dial.ts` say it all. Requests that wait for a connection also get undici's refusals and its end.
    const isOurs = !sent && !isOfConnection(error);
    this.#end(() => this.#reject(isOurs ? error : requestError(error, { address, sent, reads, answered })));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#isSettled) {
      controller.abort(new Error("nobody waits for the answer"));
      return;
    }
    this.#liveness = this.#livenessNow();
    this.#touch();
    this.#liveness?.add(this);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, code: number, headers: ReceivedHeaders): void {
    this.#touch();
    if (code < 200) return;
    this.#code = code;
    this.#headers = headers;
    const { reader } = this.#request;
    if (reader === undefined || code !== 200) return;
    reader.begin();
    // A listener may abort the request, and then gets none of the lines that came with the same bytes.
    const take = (line: Buffer): void => {
      if (!this.#isSettled) reader.line(line);
    };
    this.#lines = new LineSplitter(take, lineBytesMax);
  }

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.#isSettled) return;
    this.#touch();
    if (this.#lines === undefined) {
      this.#body.push(piece);
      this.#bodyBytes += piece.length;
      const { bodyBytesMax, address } = this.#request;
      if (this.#bodyBytes > bodyBytesMax) this.#end(() => this.#reject(bodyTooLong(address, bodyBytesMax)));
      return;
    }
    try {
      this.#lines.take(piece);
    } catch (error) {
      this.#end(() => this.#reject(error));
    }
  }

  onResponseEnd(): void {
    this.#controller = undefined;
    this.#end(() => this.#resolve(this.#answer()));
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.fail(error);
  }

  #touch(): void {
    if (this.#liveness !== undefined) this.lastMs = this.#liveness.now();
  }

  #answer(): WireAnswer {
    const [only] = this.#body;
    const body = this.#body.length === 1 && only !== undefined ? only : Buffer.concat(this.#body);
    return { code: this.#code, headers: this.#headers, body };
  }

  readonly #aborted = (): void => {
    if (this.#lines === undefined) this.#end(() => this.#reject(this.#request.signal?.reason));
    else this.#end(() => this.#resolve(this.#answer()));
  };

  #end(settle: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#liveness?.delete(this);
    this.#request.signal?.removeEventListener("abort", this.#aborted);
    settle();
    // A request that has ended is not changed by this.
    this.#controller?.abort(new Error("nobody waits for the answer"));
  }
}
