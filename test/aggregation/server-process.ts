/**
 * An aggregated API server as a process, for tests: `wardle.example.com/v1` with flunders in memory, their watch,
 * discovery in both forms, OpenAPI, and faults. It trusts identity headers, and prints each request as a line of JSON.
 * Its argument is a file with its port, certificate and key, and the form of its discovery.
 */
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createSecureServer } from "node:http2";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TLSSocket } from "node:tls";

interface Settings {
  readonly port: number;
  readonly certificate: string;
  readonly key: string;
  /** The API domain, for the media type of aggregated discovery. */
  readonly domain: string;
  readonly hasAggregated: boolean;
  readonly floodBytes: number;
  /** The protocol that the server accepts; with HTTP/2, it accepts HTTP/1.1 too. */
  readonly protocol: "HTTP/1.1" | "HTTP/2";
}

const settings = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as Settings;
const group = "wardle.example.com";
const base = `/apis/${group}/v1`;
interface Flunder {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly apiVersion: string;
  readonly kind: string;
}
/** All objects by namespace and name. */
const flunders = new Map<string, Flunder>();
interface WatchEvent {
  readonly type: "ADDED" | "DELETED";
  readonly object: Flunder;
}
/** All events. The first one has the resource version 2. */
const events: WatchEvent[] = [];
const watchers = new Set<(event: WatchEvent) => void>();
const version = (): number => events.length + 1;

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

const list = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/v1`,
  resources: [
    {
      name: "flunders",
      singularName: "flunder",
      namespaced: true,
      kind: "Flunder",
      verbs: ["create", "delete", "deletecollection", "get", "list", "watch"],
      shortNames: ["fl"],
    },
    { name: "flunders/status", singularName: "", namespaced: true, kind: "Flunder", verbs: ["get"] },
  ],
};

const kind = { group, version: "v1", kind: "Flunder" };
const discovery = {
  kind: "APIGroupDiscoveryList",
  apiVersion: `apidiscovery.${settings.domain}/v2`,
  metadata: {},
  items: [
    {
      metadata: { name: group },
      versions: [
        {
          version: "v1",
          freshness: "Current",
          resources: [
            {
              resource: "flunders",
              responseKind: kind,
              scope: "Namespaced",
              singularResource: "flunder",
              verbs: list.resources[0]!.verbs,
              shortNames: ["fl"],
              categories: ["all"],
            },
          ],
        },
      ],
    },
  ],
};

const schemaOf = (definitions: string): object => ({
  type: "object",
  description: "A flunder of another server.",
  properties: { metadata: { $ref: `#/${definitions}/com.example.Meta` }, spec: { type: "object" } },
  "x-kubernetes-group-version-kind": [kind],
});
const answers = { get: { responses: { 200: { description: "OK" } }, "x-kubernetes-group-version-kind": kind } };
const openApiV2 = {
  swagger: "2.0",
  info: { title: "wardle", version: "1" },
  paths: { [`${base}/flunders`]: answers, "/apis/other.example.com/v1/things": answers, "/version": answers },
  definitions: { "com.example.Flunder": schemaOf("definitions"), "com.example.Meta": { type: "object" } },
};
const openApiV3 = {
  openapi: "3.0.0",
  info: { title: "wardle", version: "1" },
  paths: { [`${base}/flunders`]: answers },
  components: {
    schemas: { "com.example.Flunder": schemaOf("components/schemas"), "com.example.Meta": { type: "object" } },
  },
};

