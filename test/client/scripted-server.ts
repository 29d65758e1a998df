/** A server that answers as a test says, over HTTP/2 or HTTP/1.1, and records what it was asked. */
import { once } from "node:events";
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { fakeAuthority } from "#authn/fake-authority.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";

interface Cleanup {
  after(end: () => unknown): void;
}

/** A request that has arrived as a whole. */
export interface Arrived {
  readonly method: string;
  readonly path: string;
  readonly headers: Http2ServerRequest["headers"];
  readonly body: string;
  /** The common name of the client's certificate, if it came with one. */
  readonly client: string | undefined;
  readonly protocol: string;
}

/** A response of either protocol; `stream` is there over HTTP/2 only. */
export type Response = Http2ServerResponse;

interface ScriptedServer {
  readonly settings: ConnectionSettings;
  readonly port: number;
  readonly arrived: Arrived[];
  /** The authority of the server's certificate, and of clients that it asks for one. */
  readonly authority: Awaited<ReturnType<typeof fakeAuthority>>;
}

interface Script {
  readonly http1?: boolean;
  /** The names in the certificate. */
  readonly hosts?: readonly string[];
  /** Receives the requests with their numbers, from 1. */
  answer(arrived: Arrived, response: Response, number: number): void;
}

let count = 0;

/** Opens a server, which is closed at the end of the test. */
export async function openScripted(t: Cleanup, { http1 = false, hosts, answer }: Script): Promise<ScriptedServer> {
  const authority = await fakeAuthority(`authority ${++count}`);
  const names = [...(hosts ?? ["127.0.0.1", "localhost"])];
  const { certificate: cert, key } = await authority.issue({ commonName: "scripted", usage: "server", hosts: names });
  const options = { cert, key, ca: authority.certificate, requestCert: true, rejectUnauthorized: false };
  const server = http1 ? createServer(options) : createSecureServer(options);
  const arrived: Arrived[] = [];
  const sockets = new Set<TLSSocket>();
  server.on("secureConnection", (socket: TLSSocket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
  });
  server.on("sessionError", () => undefined);
  server.on("request", (request: Http2ServerRequest, response: Response) => {
    const pieces: Buffer[] = [];
    request.on("error", () => undefined);
    response.on("error", () => undefined);
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const socket = request.socket as TLSSocket; // the listener speaks TLS
      const name = socket.getPeerX509Certificate()?.subject;
      const one = {
        method: request.method,
        path: request.url,
        headers: request.headers,
        body: Buffer.concat(pieces).toString(),
        client: name === undefined ? undefined : /CN=(.*)/.exec(name)?.[1],
        protocol: request.httpVersion,
      };
      answer(one, response, arrived.push(one));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // it listens on a port
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const settings: ConnectionSettings = {
    server: new URL(`https://127.0.0.1:${port}`),
    tls: { ca: () => authority.certificate, insecure: false },
    credentials: { current: () => ({}), rejected: () => false },
    compress: false,
    namespace: "default",
  };
  return { settings, port, arrived, authority };
}
