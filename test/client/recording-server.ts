/** An HTTPS server that remembers who asked, and connections of the client library to it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { TestContext } from "node:test";
import type { DetailedPeerCertificate, TLSSocket } from "node:tls";
import type { FakeAuthority } from "#authn/fake-authority.ts";
import { openConnection } from "#client/connection.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";

/** A request that arrived. */
export interface Caller {
  readonly path: string;
  readonly authorization: string | undefined;
  /** The common names of the client's certificate and of those that signed it. */
  readonly names: readonly string[];
  /** Whether the authority of the server signed the client's certificate. */
  readonly isTrusted: boolean;
  /** A number for each connection. */
  readonly connection: number;
  /** The code of the answer. */
  readonly code: number;
}

export class RecordingServer {
  readonly callers: Caller[] = [];
  readonly url: string;
  readonly #server: https.Server;
  readonly #refused = new Set<string>();

  private constructor(server: https.Server) {
    const sockets = new Map<Socket, number>();
    this.#server = server;
    this.url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on("request", (request, response) => {
      const socket = request.socket as TLSSocket;
      sockets.set(socket, sockets.get(socket) ?? sockets.size);
      const { authorization } = request.headers;
      const code = this.#refused.has(authorization ?? "") ? 401 : 200;
      this.callers.push({
        path: request.url ?? "",
        authorization,
        names: namesOf(socket.getPeerCertificate(true)),
        isTrusted: socket.authorized,
        connection: sockets.get(socket)!,
        code,
      });
      response.writeHead(code, { "content-type": "application/json" }).end("{}");
    });
  }

  static async start(authority: FakeAuthority): Promise<RecordingServer> {
    const { certificate: cert, key } = await authority.issue({ usage: "server" });
    const ca = authority.certificate;
    const server = https.createServer({ cert, key, ca, requestCert: true, rejectUnauthorized: false });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new RecordingServer(server);
  }

  /** Answers requests with this header by 401 from now on. */
  refuse(authorization: string): void {
    this.#refused.add(authorization);
  }

  /** Opens a connection that closes at the end of the test. Calls resolve with what the server saw of the last try. */
  connect(t: TestContext, settings: ConnectionSettings): { call(): Promise<Caller> } {
    const connection = openConnection(settings, {
      clock: systemClock,
      random: systemRandom,
      userAgent: "test",
      environment: {},
    });
    t.after(() => connection.close());
    return {
      call: async () => {
        const query = `?call=${randomUUID()}`;
        await connection.request({ method: "GET", path: `/version${query}` });
        const tries = this.callers.filter(({ path }) => path.endsWith(query));
        assert.ok(tries.length > 0);
        return { ...tries.at(-1)!, path: tries[0]!.path.slice(0, -query.length) };
      },
    };
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

function namesOf(certificate: DetailedPeerCertificate | undefined): string[] {
  const names: string[] = [];
  let at = certificate;
  while (at?.subject !== undefined) {
    names.push(String(at.subject.CN));
    if (at.issuerCertificate === at) break;
    at = at.issuerCertificate;
  }
  return names;
}
