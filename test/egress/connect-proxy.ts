/** An HTTP proxy (`CONNECT`) for tests, which leads to one server whatever address is asked for. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { temporaryFolder } from "../harness.ts";

export interface ConnectProxy {
  readonly port: number;
  /** The path of a Unix domain socket on which it listens, too. */
  readonly socketPath: string;
  /** The addresses that clients asked for, and their whole requests. */
  readonly asked: string[];
  readonly requests: string[];
  /** The answer in place of a connection; `undefined` makes connections. */
  refusal: string | undefined;
  close(): void;
}

/** Opens a proxy to a port of this machine; with `tls` the proxy itself speaks TLS. */
export async function openConnectProxy(target: number, tls?: TlsOptions): Promise<ConnectProxy> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on("error", () => socket.destroy()).once("close", () => sockets.delete(socket));
  };
  const accept = (socket: Socket): void => {
    keep(socket).once("data", (head: Buffer) => {
      const request = head.toString();
      proxy.requests.push(request);
      proxy.asked.push(request.split(" ")[1] ?? "");
      if (proxy.refusal !== undefined) return void socket.end(proxy.refusal);
      const behind = keep(connect(target, "127.0.0.1"));
      behind.once("connect", () => {
        socket.write("HTTP/1.1 200 OK\r\nX-Proxy: test\r\n\r\n");
        socket.pipe(behind).pipe(socket);
      });
    });
  };
  const socketPath = join(temporaryFolder(), "proxy.sock");
  const onPort = tls === undefined ? createServer(accept) : createTlsServer(tls, accept);
  const onPath = createServer(accept);
  onPort.listen(0, "127.0.0.1");
  onPath.listen(socketPath);
  await Promise.all([once(onPort, "listening"), once(onPath, "listening")]);
  const { port } = onPort.address() as AddressInfo; // a TCP server's
  const proxy: ConnectProxy = {
    port,
    socketPath,
    asked: [],
    requests: [],
    refusal: undefined,
    close() {
      onPort.close();
      onPath.close();
      for (const socket of sockets) socket.destroy();
    },
  };
  return proxy;
}
