/**
 * The pool of connections to the server. Connections carry the client certificate, so another certificate means another
 * pool; the old one closes when its requests have ended. undici is loaded with the first pool: only its pool, since the
 * whole package takes twice the time and has another HTTP client, web sockets and caches.
 */
import type { Dispatcher, Pool } from "undici";
import type { Credential } from "../connection-settings.ts";
import { Dialer, type Route } from "./dial.ts";

/** The milliseconds after which a connection without requests is closed. */
const idleMs = 30_000;
/** The sizes of windows, in bytes, so that a large list does not wait for the way there and back. */
const windows = { initialWindowSize: 4 * 1024 * 1024, connectionWindowSize: 16 * 1024 * 1024 };
/** The maximum number of requests over one connection; a server may allow fewer. Further ones open another. */
const maxConcurrentStreams = 250;

type Certificate = Credential["certificate"];

interface OpenPool {
  readonly dispatcher: Dispatcher;
  readonly certificate: Certificate;
  /** Whether a connection of the pool speaks HTTP/1.1. */
  isHttp1: boolean;
}

export class Pools {
  readonly #route: Omit<Route, "certificate">;
  readonly #pingMs: number;
  readonly #all = new Set<OpenPool>();
  #current: OpenPool | undefined;
  #isClosed = false;

  /** Connections that speak HTTP/2 are asked for a sign of life each `pingMs`; without one until the next they end. */
  constructor(route: Omit<Route, "certificate">, pingMs: number) {
    this.#route = route;
    this.#pingMs = pingMs;
  }

  /** Resolves with the pool for a certificate. */
  async withCertificate(certificate: Certificate): Promise<OpenPool> {
    if (this.#current !== undefined && isSame(this.#current.certificate, certificate)) return this.#current;
    // @ts-expect-error The package has types for its root only.
    const module: unknown = await import("undici/lib/dispatcher/pool.js");
    const { default: Implementation } = module as { readonly default: typeof Pool }; // which the file exports
    // Another call may have been faster.
    if (this.#current !== undefined && isSame(this.#current.certificate, certificate)) return this.#current;
    const old = this.#current;
    this.#current = this.#open(Implementation, certificate);
    if (old !== undefined) {
      const forget = (): void => void this.#all.delete(old);
      // It is refused when all connections were closed before.
      old.dispatcher.close().then(forget, forget);
    }
    return this.#current;
  }

  /** Ends all requests and connections. Later requests fail. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(Array.from(this.#all, ({ dispatcher }) => dispatcher.destroy()));
  }

  #open(Implementation: typeof Pool, certificate: Certificate): OpenPool {
    const dialer = new Dialer({ ...this.#route, certificate });
    const dispatcher = new Implementation(this.#route.server.origin, {
      connect: (_options, callback) => {
        dialer.dial().then(
          (socket) => {
            if (socket.alpnProtocol !== "h2") pool.isHttp1 = true;
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      h2Options: { pingInterval: this.#pingMs, maxConcurrentStreams, ...windows },
    });
    const pool: OpenPool = { dispatcher, certificate, isHttp1: false };
    this.#all.add(pool);
    if (this.#isClosed) void dispatcher.destroy();
    return pool;
  }
}

const isSame = (a: Certificate, b: Certificate): boolean => a?.cert === b?.cert && a?.key === b?.key;
