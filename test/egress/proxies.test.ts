/** Connections through the proxies of `--egress-selector-config-file`. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { createSecureServer as createHttp2Server } from "node:http2";
import https from "node:https";
import type { AddressInfo, Server, Socket } from "node:net";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { openForwarder } from "#egress/forwarding.ts";
import { openOutgoing } from "#egress/outgoing-https.ts";
import { httpTunnel, type OpenTunnel } from "#egress/proxy-tunnel.ts";
import { systemClock } from "#std/clock.ts";
import { domains, eventually, file, openServer, usingServer } from "../harness.ts";
import { configMap } from "../objects.ts";
import { type ConnectProxy, openConnectProxy } from "./connect-proxy.ts";

const authority = await fakeAuthority("others");
const host = "hook.example.com";
const { certificate: cert, key } = await authority.issue({
  commonName: "x",
  usage: "server",
  hosts: [host, "127.0.0.1"],
});
const client = await authority.issue({ commonName: "this server", usage: "client" });
const ca = authority.certificate;

/** Answers with its path and body; token reviews and reviews of access succeed, and others are allowed. */
function answer(request: http.IncomingMessage, response: http.ServerResponse): void {
  let text = "";
  request.on("data", (piece: Buffer) => (text += piece.toString()));
  request.on("end", () => {
    const {
      kind,
      apiVersion,
      request: asked,
    } = (text.startsWith("{") ? JSON.parse(text) : {}) as {
      readonly kind?: string;
      readonly apiVersion?: string;
      readonly request?: { readonly uid: string };
    };
    const replies: Readonly<Record<string, object>> = {
      TokenReview: { status: { authenticated: true, user: { username: "through-proxy" } } },
      SubjectAccessReview: { status: { allowed: true } },
      AdmissionReview: { response: { uid: asked?.uid, allowed: true } },
    };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify({ kind, apiVersion, ...replies[kind ?? ""], path: request.url }));
  });
}

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.once("close", () => sockets.delete(socket))));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port; // a TCP server's
}

const port = await listen(https.createServer({ cert, key }, answer));
const plainPort = await listen(http.createServer(answer));
const http2Port = await listen(
  createHttp2Server({ cert, key }, (request, response) => {
    response.end(JSON.stringify({ path: request.url }));
  }),
);
const opened: ConnectProxy[] = [];
after(() => opened.forEach((proxy) => proxy.close()));

async function open(...parameters: Parameters<typeof openConnectProxy>): Promise<ConnectProxy> {
  const proxy = await openConnectProxy(...parameters);
  opened.push(proxy);
  return proxy;
}

async function callThrough(tunnel: OpenTunnel, url: string): Promise<string> {
  const outgoing = openOutgoing({ clock: systemClock, ca, tunnel });
  try {
    const { body } = await outgoing.callOut({
      url,
      method: "POST",
      body: Buffer.from("{}"),
      timeoutMs: 20_000,
      maxBytes: 1000,
    });
    return (JSON.parse(body.toString()) as { path: string }).path;
  } finally {
    outgoing.close();
  }
}

