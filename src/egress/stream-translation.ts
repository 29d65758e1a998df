/**
 * Translates WebSockets of clients to the SPDY that kubelets speak: the channels of a command (`v5.channel.k8s.io`) to its
 * streams, and a tunnel for forwarded ports (`SPDY/3.1+portforward.k8s.io`), whose messages are the bytes of SPDY. Source:
 * the bytes that kubectl, kube-apiserver 1.32 and kubelets exchange.
 */
import type { Clock } from "#std/clock.ts";
import { acceptOf, binaryFrame, closedNormally, closeFrame, pongFrame, WebSocketReader } from "#std/websocket.ts";
import type { UpgradedAnswer } from "./forwarding.ts";
import { JoinedStream } from "./stream-translation/joined-stream.ts";
import { SpdyClient } from "./stream-translation/spdy-client.ts";

/** The subprotocols that are translated. */
export const commandProtocol = "v5.channel.k8s.io";
export const tunnelProtocol = "SPDY/3.1+portforward.k8s.io";

/** The connection of a kubelet that has changed to SPDY. */
type Upgraded = Pick<Extract<UpgradedAnswer, { readonly kind: "upgraded" }>, "connection" | "early">;

/** Returns the headers, names and values alternating, of the answer that begins a WebSocket. */
export function handshakeHeaders(key: string, protocol: string): string[] {
  const own = ["Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Accept", acceptOf(key)];
  return [...own, "Sec-WebSocket-Protocol", protocol];
}

/** Returns the reader of a client's messages, which answers control frames and ends the stream with the client. */
const messageReader = (stream: JoinedStream, data: (bytes: Buffer, isFirst: boolean) => void): WebSocketReader =>
  new WebSocketReader({
    data,
    ping: (payload) => stream.answerClient(pongFrame(payload)),
    ended(code) {
      stream.answerClient(closeFrame(code));
      stream.finish(Buffer.alloc(0));
    },
  });

/** Returns the client's end of a tunnel, whose messages are the bytes of the kubelet's connection. */
export function tunnelStream({ connection, early }: Upgraded, clock: Clock): JoinedStream {
  const stream = new JoinedStream(clock);
  const messages = messageReader(stream, (bytes) => stream.toPeer(bytes));
  stream.join(connection, early, {
    fromClient: (bytes) => messages.take(bytes),
    fromPeer: (bytes) => stream.toClient(binaryFrame(bytes)),
    peerClosed: () => stream.finish(closeFrame(closedNormally)),
  });
  return stream;
}

/** The streams of a command, by the number of their channel. */
const channels = ["stdin", "stdout", "stderr", "error", "resize"] as const;
type Channel = (typeof channels)[number];
const errorChannel = channels.indexOf("error");
/** The first byte of a message that ends the channel in its second byte. */
const endChannel = 255;

/** The streams that the client asked for. */
type CommandStreams = Readonly<Record<"stdin" | "stdout" | "stderr" | "tty", boolean>>;

interface CommandOptions {
  readonly clock: Clock;
  readonly streams: CommandStreams;
  /** Connects to the kubelet. A rejection is shown to the client, by the status that `failure` makes. */
  connect(): Promise<Upgraded>;
  /** Returns the status of a failure, as JSON. */
  failure(problem: unknown): Buffer;
}

/** Returns the client's end of a command. The client learns on its error channel when there is no kubelet. */
export function commandStream(options: CommandOptions): JoinedStream {
  const stream = new JoinedStream(options.clock);
  const fail = (problem: unknown): void => {
    const status = binaryFrame(Buffer.from([errorChannel]), options.failure(problem));
    stream.finish(Buffer.concat([status, closeFrame(closedNormally)]));
  };
  options.connect().then(({ connection, early }) => {
    stream.join(connection, early, new Command(stream, options.streams, fail));
  }, fail);
  return stream;
}

/** The maximum bytes of the status of a command. */
const statusBytesMax = 64 * 1024;

/** The end of a command as a kubelet tells it: the command ended, in whatever way, or something failed. */
type CommandStatus =
  | { readonly isExit: true; readonly bytes: Buffer }
  | { readonly isExit: false; readonly message: string };

