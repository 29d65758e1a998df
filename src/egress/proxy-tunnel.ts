/**
 * Connections through an HTTP proxy (`CONNECT`), on TCP with or without TLS or on a Unix domain socket. The proxy looks
 * names up. Source of the request and the messages: the answers of kube-apiserver.
 */
import { connect, type Socket } from "node:net";
import { connect as connectTls, type ConnectionOptions, TLSSocket } from "node:tls";
import { checkNames } from "#std/certificate-names.ts";
import { hostPort, type ServiceAddress } from "./service-address.ts";

/** A proxy is reached at the path of a socket, or at an address, with TLS if there are settings for it. */
type HttpProxy =
  | { readonly socketPath: string }
  | { readonly address: ServiceAddress; readonly tls?: ConnectionOptions };

/** A connection that a proxy is asked to make. */
interface Tunnel {
  /** The connection to the proxy. Whoever gives up destroys it, with the error for `opened`. */
  readonly socket: Socket;
  /** Resolves with the socket when it leads to the address; nobody else has read from it. Rejects when it never will. */
  readonly opened: Promise<Socket>;
}

export type OpenTunnel = (address: ServiceAddress) => Tunnel;

const headBytesMax = 64 * 1024;

export const httpTunnel =
  (proxy: HttpProxy): OpenTunnel =>
  (address) => {
    const target = hostPort(address);
    const socket = reach(proxy);
    const name = "socketPath" in proxy ? proxy.socketPath : hostPort(proxy.address);
    const opened = ask(socket, target, (what, cause) => {
      return new Error(`proxy error from ${name} while dialing ${target}, ${what}`, { cause });
    });
    return { socket, opened };
  };

function reach(proxy: HttpProxy): Socket {
  if ("socketPath" in proxy) return connect({ path: proxy.socketPath });
  const { host, port } = proxy.address;
  return proxy.tls === undefined
    ? connect({ host, port })
    : connectTls({ ...proxy.tls, host, port, checkServerIdentity: checkNames });
}

/** Sends the request and reads the answer. What follows the answer is put back, for the reader of the socket. */
function ask(socket: Socket, target: string, problem: (what: string, cause?: Error) => Error): Promise<Socket> {
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    const fail = (error: Error): void => {
      reject(error);
      socket.destroy();
    };
    // The error of whoever gave up is no problem of the proxy.
    const failed = (error: NodeJS.ErrnoException): void =>
      fail(error.code === "TIMEOUT" ? error : problem(error.message, error));
    const ended = (): void => fail(problem("it closed the connection"));
    const readHead = (): void => {
      for (let bytes = socket.read() as Buffer | null; bytes !== null; bytes = socket.read() as Buffer | null) {
        head = Buffer.concat([head, bytes]);
        const end = head.indexOf("\r\n\r\n");
        if (end < 0 && head.length > headBytesMax) return fail(problem("its answer is too long"));
        if (end < 0) continue;
        const [, status = "", code = ""] = /^HTTP\/1\.[01] ((\d{3})[^\r\n]*)/.exec(head.toString("latin1")) ?? [];
        if (code !== "200") return fail(problem(code === "" ? "it does not speak HTTP" : `code ${code}: ${status}`));
        socket.off("readable", readHead).off("end", ended).off("close", ended).off("error", failed);
        // The next owner handles errors; one that comes before it does is of no more use.
        socket.on("error", () => undefined);
        if (head.length > end + 4) socket.unshift(head.subarray(end + 4));
        return resolve(socket);
      }
    };
    socket.once(socket instanceof TLSSocket ? "secureConnect" : "connect", () => {
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    });
    socket.on("readable", readHead).on("end", ended).on("close", ended).on("error", failed);
  });
}

/**
 * Begins a TLS connection inside an open tunnel. The host of the options is only compared with the certificate. A
 * failure of the tunnel is the error of the connection.
 */
export function tlsThrough(tunnel: Socket, options: ConnectionOptions): TLSSocket {
  const secure = connectTls({ ...options, socket: tunnel });
  tunnel.on("error", (error) => secure.destroy(error));
  return secure;
}