function reply(response: ServerResponse, code: number, body: object, headers: Record<string, string> = {}): void {
  response.writeHead(code, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

/** Gives the object its next resource version, and delivers the event. */
function happen(type: WatchEvent["type"], object: Flunder): Flunder {
  const metadata = { ...object.metadata, resourceVersion: String(version() + 1) };
  const event = { type, object: { ...object, metadata } };
  events.push(event);
  for (const tell of watchers) tell(event);
  return event.object;
}

/**
 * The time without a write after which an answer counts as blocked, in milliseconds. A server that reads lets the next
 * write happen much earlier.
 */
const heldMs = 300;

/** Sends many bytes, and prints how many were written when the answer is blocked for the first time. */
function flood(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/octet-stream" });
  const piece = Buffer.alloc(256 * 1024);
  let written = 0;
  let isTold = false;
  let timer: NodeJS.Timeout | undefined;
  const tell = (): void => {
    if (!isTold) print({ flooded: request.url, bytes: written });
    isTold = true;
  };
  const pour = (): void => {
    clearTimeout(timer);
    while (!response.destroyed && written < settings.floodBytes) {
      written += piece.length;
      if (response.write(piece)) continue;
      timer = setTimeout(tell, heldMs);
      return;
    }
    tell();
    response.end();
  };
  response.on("drain", pour);
  response.once("close", () => clearTimeout(timer));
  pour();
}

/** A page that tells in its title what it can reach of the origin that it came from. */
const attackingPage = `<!doctype html><title>begun</title><script>
const attempt = (work) => { try { return String(work()); } catch (error) { return error.name; } };
document.title = JSON.stringify({
  origin: self.origin,
  storage: attempt(() => localStorage.length),
  cookies: attempt(() => document.cookie.length),
  workers: attempt(() => typeof navigator.serviceWorker),
});
</script>`;

/** The faults, by the name of the requested flunder or by a parameter. */
const misbehaviours: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => void>> = {
  redirect: (_request, response) => response.writeHead(302, { location: "https://elsewhere.example.com/" }).end(),
  reset: (request) => request.socket.destroy(),
  garbage: (request) => request.socket.end("ICE ICE BABY\r\n\r\n"),
  endless: (request) => {
    const line = `x-more: ${"y".repeat(1000)}\r\n`;
    const timer = setInterval(() => request.socket.write(line.repeat(20)), 1);
    request.socket.write("HTTP/1.1 200 OK\r\n");
    request.socket.once("close", () => clearInterval(timer));
    request.socket.on("error", () => clearInterval(timer));
  },
  half: (request, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    response.write('{"half":');
    setTimeout(() => request.socket.destroy(), 20);
  },
  "code-99": (request) => request.socket.write("HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"),
  "code-999": (request) => request.socket.write("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"),
  switch: (request) =>
    request.socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: odd\r\nConnection: Upgrade\r\n\r\n"),
  silent: () => undefined,
  headers: (_request, response) =>
    response
      .writeHead(200, {
        "content-type": "text/plain",
        "access-control-allow-origin": "*",
        ...(settings.protocol === "HTTP/2" ? {} : { connection: "close, x-hop" }),
        "x-hop": "1",
        "x-own": "2",
        warning: '299 - "one", 299 - "two"',
        "set-cookie": ["a=1", "b=2"],
      })
      .end("text"),
  large: (_request, response) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    for (let piece = 0; piece < 64; piece++) response.write(Buffer.alloc(64 * 1024, piece));
    response.end();
  },
  flood,
  page: (_request, response) => response.writeHead(200, { "content-type": "text/html" }).end(attackingPage),
  empty: (_request, response) => response.writeHead(204).end(),
  unacceptable: (_request, response) =>
    reply(response, 406, { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotAcceptable", code: 406 }),
};

function serve(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
  const { pathname: path, searchParams } = new URL(request.url ?? "/", "https://localhost");
  const wantsAggregated = (request.headers.accept ?? "").includes("as=APIGroupDiscoveryList");
  if (path === "/apis" && wantsAggregated && settings.hasAggregated) {
    const type = `application/json;g=apidiscovery.${settings.domain};v=v2;as=APIGroupDiscoveryList`;
    return reply(response, 200, discovery, { "content-type": type });
  }
  if (path === "/apis") return reply(response, 200, { kind: "APIGroupList", apiVersion: "v1", groups: [] });
  if (path === base) return reply(response, 200, list);
  if (path === "/openapi/v2") return reply(response, 200, openApiV2, { etag: '"wardle-2"' });
  if (path === "/openapi/v3") {
    const entry = (name: string) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=ABC` }] as const;
    const names = [`apis/${group}/v1`, "apis/other.example.com/v1", "version"];
    return reply(response, 200, { paths: Object.fromEntries(names.map(entry)) });
  }
  if (path === `/openapi/v3${base}`) return reply(response, 200, openApiV3, { etag: '"ABC"' });
  const match = /^\/apis\/wardle\.example\.com\/v1\/(?:namespaces\/([^/]+)\/)?flunders(?:\/([^/]+))?$/.exec(path);
  if (match === null) return reply(response, 404, { kind: "Status", status: "Failure", code: 404 });
  const [, namespace = "", name = ""] = match;
  const wrong = misbehaviours[searchParams.get("misbehaviour") ?? name];
  if (wrong !== undefined) return wrong(request, response);
  const since = searchParams.get("watch") === "true" ? (searchParams.get("resourceVersion") ?? "") : undefined;
  objects(request, response, { namespace, name, body, since });
}

interface Asked {
  readonly namespace: string;
  readonly name: string;
  readonly body: Buffer;
  /** The resource version after which a watch begins. */
  readonly since: string | undefined;
}

/** Sends the events after a resource version, or the present objects, and then new events. */
function watch(response: ServerResponse, namespace: string, since: string): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.flushHeaders();
  const tell = (event: WatchEvent): void => {
    if (namespace !== "" && event.object.metadata.namespace !== namespace) return;
    response.write(`${JSON.stringify(event)}\n`);
  };
  if (since === "" || since === "0") for (const object of flunders.values()) tell({ type: "ADDED", object });
  else for (const event of events.slice(Math.max(0, Number(since) - 1))) tell(event);
  watchers.add(tell);
  response.once("close", () => watchers.delete(tell));
}

function objects(request: IncomingMessage, response: ServerResponse, asked: Asked): void {
  const { namespace, name, body, since } = asked;
  if (since !== undefined) return watch(response, namespace, since);
  if (request.method === "POST") {
    const sent = JSON.parse(body.toString()) as Flunder;
    const metadata = { ...sent.metadata, namespace };
    const object = happen("ADDED", { ...sent, apiVersion: `${group}/v1`, kind: "Flunder", metadata });
    flunders.set(`${namespace}/${object.metadata.name}`, object);
    return reply(response, 201, object);
  }
  if (request.method === "PUT") return reply(response, 200, { kind: "Received", bytes: body.length });
  const key = `${namespace}/${name}`;
  const flunder = flunders.get(key);
  if (request.method === "DELETE") {
    for (const [one, object] of flunders) {
      if (name === "" ? !one.startsWith(`${namespace}/`) : one !== key) continue;
      flunders.delete(one);
      happen("DELETED", object);
    }
    return reply(response, 200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" });
  }
  if (name === "") {
    const items = [...flunders].filter(([one]) => namespace === "" || one.startsWith(`${namespace}/`));
    const metadata = { resourceVersion: String(version()) };
    return reply(response, 200, {
      kind: "FlunderList",
      apiVersion: `${group}/v1`,
      metadata,
      items: items.map(([, of]) => of),
    });
  }
  if (flunder === undefined)
    return reply(response, 404, { kind: "Status", apiVersion: "v1", status: "Failure", details: { name }, code: 404 });
  return reply(response, 200, flunder);
}

function describe(request: IncomingMessage, body: Buffer): object {
  const headers: string[] = [];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    headers.push(`${request.rawHeaders[at]!.toLowerCase()}: ${request.rawHeaders[at + 1]!}`);
  }
  const client = (request.socket as TLSSocket).getPeerCertificate().subject?.CN; // the server speaks TLS only
  return { method: request.method, url: request.url, headers, client, body: body.toString("latin1", 0, 1000) };
}

const tls = { cert: settings.certificate, key: settings.key, requestCert: true, rejectUnauthorized: false };
const server =
  settings.protocol === "HTTP/2" ? createSecureServer({ ...tls, allowHTTP1: true }) : https.createServer(tls);
server.on("request", (request: IncomingMessage, response: ServerResponse) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const body = Buffer.concat(pieces);
    print(describe(request, body));
    serve(request, response, body);
  });
  response.on("error", () => undefined);
  response.once("close", () => {
    if (!response.writableEnded) print({ cut: request.url });
  });
});

/** Answers an upgrade with a greeting and echoes in capitals. A path with `refuse` is refused. */
server.on("upgrade", (request: IncomingMessage, socket: Duplex, early: Buffer) => {
  print(describe(request, Buffer.alloc(0)));
  socket.on("error", () => undefined);
  if (request.url?.includes("refuse") === true) {
    socket.end("HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno\n");
    return;
  }
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nUpgrade: ${request.headers.upgrade}\r\nConnection: Upgrade\r\n\r\nhello `,
  );
  const shout = (bytes: Buffer): void => {
    if (bytes.includes("bye")) socket.end("BYE");
    else socket.write(bytes.toString().toUpperCase());
  };
  if (early.length > 0) shout(early);
  socket.on("data", shout);
});

server.listen(settings.port, "127.0.0.1", () => {
  print({ port: (server.address() as AddressInfo).port }); // a TCP server's address is never a text
});
