/**
 * A load balancer as it stands before several servers: it hands TCP connections to the servers in turn, and leaves out
 * those whose `/readyz` fails or that cannot be reached. It does not look into the bytes.
 */
import { connect, createServer, type Server, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Http2Client } from "./http2-client.ts";

interface Backend {
  readonly port: number;
  readonly url: string;
}

/** The time in milliseconds between two questions for readiness. */
const askMs = 250;

export class Balancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #ready: boolean[];
  readonly #backends: readonly Backend[];
  readonly #timer: NodeJS.Timeout;
  readonly #clients: readonly Http2Client[];
  #next = 0;

  private constructor(backends: readonly Backend[]) {
    this.#backends = backends;
    this.#ready = backends.map(() => true);
    this.#clients = backends.map(({ url }) => new Http2Client({ url }));
    this.#server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.#hand(socket, 0));
    this.#timer = setInterval(() => this.#ask(), askMs);
  }

  static async start(backends: readonly Backend[], port = 0): Promise<Balancer> {
    const balancer = new Balancer(backends);
    balancer.#server.listen(port, "127.0.0.1");
    await once(balancer.#server, "listening");
    return balancer;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; // a TCP server has a port
  }

  #ask(): void {
    for (const [at, client] of this.#clients.entries()) {
      client.call("/readyz", { timeoutMs: 1000 }).then(
        ({ status }) => (this.#ready[at] = status === 200),
        () => (this.#ready[at] = false),
      );
    }
  }

  /** Hands a connection to the next server, or when it cannot be reached to another. */
  #hand(socket: Socket, tries: number): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    const count = this.#backends.length;
    let at = this.#next++ % count;
    for (let step = 0; step < count && this.#ready[at] !== true; step++) at = this.#next++ % count;
    const far = connect({ port: this.#backends[at]!.port, host: "127.0.0.1", noDelay: true, allowHalfOpen: true });
    let isConnected = false;
    far.once("connect", () => {
      isConnected = true;
      socket.pipe(far).pipe(socket);
    });
    far.on("error", () => {
      if (isConnected || tries === count || socket.destroyed) socket.destroy();
      else {
        this.#ready[at] = false;
        this.#hand(socket, tries + 1);
      }
    });
    socket.on("error", () => far.destroy());
    socket.once("close", () => far.destroy());
  }

  close(): void {
    clearInterval(this.#timer);
    for (const client of this.#clients) client.close();
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
