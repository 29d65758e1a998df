/**
 * A way to a server that fails in the ways of networks: it forwards TCP connections, and tests tell it to swallow, cut,
 * delay or half-close them. It changes no bytes.
 *
 *     const way = await openFaultyProxy(t, server.port);   // clients connect to way.port
 *     way.cut();                                           // all connections end now
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** The part of a test's context that closes things. */
interface Cleanup {
  after(end: () => unknown): void;
}

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** Whether bytes are lost in both directions, for ever. */
  isDead: boolean;
}

export class FaultyProxy {
  readonly port: number;
  /** The number of connections that clients have opened so far. */
  accepted = 0;
  /** The number of bytes that came to the server, and to clients. */
  readonly bytes = { toServer: 0, toClient: 0 };
  /** The fate of new connections: forwarded, accepted without a word, or reset at once. */
  newConnections: "forwarded" | "swallowed" | "refused" = "forwarded";
  /** The milliseconds by which each piece comes later. */
  delayMs = 0;
  /** The number of further bytes to clients after which their connection is cut. */
  cutAfterBytes = Infinity;
  readonly #pairs = new Set<Pair>();
  readonly #target: { readonly host: string; readonly port: number };

  constructor(port: number, target: { readonly host: string; readonly port: number }) {
    this.port = port;
    this.#target = target;
  }

  /** The number of connections that are open and not swallowed. */
  get open(): number {
    return [...this.#pairs].filter(({ isDead }) => !isDead).length;
  }

  /** Loses all bytes of the connections there are, in both directions and for ever, without telling either side. */
  swallow(): void {
    for (const pair of this.#pairs) pair.isDead = true;
  }

  /** Resets all connections. */
  cut(): void {
    for (const pair of this.#pairs) this.#reset(pair);
  }

  /** Ends all connections towards their clients, which can go on sending. */
  halfClose(): void {
    for (const { client } of this.#pairs) client.end();
  }

  /** Takes a connection. */
  take(client: Socket): void {
    this.accepted += 1;
    if (this.newConnections === "refused") {
      client.on("error", () => undefined).resetAndDestroy();
      return;
    }
    const pair: Pair = { client, server: connect(this.#target), isDead: this.newConnections === "swallowed" };
    this.#pairs.add(pair);
    this.#join(pair, client, pair.server, "toServer");
    this.#join(pair, pair.server, client, "toClient");
  }

  close(): void {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
  }

  #join(pair: Pair, from: Socket, to: Socket, direction: "toServer" | "toClient"): void {
    const later = (act: () => void): void => {
      if (this.delayMs === 0) act();
      else setTimeout(act, this.delayMs);
    };
    from.on("error", () => undefined);
    from.on("data", (piece: Buffer) => {
      if (pair.isDead) return;
      later(() => {
        if (pair.isDead || to.destroyed) return;
        const rest = direction === "toClient" ? this.cutAfterBytes : Infinity;
        const part = piece.length > rest ? piece.subarray(0, rest) : piece;
        this.bytes[direction] += part.length;
        if (direction === "toClient") this.cutAfterBytes -= part.length;
        if (part.length === piece.length) {
          to.write(part);
          return;
        }
        this.cutAfterBytes = Infinity;
        pair.isDead = true;
        to.write(part, () => this.#reset(pair));
      });
    });
    from.on("end", () => later(() => !pair.isDead && to.end()));
    from.on("close", () => {
      // A swallowed connection ends on one side only.
      if (!pair.isDead) later(() => to.destroy());
      if (to.destroyed) this.#pairs.delete(pair);
    });
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.resetAndDestroy();
    pair.server.destroy();
  }
}

/** Opens a way to a port of this machine. It is closed at the end of the test. */
export async function openFaultyProxy(t: Cleanup, port: number, host = "127.0.0.1"): Promise<FaultyProxy> {
  const listener = createServer({ allowHalfOpen: true }, (client) => proxy.take(client));
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const proxy = new FaultyProxy((listener.address() as AddressInfo).port, { host, port }); // it listens on a port
  t.after(() => {
    proxy.close();
    listener.close();
  });
  return proxy;
}
