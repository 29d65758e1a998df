/** Opens a connection to the server: TCP, the way through a proxy, and TLS, all within one deadline. */
import { connect, isIP, type Socket } from "node:net";
import {
  connect as connectTls,
  createSecureContext,
  rootCertificates,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { unlessAborted } from "#std/abort.ts";
import { checkNames } from "#std/certificate-names.ts";
import type { Clock } from "#std/clock.ts";
import type { Credential, ConnectionSettings } from "../connection-settings.ts";
import { ConnectionError } from "../connection-error.ts";
import { connectingError, proxyAddress, proxyRefusal } from "./problem.ts";
import { openHttpTunnel, openSocksTunnel, type Target } from "./tunnel.ts";

export interface Route {
  readonly server: URL;
  readonly tls: ConnectionSettings["tls"];
  /** The way to the server, if it is not direct. */
  readonly proxy: URL | undefined;
  readonly certificate: Credential["certificate"];
  readonly userAgent: string;
  readonly clock: Clock;
  /** The maximum time in milliseconds until the connection can be used. */
  readonly connectMs: number;
}

/**
 * The milliseconds without a byte after which the system asks the other side for a sign of life, and then each second;
 * it gives the connection up after ten questions.
 */
const keepAliveMs = 5000;
/** The milliseconds for each address of a name before the next is tried too. */
const addressMs = 2000;

/** Opens connections along a route. Authorities that have not changed are parsed once. */
export class Dialer {
  readonly #route: Route;
  readonly #target: Target;
  #context: { readonly ca: string | undefined; readonly parsed: SecureContext } | undefined;

  constructor(route: Route) {
    this.#route = route;
    this.#target = targetOf(route.server, route.server.protocol === "https:" ? 443 : 80);
  }

  /**
   * Resolves with a socket whose `alpnProtocol` says how to speak, if it has one. Rejects with `ConnectionError`, or
   * with the error of the source of the authorities.
   */
  async dial(): Promise<Socket & { readonly alpnProtocol?: string | false | null }> {
    const { clock, connectMs, server, tls } = this.#route;
    const ca = server.protocol === "https:" ? await tls.ca?.() : undefined;
    const deadline = new AbortController();
    const cancel = clock.after(connectMs, () => {
      deadline.abort(Object.assign(new Error(`${connectMs / 1000} s have passed`), { code: "ETIMEDOUT" }));
    });
    try {
      const socket = await this.#reach(ca, deadline.signal);
      if (server.protocol !== "https:") return socket;
      return await this.#secure(socket, ca, deadline.signal);
    } catch (error) {
      throw error instanceof ConnectionError
        ? error
        : connectingError(error, { address: server.origin, kind: "server", name: this.#name });
    } finally {
      cancel();
    }
  }

  /** The name that the server's certificate must have. */
  get #name(): string {
    return this.#route.tls.serverName ?? this.#target.host;
  }

  /** Opens a connection whose other end is the server, but for TLS; to a plain server, it may be the proxy. */
  async #reach(ca: string | undefined, signal: AbortSignal): Promise<Socket> {
    const { proxy, server, userAgent } = this.#route;
    if (proxy === undefined) return openTcp(this.#target, signal);
    const isSocks = proxy.protocol.startsWith("socks");
    const at = targetOf(proxy, isSocks ? 1080 : proxy.protocol === "https:" ? 443 : 80);
    let socket: Socket;
    try {
      socket = await openTcp(at, signal);
      // Go's programs trust the cluster's authorities here, others the system's: both are taken.
      const trusted = ca === undefined ? {} : { ca: [...rootCertificates, ca] };
      if (proxy.protocol === "https:") socket = await openTls({ socket, name: at.host, ...trusted }, signal);
    } catch (error) {
      throw connectingError(error, { address: proxyAddress(proxy), kind: "proxy", name: at.host });
    }
    if (server.protocol === "http:" && !isSocks) return socket;
    try {
      const tunnel = isSocks
        ? openSocksTunnel(socket, this.#target, proxy)
        : openHttpTunnel(socket, this.#target, proxy, userAgent);
      await unlessAborted(tunnel, signal);
      return socket;
    } catch (error) {
      socket.destroy();
      throw proxyRefusal(error, proxy, server.host);
    }
  }

  #secure(socket: Socket, ca: string | undefined, signal: AbortSignal): Promise<TLSSocket> {
    const { insecure } = this.#route.tls;
    const options = { socket, name: this.#name, insecure, protocols: ["h2", "http/1.1"] };
    try {
      return openTls({ ...options, secureContext: this.#contextOf(ca) }, signal);
    } catch (error) {
      socket.destroy();
      throw error;
    }
  }

  #contextOf(ca: string | undefined): SecureContext {
    if (this.#context !== undefined && this.#context.ca === ca) return this.#context.parsed;
    const { certificate, server } = this.#route;
    const fails = (what: string, cause: unknown): ConnectionError => {
      const { message, code } = cause as NodeJS.ErrnoException; // what the runtime throws
      const options = { code, sent: false, temporary: false, cause };
      return new ConnectionError(`${what} for ${server.origin} cannot be used: ${message}`, options);
    };
    // The runtime takes a text without a certificate for an empty list.
    if (ca?.includes("-----BEGIN ") === false) throw fails("the certificate authority", new Error("it is not PEM"));
    try {
      // Go's programs trust every certificate that a kubeconfig gives, also one that another authority signed.
      const anchors = ca === undefined ? {} : { ca, allowPartialTrustChain: true };
      const parsed = createSecureContext({ ...anchors, ...certificate });
      this.#context = { ca, parsed };
      return parsed;
    } catch (cause) {
      throw fails(certificate === undefined ? "the certificate authority" : "the client certificate or its key", cause);
    }
  }
}

const targetOf = (url: URL, defaultPort: number): Target => ({
  host: url.hostname.replace(/^\[|\]$/g, ""),
  port: url.port === "" ? defaultPort : Number(url.port),
});

function openTcp({ host, port }: Target, signal: AbortSignal): Promise<Socket> {
  const socket = connect({ host, port, autoSelectFamilyAttemptTimeout: addressMs });
  socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
  return whenReady(socket, "connect", signal);
}

interface TlsOptions {
  readonly socket: Socket;
  /** The name or address that the certificate must have. */
  readonly name: string;
  readonly insecure?: boolean;
  readonly ca?: string[];
  readonly secureContext?: SecureContext;
  readonly protocols?: string[];
}

function openTls(
  { name, insecure = false, protocols, ...options }: TlsOptions,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const socket = connectTls({
    ...options,
    ...(protocols === undefined ? {} : { ALPNProtocols: protocols }),
    // Addresses are no names of the extension.
    servername: isIP(name) === 0 ? name : "",
    rejectUnauthorized: !insecure,
    checkServerIdentity: (_host, certificate) => checkNames(name, certificate),
  });
  return whenReady(socket, "secureConnect", signal);
}

/** Resolves with the socket at the event. When it fails, ends or the signal is aborted, the socket is destroyed. */
function whenReady<S extends Socket>(socket: S, event: "connect" | "secureConnect", signal: AbortSignal): Promise<S> {
  return new Promise((resolve, reject) => {
    const settle = (failure?: unknown): void => {
      signal.removeEventListener("abort", aborted);
      socket.off(event, ready).off("error", settle).off("close", closed);
      // An error that follows has nobody to tell.
      socket.on("error", () => undefined);
      if (failure === undefined) resolve(socket);
      else {
        socket.destroy();
        reject(failure as Error); // what sockets emit
      }
    };
    const ready = (): void => settle();
    const closed = (): void => settle(Object.assign(new Error("the connection was closed"), { code: "ECONNRESET" }));
    const aborted = (): void => settle(signal.reason);
    socket.on(event, ready).on("error", settle).on("close", closed);
    signal.addEventListener("abort", aborted, { once: true });
    if (signal.aborted) aborted();
  });
}
