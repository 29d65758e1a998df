/**
 * Connections to other servers with the same credentials. HTTP/2 connections are shared, so calls wait while one is being
 * opened; an HTTP/1.1 connection serves one call at a time and is kept. Without TLS there is only HTTP/1.1.
 */
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from "node:net";
import { connect, type ConnectionOptions, createSecureContext, type SecureContext, TLSSocket } from "node:tls";
import { checkNames } from "#std/certificate-names.ts";
import type { Clock } from "#std/clock.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { OutgoingError } from "../outgoing-https.ts";
import { type OpenTunnel, tlsThrough } from "../proxy-tunnel.ts";
import { keepRefused } from "../refused-certificate.ts";
import { hostPort, type ServiceAddress } from "../service-address.ts";
import type { Forwarded, Sending, UpgradedAnswer } from "./call.ts";
import { Http1 } from "./http1.ts";
import { Http2 } from "./http2.ts";
import type { ResponseDeadline } from "./response-deadline.ts";

export interface PeerOptions {
  readonly clock: Clock;
  /** Whether the connections are made without TLS. Then none of the options about certificates counts. */
  readonly isPlain?: boolean;
  /** Authorities of the peer's certificate, as PEM; `undefined` for the machine's authorities. */
  readonly ca: string | undefined;
  /** Whether any certificate is accepted. */
  readonly insecure: boolean;
  /** The name that the peer's certificate must have; `undefined` for the host of the address. */
  readonly serverName: string | undefined;
  /** The client certificate and its key, as PEM; `undefined` shows none. */
  readonly cert: string | undefined;
  readonly key: string | undefined;
  /** Finds the addresses of a host name. Left out: the machine's resolver does. */
  readonly lookup?: LookupFunction;
  /** Begins the connections, through a proxy that finds the addresses of names. Left out: they are direct. */
  readonly tunnel?: OpenTunnel | undefined;
  /** The maximum time in milliseconds from the start of a connection to the end of its handshake. */
  readonly dialMs?: number;
  /** Returns the address to which the connection goes instead. Left out: it goes to the address itself. */
  readonly route?: (address: ServiceAddress) => ServiceAddress;
}

/** The usual maximum time in milliseconds from the start of a connection to the end of its handshake. */
const usualDialMs = 30_000;

export class Connections {
  readonly #options: PeerOptions;
  readonly #http1: Http1;
  readonly #http2 = new Set<Http2>();
  /** Connections that are being opened, by address. They may be shared once they are open. */
  readonly #opening = new Map<string, Promise<unknown>>();
  readonly #dialled = new Set<Socket>();
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
    if (!hasHttp2(socket)) return this.#onNew(socket, address, call, deadline);
    const own = this.#share(socket, address);
    try {
      deadline.check();
      return own.send(call);
    } finally {
      own.retire();
    }
  }

  #onNew(socket: Socket, address: ServiceAddress, call: Forwarded, deadline: ResponseDeadline): Sending {
    if (deadline.hasPassed) socket.destroy();
    deadline.check();
    return this.#http1.send(address, call, socket);
  }

  async #open(address: ServiceAddress): Promise<Http2 | Socket> {
    try {
      const socket = await this.#dial(address);
      this.#isHttp1 = !hasHttp2(socket);
      return hasHttp2(socket) ? this.#share(socket, address) : socket;
    } finally {
      this.#opening.delete(hostPort(address));
    }
  }

  #share(socket: TLSSocket, address: ServiceAddress): Http2 {
    const shared = new Http2(socket, address, this.#options.clock, () => this.#http2.delete(shared));
    this.#http2.add(shared);
    return shared;
  }

  #dial(address: ServiceAddress): Promise<Socket> {
    const begun = this.#connect(address, ["h2", "http/1.1"]);
    return isLate(begun) ? begun.then((socket) => this.#whenReady(socket)) : this.#whenReady(begun);
  }

  /** Resolves with a socket when its handshake has ended. */
  #whenReady(socket: Socket): Promise<Socket> {
    return new Promise((resolve, reject) => {
      if (!this.#isSecure && !socket.connecting) return resolve(socket);
      this.#dialled.add(socket);
      const settle = (): void => void this.#dialled.delete(socket);
      socket.once(this.#isSecure ? "secureConnect" : "connect", () => {
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

  get #isSecure(): boolean {
    return this.#options.isPlain !== true;
  }

  /** Begins a connection. It is destroyed with an error unless it is made in time. */
  #connect(address: ServiceAddress, protocols: string[]): MaybePromise<Socket> {
    const { route, tunnel } = this.#options;
    const target = route === undefined ? address : route(address);
    const through = tunnel?.(target);
    if (through === undefined) {
      const socket = this.#isSecure ? this.#connectSecure(target, address.host, protocols) : this.#connectPlain(target);
      return this.#prepare(socket, this.#limit(socket, address));
    }
    this.#dialled.add(through.socket);
    through.socket.once("close", () => this.#dialled.delete(through.socket));
    const cancel = this.#limit(through.socket, address);
    return through.opened.then((opened) => {
      this.#dialled.delete(opened);
      if (this.#isSecure) {
        const secure = tlsThrough(opened, this.#tlsOptions(address.host, protocols));
        keepRefused(secure, this.#options);
        return this.#prepare(secure, cancel);
      }
      cancel();
      return this.#prepare(opened, cancel);
    });
  }

  /** Destroys a socket with an error after the time for a connection, unless the returned function is called. */
  #limit(socket: Socket, address: ServiceAddress): () => void {
    const { clock, dialMs = usualDialMs } = this.#options;
    const cancel = clock.after(dialMs, () => {
      const error = new OutgoingError("TIMEOUT", `no connection to ${hostPort(address)} within ${dialMs}ms`);
      socket.destroy(error);
    });
    socket.once("close", cancel);
    return cancel;
  }

  #prepare(socket: Socket, cancelLimit: () => void): Socket {
    socket.setNoDelay();
    socket.setKeepAlive(true);
    socket.once(this.#isSecure ? "secureConnect" : "connect", cancelLimit);
    return socket;
  }

  #connectPlain({ host, port }: ServiceAddress): Socket {
    const { lookup } = this.#options;
    return connectPlain({ host, port, ...(lookup === undefined ? {} : { lookup }) });
  }

  #connectSecure({ host, port }: ServiceAddress, name: string, protocols: string[]): TLSSocket {
    const { lookup } = this.#options;
    const found = lookup === undefined ? {} : { lookup };
    const socket = connect({ ...this.#tlsOptions(name, protocols), host, port, ...found });
    keepRefused(socket, this.#options);
    return socket;
  }

  #tlsOptions(name: string, protocols: string[]): ConnectionOptions {
    const { ca, insecure, serverName = name, cert, key } = this.#options;
    // Every configured authority is a trust anchor, even if another authority signed it.
    const anchors = ca === undefined ? {} : { ca, allowPartialTrustChain: true };
    const pair = cert === undefined ? {} : { cert, key };
    this.#secureContext ??= createSecureContext({ ...pair, minVersion: "TLSv1.2", ...anchors });
    return {
      // An address is no name for the extension (RFC 6066), but the certificate is compared with it all the same.
      ...(isIP(serverName) === 0 ? { servername: serverName } : {}),
      checkServerIdentity: (_host, certificate) => checkNames(serverName, certificate),
      rejectUnauthorized: !insecure,
      ALPNProtocols: protocols,
      secureContext: this.#secureContext,
    };
  }
}

const hasHttp2 = (socket: Socket): socket is TLSSocket => socket instanceof TLSSocket && socket.alpnProtocol === "h2";