function statusOf(bytes: Buffer): CommandStatus {
  if (bytes.length === 0)
    return { isExit: false, message: "the connection to the kubelet closed before the end of the command" };
  try {
    const { status, reason, message } = JSON.parse(bytes.toString()) as Readonly<Record<string, unknown>>;
    if (status === "Success" || reason === "NonZeroExitCode") return { isExit: true, bytes };
    return { isExit: false, message: String(message) };
  } catch {
    return { isExit: false, message: `the kubelet said ${JSON.stringify(bytes.toString())}` };
  }
}

class Command {
  readonly #stream: JoinedStream;
  readonly #spdy: SpdyClient;
  readonly #messages: WebSocketReader;
  readonly #wanted: readonly Channel[];
  readonly #fail: (problem: unknown) => void;
  /** The SPDY streams by channel, and the channels by stream. */
  readonly #streams = new Map<number, number>();
  readonly #channels = new Map<number, number>();
  /** The streams on which the kubelet has something to say. */
  readonly #open = new Set<number>();
  /** The channel of the current message; -1 at its beginning, `endChannel` for one that ends a channel. */
  #channel = -1;
  /** The bytes of the error stream, and their number. */
  readonly #status: Buffer[] = [];
  #statusBytes = 0;

  constructor(stream: JoinedStream, { stdin, stdout, stderr, tty }: CommandStreams, fail: (problem: unknown) => void) {
    this.#stream = stream;
    this.#fail = fail;
    const asked = { error: true, stdin, stdout, stderr: stderr && !tty, resize: tty };
    this.#wanted = (["error", "stdin", "stdout", "stderr", "resize"] as const).filter((name) => asked[name]);
    this.#spdy = new SpdyClient({
      data: (id, bytes) => this.#toClient(id, bytes),
      ended: (id) => this.#ended(id),
      send: (bytes) => stream.toPeer(bytes),
      answer: (bytes) => stream.answerPeer(bytes),
      broken: fail,
    });
    this.#messages = messageReader(stream, (bytes, isFirst) => this.#fromMessage(bytes, isFirst));
  }

  /** Opens the streams. */
  begin(): void {
    for (const name of this.#wanted) {
      const id = this.#spdy.open({ streamtype: name });
      const channel = channels.indexOf(name);
      this.#streams.set(channel, id);
      this.#channels.set(id, channel);
      if (name === "error" || name === "stdout" || name === "stderr") this.#open.add(id);
    }
  }

  fromClient(bytes: Buffer): void {
    this.#messages.take(bytes);
  }

  fromPeer(bytes: Buffer): void {
    this.#spdy.take(bytes);
  }

  peerClosed(): void {
    const status = statusOf(Buffer.concat(this.#status));
    if (status.isExit) {
      const message = binaryFrame(Buffer.from([errorChannel]), status.bytes);
      this.#stream.finish(Buffer.concat([message, closeFrame(closedNormally)]));
    } else this.#fail(new Error(status.message));
  }

  #toClient(id: number, bytes: Buffer): void {
    const channel = this.#channels.get(id);
    if (channel === undefined) return;
    if (channel === errorChannel) {
      this.#statusBytes += bytes.length;
      if (this.#statusBytes <= statusBytesMax) this.#status.push(Buffer.from(bytes));
      return;
    }
    this.#stream.toClient(binaryFrame(Buffer.from([channel]), bytes));
  }

  #ended(id: number): void {
    if (!this.#open.delete(id) || this.#open.size > 0) return;
    this.peerClosed();
  }

  #fromMessage(bytes: Buffer, isFirst: boolean): void {
    let rest = bytes;
    if (isFirst) this.#channel = -1;
    if (this.#channel === -1) {
      if (rest.length === 0) return;
      this.#channel = rest[0]!;
      rest = rest.subarray(1);
    }
    if (rest.length === 0) return;
    if (this.#channel === endChannel) {
      const ended = this.#streams.get(rest[0]!);
      if (ended !== undefined && this.#accepts(rest[0]!)) this.#spdy.end(ended);
      return;
    }
    const id = this.#streams.get(this.#channel);
    if (id !== undefined && this.#accepts(this.#channel)) this.#spdy.write(id, rest);
  }

  /** Whether a channel goes from the client to the kubelet. */
  #accepts(channel: number): boolean {
    return channels[channel] === "stdin" || channels[channel] === "resize";
  }
}
