/** A client's connection without a network, for tests of `Http1Connection`. */
import { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

export interface FakeSocket {
  /** The server's side. */
  readonly socket: TLSSocket;
  /** What the server wrote, one character a byte. */
  readonly sent: string;
  /** The client takes nothing more, until it is told to take all again. */
  takes: boolean;
  send(bytes: string | Buffer): void;
  /** The client ends its side. */
  end(): void;
}

/** The server may have `highWaterMark` bytes waiting before it needs to wait for `drain`. */
export function fakeSocket(highWaterMark = 1000): FakeSocket {
  let sent = "";
  let takes = true;
  let waiting: (() => void) | undefined;
  const duplex = new Duplex({
    allowHalfOpen: false,
    writableHighWaterMark: highWaterMark,
    read() {},
    write(bytes: Buffer, _encoding, taken) {
      sent += bytes.toString("latin1");
      if (takes) taken();
      else waiting = taken;
    },
  });
  duplex.on("error", () => {});
  const destroySoon = (): void => {
    if (duplex.writable) duplex.end();
    if (duplex.writableFinished) duplex.destroy();
    else duplex.once("finish", () => duplex.destroy());
  };
  return {
    // Of a TLS socket the connection uses what a stream has, and destroySoon.
    socket: Object.assign(duplex, { destroySoon }) as unknown as TLSSocket,
    get sent() {
      return sent;
    },
    get takes() {
      return takes;
    },
    set takes(value) {
      takes = value;
      const taken = waiting;
      if (!takes || taken === undefined) return;
      waiting = undefined;
      taken();
    },
    send(bytes) {
      duplex.push(typeof bytes === "string" ? Buffer.from(bytes, "latin1") : bytes);
    },
    end() {
      duplex.push(null);
    },
  };
}
