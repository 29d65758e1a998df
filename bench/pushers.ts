/**
 * Many connections that each send a body as fast as the server accepts it, whatever the answer is. They run in a
 * separate process (`pushersAside`), so that only the server can delay other clients. Over HTTP/2 the program writes
 * frames itself, which is cheap and allows violations of the protocol.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { constants, setPriority } from "node:os";
import { connect, type TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Endpoint } from "./connection.ts";

export interface Push extends Endpoint {
  readonly protocol: "http/1.1" | "h2";
  readonly connections: number;
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  readonly bodyBytes: number;
  /**
   * The number of bytes that a connection sends each second, in one piece; by default as many as the server accepts.
   */
  readonly slowBytes?: number;
  /** The frames that are sent endlessly in place of the body, over HTTP/2. */
  readonly frames?: keyof typeof floods;
  /** Whether the client continues a body that the server has reset, over HTTP/2. */
  readonly isDeaf?: boolean;
  /** Whether it opens another connection when the server closes one. */
  readonly reopens?: boolean;
}

interface Pushed {
  /** The number of answers by their code. */
  readonly answers: Readonly<Record<string, number>>;
  readonly sentMb: number;
  /** The number of connections that the server ended, and of all opened ones. */
  readonly ended: number;
  readonly opened: number;
}

const pieceBytes = 16 * 1024;
const piece = Buffer.alloc(pieceBytes, 0x20);
/** The number of ticks of a second. Each tick serves some of the slow connections. */
const ticks = 50;

class Pushers {
  readonly #options: Push;
  readonly answers: Record<string, number> = {};
  sentBytes = 0;
  ended = 0;
  opened = 0;
  #begun = false;
  readonly #sockets = new Set<Pusher>();

  constructor(options: Push) {
    this.#options = options;
  }

  /** Opens all connections, a few at a time. */
  async open(): Promise<void> {
    let left = this.#options.connections;
    const next = async (): Promise<void> => {
      while (left-- > 0) await this.#open();
    };
    await Promise.all(Array.from({ length: 50 }, next));
  }

