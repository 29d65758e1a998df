/** A call to another API server and its answer, for all protocols that carry them. */
import type { Duplex } from "node:stream";

export interface Forwarded {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  /** The value of `Host`; left out: the address of the peer. */
  readonly host?: string;
  /**
   * Names and values alternate. Headers of the connection are left out, except `content-length` when the length is
   * known.
   */
  readonly headers: readonly string[];
  readonly body: ForwardedBody | undefined;
  /** The maximum time in milliseconds from the call to the head of the answer; may be infinite. */
  readonly headMs: number;
  readonly signal: AbortSignal;
  /** Whether the call has a connection of its own, which no other call uses. */
  readonly isAlone?: boolean;
}

/** A body that is being received and can be paused. */
export interface ForwardedBody {
  read(reader: { take(piece: Buffer): void; end(): void; lost(): void }): void;
  pause(): void;
  resume(): void;
  stop(): void;
}

export interface ForwardedAnswer {
  readonly code: number;
  /** All values of each header, by lower-case name. */
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** The body, read on demand; the peer waits meanwhile. Throws when the peer closes before the end. */
  readonly body: AsyncIterable<Buffer>;
  /** Gives up the rest of the body. */
  destroy(): void;
}

/** The answer of a peer that changed the protocol of the connection, or refused to change it. */
export type UpgradedAnswer =
  | { readonly kind: "answer"; readonly answer: ForwardedAnswer }
  | {
      readonly kind: "upgraded";
      /** Names and values alternate, as the peer sent them. */
      readonly headers: readonly string[];
      readonly connection: Duplex;
      /** The bytes that arrived together with the head. */
      readonly early: Buffer;
    };

/**
 * A call that is being sent. Its answer is `undefined` when the call may be sent again: the peer did not begin to
 * handle it, or a repetition makes no difference.
 */
export interface Sending<T = ForwardedAnswer | undefined> {
  readonly answer: Promise<T>;
  giveUp(): void;
}

/** The maximum bytes of the head of an answer. */
export const headerBytesMax = 64 * 1024;
/** The time in milliseconds after which an unused connection is closed. */
export const idleMs = 90_000;

const repeatableMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** Whether it makes no difference when the peer gets the call twice. */
export const isRepeatable = ({ method, body }: Pick<Forwarded, "method" | "body">): boolean =>
  body === undefined && repeatableMethods.has(method);

/** The request to which a body is written: Node's type of either protocol. */
interface BodyTarget {
  readonly destroyed: boolean;
  write(piece: Buffer): boolean;
  end(): void;
  on(event: "drain" | "close", listener: () => void): unknown;
}

/** Sends the body as it arrives. If the body ends early, `cancel` ends the request. */
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
