/**
 * A server with nodes, for tests: a kubelet on this machine, and an HTTP server as the target of proxies. Addresses of
 * the network 10.20.0.0/16 lead to this machine, since proxies connect to no loopback address.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { gzipSync } from "node:zlib";
import { after, test, type TestContext } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import {
  Api,
  type Domain,
  domains,
  eventually,
  file,
  openServer,
  startsServers,
  temporaryFolder,
  type TestServer,
} from "../harness.ts";
import { Kubelet } from "./kubelet.ts";

const nodeAddress = "10.20.0.1";
export const podAddress = "10.20.1.1";

export interface Cluster {
  readonly domain: Domain;
  readonly server: TestServer;
  readonly kubelet: Kubelet;
  /** The folder in which commands run. */
  readonly folder: string;
  readonly target: Target;
  close(): Promise<void>;
}

/** An HTTP server that tells what it was asked. */
class Target {
  /** The requests as `METHOD URL`, with their headers. */
  readonly received: { readonly line: string; readonly headers: IncomingMessage["headers"] }[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Duplex) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    server.on("request", (request, response) => this.#answer(request, response));
    server.on("upgrade", (request, socket, early) => this.#upgrade(request, socket, early));
  }

  static async start(): Promise<Target> {
    const target = new Target(createServer());
    target.#server.listen(0, "127.0.0.1");
    await once(target.#server, "listening");
    return target;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#sockets.size;
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #record(request: IncomingMessage): void {
    this.received.push({ line: `${request.method} ${request.url}`, headers: request.headers });
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    this.#record(request);
    const { pathname, searchParams } = new URL(request.url ?? "", "http://target");
    if (pathname === "/silent") return;
    if (pathname === "/page") {
      const page = gzipSync(`<a href="/x">${request.method}</a>`);
      const head = { "content-type": "text/html", "content-encoding": "gzip", "content-length": page.length };
      response.writeHead(200, head);
      response.end(page);
      return;
    }
    const location = searchParams.get("to");
    if (location !== null) {
      response.writeHead(302, { location, "x-first": "yes" });
      response.end("moved");
      return;
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const text = `${request.method} ${request.url} ${Buffer.concat(pieces).toString()}`;
      const head = { "content-type": "text/plain", "set-cookie": "a=b" };
      const length = pathname === "/long" ? { "content-length": text.length + 1 } : { "content-length": text.length };
      response.writeHead(pathname === "/teapot" ? 418 : 200, { ...head, ...length });
      response.end(text);
      // The connection closes before the promised end.
      if (pathname === "/long") response.once("finish", () => request.socket.destroySoon());
    });
  }

  /** Changes to a protocol that repeats everything in capitals, except on the path `/refuse`. */
  #upgrade(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    this.#record(request);
    socket.on("error", () => socket.destroy());
    if (request.url === "/refuse") {
      // Whoever goes on after the refusal would be answered.
      socket.write("HTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nno\n");
      socket.on("data", () => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nSMUGGLED"));
      return;
    }
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: capitals\r\n\r\n");
    socket.write(early.toString().toUpperCase());
    socket.on("data", (piece: Buffer) => socket.write(piece.toString().toUpperCase()));
  }
}

interface ClusterOptions {
  readonly settings?: ServerSettings;
  readonly kubelet?: Parameters<typeof Kubelet.start>[0];
}

/** The settings by which a server reaches a kubelet. */
export async function kubeletSettings(kubelet: Kubelet): Promise<ServerSettings> {
  const { certificate, key } = await kubelet.clientPair();
  return {
    kubeletClientCertificate: file("client.crt", certificate),
    kubeletClientKey: file("client.key", key),
    kubeletCertificateAuthority: file("ca.crt", kubelet.ca),
    kubeletPreferredAddressTypes: ["InternalIP", "Hostname"],
  };
}

export async function openCluster(domain: Domain, options: ClusterOptions = {}): Promise<Cluster> {
  const folder = temporaryFolder();
  const kubelet = await Kubelet.start({ folder, names: [nodeAddress], ...options.kubelet });
  const target = await Target.start();
  const settings = { ...(await kubeletSettings(kubelet)), ...options.settings };
  const server = await openServer(domain, settings, {
    route: ({ host, port }) => ({ host: host.startsWith("10.20.") ? "127.0.0.1" : host, port }),
  });
  const api = new Api(server);
  await makeNode(api, "here", "127.0.0.1", kubelet.port);
  await makeNode(api, "far", nodeAddress, kubelet.port);
  api.close();
  return {
    domain,
    server,
    kubelet,
    folder,
    target,
    async close() {
      await server.close();
      await Promise.all([kubelet.stop(), target.stop()]);
    },
  };
}

export async function makeNode(api: Api, name: string, address: string, port: number): Promise<void> {
  (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name } })).expect(201);
  const addresses = [{ type: "InternalIP", address }];
  const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } };
  (await api.patch(`/api/v1/nodes/${name}/status`, { status })).expect(200);
}

/** Makes a running pod; `ip` is its address, if it has one. */
export async function makePod(api: Api, ns: string, name: string, spec: object, ip?: string): Promise<void> {
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const container = { name: "c", image: "i" };
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { automountServiceAccountToken: false, containers: [container], nodeName: "here", ...spec },
  };
  await eventually(async () => (await api.post(pods, pod)).expect(201));
  const addresses = ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] };
  (await api.patch(`${pods}/${name}/status`, { status: { phase: "Running", ...addresses } })).expect(200);
}

/** The parts of a test with nodes. */
export interface Here {
  readonly api: Api;
  readonly cluster: Cluster;
  readonly ns: string;
  /** The path of the namespace. */
  readonly core: string;
  /** The path of its pods. */
  readonly pods: string;
}

type NodeTest = (name: string, run: (here: Here, t: TestContext) => Promise<void>) => void;

/** Returns the function that registers a test in both domains. The tests of a domain share a cluster. */
export function clusterSuite(): NodeTest {
  const clusters = new Map<Domain, Promise<Cluster>>();
  after(async () => {
    for (const cluster of clusters.values()) await (await cluster).close();
  });
  return (name, run) => {
    for (const domain of startsServers ? domains : []) {
      test(`${domain}: ${name}`, async (t) => {
        if (!clusters.has(domain)) clusters.set(domain, openCluster(domain));
        const cluster = await clusters.get(domain)!;
        const api = new Api(cluster.server);
        t.after(() => api.close());
        const { ns } = await api.createNamespace();
        const core = `/api/v1/namespaces/${ns}`;
        await run({ api, cluster, ns, core, pods: `${core}/pods` }, t);
      });
    }
  };
}
