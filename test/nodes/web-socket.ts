/** A WebSocket client for tests, which sends frames as the test wants them. */
import { randomBytes } from "node:crypto";
import type { TLSSocket } from "node:tls";
import { patienceMs } from "../client.ts";
import type { Api } from "../harness.ts";
import { connectTls } from "../raw.ts";
import { readMessages } from "./kubelet.ts";

/** Returns a masked frame. */
export function clientFrame(op: number, payload: Buffer, isFinal = true): Buffer {
  const mask = randomBytes(4);
  const head = Buffer.alloc(payload.length < 126 ? 2 : payload.length < 65_536 ? 4 : 10);
  head[0] = (isFinal ? 0x80 : 0) | op;
  head[1] = 0x80 | (payload.length < 126 ? payload.length : payload.length < 65_536 ? 126 : 127);
  if (head.length === 4) head.writeUInt16BE(payload.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2);
  const masked = Buffer.from(payload);
  for (let at = 0; at < masked.length; at++) masked[at]! ^= mask[at % 4]!;
  return Buffer.concat([head, mask, masked]);
}

export class WebSocketClient {
  readonly socket: TLSSocket;
  /** The head of the answer. */
  readonly head: string;
  readonly messages: Buffer[] = [];
  #isClosed = false;
  #wake: () => void = () => undefined;

  private constructor(socket: TLSSocket, head: string, early: Buffer) {
    this.socket = socket;
    this.head = head;
    readMessages(socket, early, (message) => {
      if (message === undefined) this.#isClosed = true;
      else this.messages.push(message);
      this.#wake();
    });
    socket.once("close", () => {
      this.#isClosed = true;
      this.#wake();
    });
  }

  /** Asks for a WebSocket; resolves also when it is refused. */
  static async open(api: Api, path: string, protocol: string, token = "admin-token"): Promise<WebSocketClient> {
    const socket = await connectTls(api.endpoint, api.server.ca);
    socket.on("error", () => undefined);
    const lines = [
      `GET ${path} HTTP/1.1`,
      "Host: localhost",
      `Authorization: Bearer ${token}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      `Sec-WebSocket-Protocol: ${protocol}`,
    ];
    socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    return new Promise((resolve) => {
      let received = Buffer.alloc(0);
      const begin = (): void => {
        socket.off("data", take);
        socket.off("close", begin);
        const end = received.indexOf("\r\n\r\n");
        const headLength = end < 0 ? received.length : end;
        resolve(new WebSocketClient(socket, received.toString("latin1", 0, headLength), received.subarray(end + 4)));
      };
      const take = (piece: Buffer): void => {
        received = Buffer.concat([received, piece]);
        if (received.includes("\r\n\r\n")) begin();
      };
      socket.on("data", take);
      socket.once("close", begin);
    });
  }

  send(channel: number, text: string | Buffer): void {
    this.socket.write(clientFrame(2, Buffer.concat([Buffer.from([channel]), Buffer.from(text)])));
  }

  /** Ends a channel. */
  endChannel(channel: number): void {
    this.socket.write(clientFrame(2, Buffer.from([255, channel])));
  }

  /** Everything that came on a channel. */
  on(channel: number): Buffer {
    return Buffer.concat(this.messages.filter(([first]) => first === channel).map((message) => message.subarray(1)));
  }

  /** Waits until `isReached`, or the end. Rejects when that takes too long. */
  async until(isReached: () => boolean): Promise<void> {
    const deadline = Date.now() + patienceMs;
    while (!this.#isClosed && !isReached()) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`the WebSocket has only ${this.messages.length} messages`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  /** Waits for the end of the WebSocket. */
  closed(): Promise<void> {
    return this.until(() => false);
  }
}
