/**
 * Connections to the servers of one API. HTTP/2 connections are shared, so calls wait while one is being opened; an
 * HTTP/1.1 connection serves one call at a time and is kept.
 */
import { connect, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { OutgoingError } from "../outgoing-https.ts";
import { hostPort, type ServiceAddress } from "../service-address.ts";
import type { Forwarded, Sending, UpgradedAnswer } from "./call.ts";
import { Http1 } from "./http1.ts";
import { Http2 } from "./http2.ts";
import type { ResponseDeadline } from "./response-deadline.ts";

export interface PeerOptions {
  readonly clock: Clock;
  /** Authorities of the peer's certificate, as PEM; `undefined` for the machine's authorities. */
  readonly ca: string | undefined;
  /** Whether any certificate is accepted. */
  readonly insecure: boolean;
  /** The name that the peer's certificate must have. */
  readonly serverName: string;
  /** The client certificate and its key, as PEM. */
  readonly cert: string;
  readonly key: string;
}

/** The maximum time in milliseconds from the start of a connection to the end of its handshake. */
const dialMs = 30_000;

export class Connections {
  readonly #options: PeerOptions;
  readonly #http1: Http1;
  readonly #http2 = new Set<Http2>();
  /** Connections that are being opened, by address. They may be shared once they are open. */
  readonly #opening = new Map<string, Promise<unknown>>();
  readonly #dialled = new Set<TLSSocket>();
  /** Whether the latest connection used HTTP/1.1, so that a call does not wait for another connection. */
  #isHttp1 = false;
  #secureContext: SecureContext | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#http1 = new Http1((address) => this.#connect(address, ["http/1.1"]));
  }

  /** Sends a call on an existing or a new connection, unless the deadline passes first. */
  async begin(address: ServiceAddress, call: Forwarded, deadline: ResponseDeadline): Promise<Sending> {
    const key = hostPort(address);
    if (call.isAlone === true) return this.#alone(address, call, deadline);
    for (;;) {
      for (const shared of this.#http2)
        if (shared.hasRoom && hostPort(shared.address) === key) return shared.send(call);
      if (this.#http1.hasIdle(address)) return this.#http1.send(address, call);
      const underWay = this.#isHttp1 ? undefined : this.#opening.get(key);
      if (underWay === undefined) break;
      await underWay;
      deadline.check();
    }
    const opening = this.#open(address);
    this.#opening.set(key, opening);
    const opened = await opening;
    if (opened instanceof Http2) {
      deadline.check();
      return opened.send(call);
    }
    return this.#onNew(opened, address, call, deadline);
  }

  upgrade(address: ServiceAddress, protocol: string, call: Omit<Forwarded, "body">): Sending<UpgradedAnswer> {
    return this.#http1.upgrade(address, protocol, call);
  }

  retire(): void {
    this.#isHttp1 = false;
    this.#http1.retire();
    for (const shared of this.#http2) shared.retire();
  }

  close(): void {
    this.#http1.close();
    for (const shared of this.#http2) shared.close();
    for (const socket of this.#dialled) socket.destroy();
  }

  async #alone(address: ServiceAddress, call: Forwarded, deadline: ResponseDeadline): Promise<Sending> {
    const socket = await this.#dial(address);
    if (socket.alpnProtocol !== "h2") return this.#onNew(socket, address, call, deadline);
    const own = this.#share(socket, address);
    try {
      deadline.check();
      return own.send(call);
    } finally {
      own.retire();
    }
  }

  #onNew(socket: TLSSocket, address: ServiceAddress, call: Forwarded, deadline: ResponseDeadline): Sending {
    if (deadline.hasPassed) socket.destroy();
    deadline.check();
    return this.#http1.send(address, call, socket);
  }

  async #open(address: ServiceAddress): Promise<Http2 | TLSSocket> {
    try {
      const socket = await this.#dial(address);
      this.#isHttp1 = socket.alpnProtocol !== "h2";
      return this.#isHttp1 ? socket : this.#share(socket, address);
    } finally {
      this.#opening.delete(hostPort(address));
    }
  }

  #share(socket: TLSSocket, address: ServiceAddress): Http2 {
    const shared = new Http2(socket, address, this.#options.clock, () => this.#http2.delete(shared));
    this.#http2.add(shared);
    return shared;
  }

  #dial(address: ServiceAddress): Promise<TLSSocket> {
    return new Promise((resolve, reject) => {
      const socket = this.#connect(address, ["h2", "http/1.1"]);
      this.#dialled.add(socket);
      const cancel = this.#options.clock.after(dialMs, () => {
        reject(new OutgoingError("TIMEOUT", `no connection to ${hostPort(address)} within ${dialMs}ms`));
        socket.destroy();
      });
      const settle = (): void => {
        cancel();
        this.#dialled.delete(socket);
      };
      socket.once("secureConnect", () => {
        settle();
        resolve(socket);
      });
      // This listener also handles errors before other listeners exist.
      socket.on("error", reject);
      socket.once("close", () => {
        settle();
        reject(new Error("the connection closed before an answer"));
      });
    });
  }

  #connect({ host, port }: ServiceAddress, protocols: string[]): TLSSocket {
    const { ca, insecure, serverName, cert, key } = this.#options;
    // Every configured authority is a trust anchor, even if another authority signed it.
    const anchors = ca === undefined ? {} : { ca, allowPartialTrustChain: true };
    this.#secureContext ??= createSecureContext({ cert, key, minVersion: "TLSv1.2", ...anchors });
    const socket = connect({
      host,
      port,
      servername: serverName,
      rejectUnauthorized: !insecure,
      ALPNProtocols: protocols,
      secureContext: this.#secureContext,
    });
    socket.setNoDelay();
    socket.setKeepAlive(true);
    return socket;
  }
}