  #open(): Promise<void> {
    const { host, port, ca, protocol } = this.#options;
    return new Promise((resolve) => {
      const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
      const socket = connect({ host, port, ...trust, servername: "localhost", ALPNProtocols: [protocol] });
      const pusher =
        protocol === "h2" ? new Http2Pusher(socket, this.#options, this) : new Http1Pusher(socket, this.#options, this);
      socket.on("error", () => undefined);
      socket.once("secureConnect", () => {
        this.opened++;
        this.#sockets.add(pusher);
        resolve();
        if (this.#begun) pusher.begin();
      });
      socket.once("close", () => {
        resolve();
        this.#sockets.delete(pusher);
        if (!this.#begun) return;
        this.ended++;
        if (this.#options.reopens === true) void this.#open();
      });
    });
  }

  begin(): void {
    this.#begun = true;
    for (const pusher of this.#sockets) pusher.begin();
    if (this.#options.slowBytes === undefined) return;
    let tick = 0;
    setInterval(() => {
      tick++;
      let index = 0;
      for (const pusher of this.#sockets) if (index++ % ticks === tick % ticks) pusher.push();
    }, 1000 / ticks);
  }
}

interface Pusher {
  begin(): void;
  push(): void;
}

class Http1Pusher implements Pusher {
  readonly #socket: TLSSocket;
  readonly #options: Push;
  readonly #all: Pushers;
  #left = 0;

  constructor(socket: TLSSocket, options: Push, all: Pushers) {
    this.#socket = socket;
    this.#options = options;
    this.#all = all;
    socket.on("data", (data: Buffer) => {
      const text = data.toString("latin1", 0, 12);
      if (!text.startsWith("HTTP/1.1 ")) return;
      const code = text.slice(9, 12);
      all.answers[code] = (all.answers[code] ?? 0) + 1;
    });
    if (options.slowBytes === undefined) socket.on("drain", () => this.push());
  }

  begin(): void {
    const { method, path, token, bodyBytes } = this.#options;
    const user = token === undefined ? "" : `Authorization: Bearer ${token}\r\n`;
    this.#left = bodyBytes;
    this.#socket.write(
      `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${user}Content-Type: application/json\r\nContent-Length: ${bodyBytes}\r\n\r\n`,
    );
    this.push();
  }

  push(): void {
    const socket = this.#socket;
    const { slowBytes } = this.#options;
    while (this.#left > 0 && socket.writable && !socket.writableNeedDrain) {
      const length = Math.min(this.#left, slowBytes ?? pieceBytes);
      this.#left -= length;
      this.#all.sentBytes += length;
      socket.write(length === pieceBytes ? piece : piece.subarray(0, length));
      if (slowBytes !== undefined) return;
    }
  }
}

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Returns a header field in HPACK, as a literal without indexing. */
function literal(name: string, value: string): Buffer {
  const text = (one: string): Buffer => {
    const bytes = Buffer.from(one, "latin1");
    const length =
      bytes.length < 127 ? [bytes.length] : [127, ((bytes.length - 127) & 127) | 128, (bytes.length - 127) >> 7];
    return Buffer.concat([Buffer.from(length), bytes]);
  };
  return Buffer.concat([Buffer.from([0]), text(name), text(value)]);
}

const frames = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };

function repeat(one: Buffer): Buffer {
  return Buffer.concat(Array.from({ length: pieceBytes / one.length }, () => one));
}

/** Frames that cost a server something but cause no event in its HTTP/2 library. */
const floods = {
  windowUpdate: repeat(frame(frames.windowUpdate, 0, 0, Buffer.from([0, 0, 0, 1]))),
  unknown: repeat(frame(0xbb, 0, 0, Buffer.alloc(0))),
};

class Http2Pusher implements Pusher {
  readonly #socket: TLSSocket;
  readonly #options: Push;
  readonly #all: Pushers;
  #stream = -1;
  #left = 0;
  #window = 65_535;
  #streamWindow = 65_535;
  #initialWindow = 65_535;
  #rest: Buffer = Buffer.alloc(0);
  #begun = false;

  constructor(socket: TLSSocket, options: Push, all: Pushers) {
    this.#socket = socket;
    this.#options = options;
    this.#all = all;
    socket.once("secureConnect", () =>
      socket.write(Buffer.concat([preface, frame(frames.settings, 0, 0, Buffer.alloc(0))])),
    );
    socket.on("data", (data: Buffer) => this.#read(data));
    if (options.slowBytes === undefined) socket.on("drain", () => this.push());
  }

  #read(data: Buffer): void {
    const bytes = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    let at = 0;
    while (at + 9 <= bytes.length) {
      const length = bytes.readUIntBE(at, 3);
      if (at + 9 + length > bytes.length) break;
      this.#frame(bytes[at + 3]!, bytes[at + 4]!, bytes.readUInt32BE(at + 5), bytes.subarray(at + 9, at + 9 + length));
      at += 9 + length;
    }
    this.#rest = bytes.subarray(at);
    if (this.#begun && this.#options.slowBytes === undefined) this.push();
  }

  #frame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === frames.settings && (flags & 1) === 0) {
      for (let i = 0; i + 6 <= payload.length; i += 6) {
        if (payload.readUInt16BE(i) !== 4) continue;
        const size = payload.readUInt32BE(i + 2);
        this.#streamWindow += size - this.#initialWindow;
        this.#initialWindow = size;
      }
      this.#socket.write(frame(frames.settings, 1, 0, Buffer.alloc(0)));
    } else if (type === frames.windowUpdate) {
      if (stream === 0) this.#window += payload.readUInt32BE(0);
      else if (stream === this.#stream) this.#streamWindow += payload.readUInt32BE(0);
    } else if (type === frames.headers) {
      // The first field of an answer is its status: an index in the static table, or a literal of three digits.
      const known = ["200", "204", "206", "304", "400", "404", "500"][(payload[0]! & 127) - 8];
      const code = payload[0]! >= 128 ? known! : "other";
      this.#all.answers[code] = (this.#all.answers[code] ?? 0) + 1;
    } else if (type === frames.reset && stream === this.#stream && this.#options.isDeaf !== true) {
      this.#ask();
    } else if (type === frames.ping && (flags & 1) === 0) {
      this.#socket.write(frame(frames.ping, 1, 0, payload));
    }
  }

  begin(): void {
    this.#begun = true;
    this.#ask();
    this.push();
  }

  #ask(): void {
    const { method, path, token, bodyBytes } = this.#options;
    this.#stream = this.#stream < 0 ? 1 : this.#stream + 2;
    this.#left = bodyBytes;
    this.#streamWindow = this.#initialWindow;
    const fields = [
      literal(":method", method),
      literal(":scheme", "https"),
      literal(":authority", "localhost"),
      literal(":path", path),
      literal("content-type", "application/json"),
      literal("content-length", String(bodyBytes)),
      ...(token === undefined ? [] : [literal("authorization", `Bearer ${token}`)]),
    ];
    this.#socket.write(frame(frames.headers, 4, this.#stream, Buffer.concat(fields)));
  }

  push(): void {
    const socket = this.#socket;
    const { slowBytes, isDeaf, frames: flood } = this.#options;
    while (flood !== undefined && socket.writable && !socket.writableNeedDrain) {
      socket.write(floods[flood]);
      this.#all.sentBytes += floods[flood].length;
    }
    while (this.#left > 0 && socket.writable && !socket.writableNeedDrain) {
      // A deaf client ignores the window of its stream, and never ends its body.
      const window = isDeaf === true ? this.#window : Math.min(this.#window, this.#streamWindow);
      const length = Math.min(isDeaf === true ? pieceBytes : this.#left, slowBytes ?? pieceBytes, window);
      if (length <= 0) return;
      this.#left -= isDeaf === true ? 0 : length;
      this.#window -= length;
      this.#streamWindow -= length;
      this.#all.sentBytes += length;
      socket.write(frame(frames.data, 0, this.#stream, piece.subarray(0, length)));
      if (slowBytes !== undefined) return;
    }
  }
}

/** Resolves when all connections are open. `begin` starts to push, `end` stops. */
export async function pushersAside(push: Push): Promise<{ begin(): void; end(): Promise<Pushed> }> {
  const child: ChildProcess = spawn(process.execPath, [fileURLToPath(import.meta.url), JSON.stringify(push)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let output = "";
  const opened = Promise.withResolvers<void>();
  child.stdout!.on("data", (text: Buffer) => {
    output += text.toString();
    opened.resolve();
  });
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  await Promise.race([opened.promise, ended]);
  return {
    begin: () => void child.stdin!.write("begin\n"),
    async end() {
      child.stdin!.end();
      await ended;
      return JSON.parse(output.slice(output.indexOf("{"))) as Pushed; // printed by this file
    },
  };
}

if (import.meta.main) {
  // Attackers have machines of their own, so here they leave the processors to the server and the client that measures.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const pushers = new Pushers(JSON.parse(process.argv[2]!) as Push); // from `pushersAside`
  await pushers.open();
  process.stdout.write("open\n");
  process.stdin.once("data", () => pushers.begin());
  process.stdin.on("end", () => {
    const { answers, sentBytes, ended, opened } = pushers;
    process.stdout.write(JSON.stringify({ answers, sentMb: sentBytes / 1e6, ended, opened }), () => process.exit());
  });
}