test("a call goes through a proxy on a socket, a port, or a port with TLS, which gets the name", async () => {
  const proxy = await open(port);
  const own = await authority.issue({ commonName: "proxy", usage: "server", hosts: ["127.0.0.1"] });
  const secure = await open(port, {
    cert: own.certificate,
    key: own.key,
    ca,
    requestCert: true,
    rejectUnauthorized: true,
  });
  const at = (of: ConnectProxy) => ({ host: "127.0.0.1", port: of.port });
  const url = `https://${host}:444/a`;
  assert.equal(await callThrough(httpTunnel({ socketPath: proxy.socketPath }), url), "/a");
  assert.equal(await callThrough(httpTunnel({ address: at(proxy) }), url), "/a");
  const tls = { ca, cert: client.certificate, key: client.key };
  assert.equal(await callThrough(httpTunnel({ address: at(secure), tls }), url), "/a");
  assert.deepEqual([...proxy.asked, ...secure.asked], [`${host}:444`, `${host}:444`, `${host}:444`]);
  assert.equal(proxy.requests[0], `CONNECT ${host}:444 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
  assert.equal(await callThrough(httpTunnel({ socketPath: proxy.socketPath }), "https://127.0.0.1:5/b"), "/b");
  await assert.rejects(callThrough(httpTunnel({ socketPath: proxy.socketPath }), "https://other.example.com/"), {
    code: "ERR_TLS_CERT_ALTNAME_INVALID",
  });
  const plain = await open(plainPort);
  assert.equal(await callThrough(httpTunnel({ address: at(plain) }), "http://[fd00::1]:8080/c"), "/c");
  assert.deepEqual(plain.asked, ["[fd00::1]:8080"]);
});

test("a proxy that refuses, breaks off, speaks something else or is not there is the error of the call", async () => {
  const proxy = await open(port);
  const { socketPath } = proxy;
  const fails = (message: RegExp, tunnel = httpTunnel({ socketPath })) =>
    assert.rejects(callThrough(tunnel, `https://${host}/`), { message });
  const start = `^proxy error from ${socketPath} while dialing ${host}:443, `;
  proxy.refusal = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
  await fails(new RegExp(`${start}code 403: 403 Forbidden$`));
  proxy.refusal = "HTTP/1.1 200";
  await fails(new RegExp(`${start}it closed the connection$`));
  proxy.refusal = "SSH-2.0\r\n\r\n";
  await fails(new RegExp(`${start}it does not speak HTTP$`));
  proxy.refusal = `HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}`;
  await fails(new RegExp(`${start}its answer is too long$`));
  await fails(/while dialing hook\.example\.com:443, connect ENOENT/, httpTunnel({ socketPath: `${socketPath}.none` }));
});

test("forwarded requests and upgrades go through a proxy, by HTTP/2, HTTP/1.1 and without TLS", async () => {
  const signal = AbortSignal.timeout(60_000);
  const address = { host: "10.1.2.3", port: 10_250 };
  const upgraded = await listen(
    http.createServer().on("upgrade", (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello");
    }),
  );
  for (const [target, isPlain] of [
    [port, false],
    [http2Port, false],
    [plainPort, true],
    [upgraded, true],
  ] as const) {
    const { socketPath, asked } = await open(target);
    const forwarder = openForwarder({
      clock: systemClock,
      isPlain,
      ca,
      insecure: false,
      serverName: isPlain ? undefined : host,
      cert: undefined,
      key: undefined,
      tunnel: httpTunnel({ socketPath }),
    });
    const call = { method: "GET", headers: [], body: undefined, signal, headMs: 20_000 };
    if (target === upgraded) {
      const changed = await forwarder.upgrade(address, "x", { ...call, path: "/" });
      assert.ok(changed.kind === "upgraded");
      const early = changed.early.length > 0 ? changed.early : ((await once(changed.connection, "data"))[0] as Buffer);
      assert.equal(early.toString(), "hello");
      changed.connection.destroy();
    } else {
      for (const path of ["/one", "/two"]) {
        const { body } = await forwarder.send(address, { ...call, path });
        const pieces: Buffer[] = [];
        for await (const piece of body) pieces.push(piece as Buffer);
        assert.ok(Buffer.concat(pieces).toString().includes(path));
      }
    }
    assert.deepEqual(asked, ["10.1.2.3:10250"]);
    forwarder.close();
  }
});

const selection = (name: string, { socketPath }: ConnectProxy): string =>
  `- name: ${name}\n  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: ${socketPath}}}}\n`;
const configuration = (...selections: readonly string[]): string =>
  `apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n${selections.join("")}`;

for (const domain of domains) {
  test(`${domain}: nodes and services are reached by the proxy of the cluster, webhooks at URLs by that of the control plane`, async () => {
    const [cluster, controlPlane] = [await open(port), await open(port)];
    const text = configuration(selection("cluster", cluster), selection("ControlPlane", controlPlane));
    const caData = Buffer.from(ca).toString("base64");
    const hook = file(
      "hook.kubeconfig",
      `apiVersion: v1\nkind: Config\ncurrent-context: x\nclusters: [{name: c, cluster: {server: "https://${host}:444/review", certificate-authority-data: ${caData}}}]\nusers: [{name: u, user: {}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n`,
    );
    const settings = {
      egressSelectorConfigFile: file("egress.yaml", domain === "k8s.io" ? text : text.replace("k8s.io", domain)),
      authenticationTokenWebhookConfigFile: hook,
      authorizationMode: ["RBAC", "Webhook"] as const,
      authorizationWebhookConfigFile: hook,
      kubeletCertificateAuthority: file("ca.crt", ca),
    };
    await usingServer(domain, settings, async (api) => {
      (await api.get("/api/v1/namespaces", { as: "unknown-token" })).expect(200);
      assert.deepEqual([...new Set(controlPlane.asked)], [`${host}:444`]);
      const node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" } };
      (await api.post("/api/v1/nodes", node)).expect(201);
      const status = {
        addresses: [{ type: "InternalIP", address: "10.9.9.9" }],
        daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      };
      (await api.patch("/api/v1/nodes/n/status", { status })).expect(200);
      const { ns, configMaps } = await api.createNamespace();
      const ports = [{ port: 443 }];
      const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports } };
      const made = (await api.post(`/api/v1/namespaces/${ns}/services`, service)).expect(201);
      const webhook = (name: string, clientConfig: object) => ({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingWebhookConfiguration",
        metadata: { name },
        webhooks: [
          {
            name: `${name}.example.com`,
            admissionReviewVersions: ["v1"],
            sideEffects: "None",
            clientConfig,
            rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"] }],
          },
        ],
      });
      const hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
      (await api.post(hooks, webhook("url", { url: `https://${host}:445/admit`, caBundle: caData }))).expect(201);
      await eventually(async () => {
        (await api.post(configMaps, configMap(api.unique("c")))).expect(201);
        assert.ok(controlPlane.asked.includes(`${host}:445`));
      });
      const ofService = webhook("service", { service: { namespace: ns, name: "s" }, caBundle: caData });
      (await api.post(hooks, ofService)).expect(201);
      await eventually(async () => {
        // The certificate of the webhook has another name.
        (await api.post(configMaps, configMap("refused"))).expectFailure(500, "InternalError", /certificate/);
        assert.ok(cluster.asked.includes(`${made.string("spec.clusterIP")}:443`));
      });
      await api.get("/api/v1/nodes/n/proxy/x");
      assert.ok(cluster.asked.includes("10.9.9.9:10250"));
    });
  });

  test(`${domain}: a configuration of proxies that cannot be used ends the start`, async () => {
    const group = `apiserver.${domain}/v1beta1`;
    for (const [text, message] of [
      ["{proxyProtocol: GRPC}", "the protocol GRPC is not supported here: use Direct or HTTPConnect"],
      ["{}", 'service.connection.protocol: Unsupported value: "": supported values: "Direct", "HTTPConnect", "GRPC"'],
      [
        "{proxyProtocol: HTTPConnect}",
        "service.connection.transport: Required value: transport must be set for HTTPConnect",
      ],
    ] as const) {
      const config = file(
        "egress.yaml",
        `apiVersion: ${group}\nkind: EgressSelectorConfiguration\negressSelections: [{name: cluster, connection: ${text}}]\n`,
      );
      await assert.rejects(openServer(domain, { egressSelectorConfigFile: config }), {
        message: `${config}: ${message}`,
      });
    }
    const etcd = "connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: /none}}}";
    const config = file(
      "egress.yaml",
      `apiVersion: ${group}\nkind: EgressSelectorConfiguration\negressSelections: [{name: etcd, ${etcd}}]\n`,
    );
    const settings = {
      egressSelectorConfigFile: config,
      etcdServers: ["http://127.0.0.1:1"],
      storage: "disk",
    } as const;
    await assert.rejects(openServer(domain, settings), {
      message: `${config}: a proxy for the selection "etcd" is not supported: use Direct`,
    });
  });
}
