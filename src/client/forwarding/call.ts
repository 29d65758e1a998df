/** A call to another API server and its answer, whichever protocol carries them. */
import type { Duplex } from "node:stream";

export interface Forwarded {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  /** Names and values in turn; none that concern the connection, but `content-length` where it is known. */
  readonly headers: readonly string[];
  readonly body: ForwardedBody | undefined;
  /** The time from the call to the head of the answer. */
  readonly headMs: number;
  readonly signal: AbortSignal;
  /** Whether the call has a connection of its own, which no other call uses. */
  readonly isAlone?: boolean;
}

/** A body on its way in; it can be held back. */
export interface ForwardedBody {
  read(reader: { take(piece: Buffer): void; end(): void; lost(): void }): void;
  pause(): void;
  resume(): void;
  stop(): void;
}

export interface ForwardedAnswer {
  readonly code: number;
  /** Every value, by name in lower case. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Pulled; the peer waits meanwhile. Ends with an error when the peer closes midway. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives up the rest of the body. */
  destroy(): void;
}

/** The peer changed the protocol of the connection, or refused to. */
export type UpgradedAnswer =
  | { readonly kind: "answer"; readonly answer: ForwardedAnswer }
  | {
      readonly kind: "upgraded";
      /** Names and values in turn, as sent. */
      readonly headers: readonly string[];
      readonly connection: Duplex;
      /** These bytes came with the head. */
      readonly early: Buffer;
    };

/** A call on its way. Its answer is `undefined` when the call may be sent again: the peer did not begin, or may twice. */
export interface Sending<T = ForwardedAnswer | undefined> {
  readonly answer: Promise<T>;
  giveUp(): void;
}

/** Most bytes of an answer's head. */
export const headerBytesMax = 64 * 1024;
/** An unused connection is closed after this long. */
export const idleMs = 90_000;

const repeatableMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether it makes no difference if the peer gets it twice. */
export const isRepeatable = ({ method, body }: Pick<Forwarded, "method" | "body">): boolean =>
  body === undefined && repeatableMethods.has(method);

/** The target of a body: Node's request of either protocol. */
interface BodyTarget {
  readonly destroyed: boolean;
  write(piece: Buffer): boolean;
  end(): void;
  on(event: "drain" | "close", listener: () => void): unknown;
}

/** Sends the body as it comes. A body that breaks off breaks the request off, by `cancel`. */
export function pipeBody(body: ForwardedBody, target: BodyTarget, cancel: () => void): void {
  let isPaused = false;
  let isWhole = false;
  target.on("drain", () => {
    if (isPaused) body.resume();
    isPaused = false;
  });
  target.on("close", () => {
    if (!isWhole) body.stop();
  });
  body.read({
    take(piece) {
      if (target.destroyed) return body.stop();
      if (target.write(piece) || isPaused) return;
      isPaused = true;
      body.pause();
    },
    end() {
      isWhole = true;
      target.end();
    },
    lost: cancel,
  });
}
