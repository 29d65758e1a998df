/** Proxies to pods, services and nodes, and what attackers try with them and with other connections to nodes. */
import assert from "node:assert/strict";
import { createServer, type Socket } from "node:net";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { eventually, startsServers } from "../harness.ts";
import { connectRaw } from "../raw.ts";
import { spawnServer } from "../process.ts";
import { clusterSuite, type Here, kubeletSettings, makeNode, makePod, podAddress } from "./cluster.ts";
import { Kubelet } from "./kubelet.ts";
import { WebSocketClient } from "./web-socket.ts";

const inBothDomains = clusterSuite();

const headOf = (method: string, path: string, more: readonly string[] = []): string =>
  [`${method} ${path} HTTP/1.1`, "Host: api.example.com", "Authorization: Bearer admin-token", ...more, "", ""].join(
    "\r\n",
  );

/** Makes a pod that the target of the cluster answers for. */
async function makeTargetPod({ api, cluster, ns }: Here, name = "p"): Promise<void> {
  const container = { name: "c", image: "i", ports: [{ containerPort: cluster.target.port }] };
  await makePod(api, ns, name, { containers: [container] }, podAddress);
}

inBothDomains(
  "requests pass through a pod's proxy with every method, path and body, without credentials [EP-15]",
  async (here) => {
    const { api, cluster, core } = here;
    await makeTargetPod(here);
    const { target } = cluster;
    const base = `${core}/pods/p/proxy`;
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const body = method === "GET" ? undefined : { a: 1 };
      const answer = await api.send(method, `${base}/a/b%20c/?x=1&y=%2F`, body, { literal: true });
      const sent = body === undefined ? "" : '{"a":1}';
      assert.equal(answer.expect(200).bytes.toString(), `${method} /a/b%20c/?x=1&y=%2F ${sent}`);
    }
    (await api.send("HEAD", `${base}/x`)).expect(200);
    assert.equal(target.received.at(-1)!.line, "HEAD /x");
    (await api.get(`${base}/teapot`)).expect(418);
    const secrets = {
      cookie: "session=secret",
      "x-remote-user": "eve",
      "x-remote-group": "system:masters",
      "x-remote-extra-scopes": "all",
      "x-forwarded-for": "9.9.9.9",
      "x-own": "kept",
    };
    (await api.get(`${base}//a//b`, { headers: secrets })).expect(200);
    const { line, headers } = target.received.at(-1)!;
    assert.equal(line, "GET /a/b");
    for (const name of ["authorization", "cookie", "x-remote-user", "x-remote-group", "x-remote-extra-scopes"]) {
      assert.equal(headers[name], undefined, name);
    }
    assert.equal(headers["x-own"], "kept");
    assert.match(String(headers["x-forwarded-for"]), /^9\.9\.9\.9, (127\.0\.0\.1|::1)$/);
    assert.equal(headers["x-forwarded-uri"], `${base}/a/b`);
    // Without a path there is a redirection, so that relative links lead to the target.
    const bare = await api.get(`${base}?q=1`);
    assert.equal(bare.expect(301).headers["location"], `${base}/?q=1`);
    assert.equal((await api.post(base, {})).expect(200).bytes.toString(), "POST / {}");
    for (const path of ["../exec", "..%2f..%2fsecrets", "a/%2e%2e/b"]) (await api.get(`${base}/${path}`)).expect(404);
  },
);

inBothDomains("pods, services and nodes name the target of their proxy", async (here) => {
  const { api, cluster, ns, core } = here;
  const { port } = cluster.target;
  await makeTargetPod(here);
  const text = async (path: string): Promise<string> => (await api.get(path)).expect(200).bytes.toString();
  assert.equal(await text(`${core}/pods/http:p:${port}/proxy/z`), "GET /z ");
  (await api.get(`${core}/pods/p:1/proxy/`)).expectFailure(
    503,
    "ServiceUnavailable",
    /^error trying to reach service: dial tcp .*:1: connect: connection refused$/,
  );
  (await api.get(`${core}/pods/https:p:${port}/proxy/`)).expectFailure(
    503,
    "ServiceUnavailable",
    "error trying to reach service: tls: first record does not look like a TLS handshake",
  );
  (await api.get(`${core}/pods/none/proxy/`)).expectFailure(404, "NotFound", 'pods "none" not found');
  for (const name of ["ftp:p:80", ":p", "a:b:c:d"]) {
    (await api.get(`${core}/pods/${name}/proxy/`)).expectFailure(400, "BadRequest", `invalid pod request "${name}"`);
  }
  (await api.get(`${core}/pods/p:web/proxy/`)).expectFailure(400, "BadRequest", 'invalid port "web"');

  const service = { metadata: { name: "s" }, spec: { ports: [{ name: "web", port: 80 }] } };
  (await api.post(`${core}/services`, service)).expect(201);
  const services = `${core}/services`;
  (await api.get(`${services}/s:web/proxy/`)).expectFailure(404, "NotFound", 'services "s" not found');
  const ofPod = { ip: podAddress, targetRef: { kind: "Pod", name: "p", namespace: ns } };
  const subsets = (address: object) => [{ addresses: [address], ports: [{ name: "web", port }] }];
  const endpoints = { metadata: { name: "s" }, subsets: subsets(ofPod) };
  (await api.post(`${core}/endpoints`, endpoints)).expect(201);
  for (const name of ["s:web", "s:80", "http:s:web"])
    assert.equal(await text(`${services}/${name}/proxy/q`), "GET /q ");
  const without = (name: string) => `no endpoints available for service "${name}"`;
  for (const [name, message] of [
    ["s", without("s")],
    ["s:other", without("s:other")],
    ["s:81", 'no service port 81 found for service "s"'],
  ] as const) {
    (await api.get(`${services}/${name}/proxy/`)).expectFailure(503, "ServiceUnavailable", message);
  }
  // Addresses that are of no pod of the namespace are no way to anywhere.
  for (const address of [
    { ip: podAddress },
    { ip: "10.20.9.9", targetRef: ofPod.targetRef },
    { ip: podAddress, targetRef: { ...ofPod.targetRef, name: "none" } },
    { ip: podAddress, targetRef: { ...ofPod.targetRef, kind: "Node" } },
  ]) {
    (await api.put(`${core}/endpoints/s`, { ...endpoints, subsets: subsets(address) })).expect(200);
    (await api.get(`${services}/s:web/proxy/`)).expectFailure(503, "ServiceUnavailable", without("s:web"));
  }

  assert.equal(await text("/api/v1/nodes/far/proxy/metrics?a=b"), "GET /metrics?a=b ");
  assert.equal(cluster.kubelet.received.at(-1)!.client, "apiserver");
  assert.equal(await text(`/api/v1/nodes/far:${cluster.kubelet.port}/proxy/x`), "GET /x ");
  assert.equal(await text(`/api/v1/nodes/far:${port}/proxy/x`), "GET /x ");
  (await api.get("/api/v1/nodes/none/proxy/")).expectFailure(404, "NotFound", 'nodes "none" not found');
  (await api.get("/api/v1/nodes/a:b:c:d/proxy/")).expectFailure(400, "BadRequest", 'invalid node request "a:b:c:d"');
});

inBothDomains("redirections are never followed, and stay on this server unless they name another", async (here) => {
  const { api, cluster, core } = here;
  await makeTargetPod(here);
  const base = `${core}/pods/p/proxy`;
  const before = cluster.target.received.length;
  const redirect = async (to: string): Promise<string | undefined> => {
    const answer = await api.get(`${base}/go?to=${encodeURIComponent(to)}`, { literal: true });
    assert.equal(answer.expect(302).bytes.toString(), "moved");
    return String(answer.headers["location"]);
  };
  assert.equal(await redirect("/other?x=1#f"), `${base}/other?x=1#f`);
  assert.equal(await redirect("http://169.254.169.254/latest/meta-data"), "http://169.254.169.254/latest/meta-data");
  assert.equal(await redirect("https://127.0.0.1:6443/api"), "https://127.0.0.1:6443/api");
  assert.equal(await redirect("relative"), "relative");
  assert.equal(cluster.target.received.length, before + 4);
});

inBothDomains("the links of a page lead through the proxy, and lengths are passed on", async (here) => {
  const { api, core } = here;
  await makeTargetPod(here);
  const base = `${core}/pods/p/proxy`;
  const page = await api.get(`${base}/page`);
  assert.equal(page.headers["content-length"], undefined);
  assert.equal(gunzipSync(page.expect(200).bytes).toString(), `<a href="${base}/x">GET</a>`);
  const head = await api.send("HEAD", `${base}/page`);
  assert.equal(head.expect(200).headers["content-length"], undefined);
  assert.equal((await api.get(`${base}/text`)).expect(200).headers["content-length"], String("GET /text ".length));
  assert.equal(
    (await api.send("HEAD", `${base}/text`)).expect(200).headers["content-length"],
    String("HEAD /text ".length),
  );
  // A target that sends less than it promised is no whole answer.
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(headOf("GET", `${base}/long`));
  assert.match(await raw.closed(), /content-length: 11\r\n[^]*\r\n\r\nGET \/long $/i);
});

inBothDomains("loopback, link-local and metadata addresses are no targets, however they are written", async (here) => {
  const { api, ns, core } = here;
  const addresses = ["127.0.0.1", "::1", "169.254.169.254", "fe80::1", "::ffff:127.0.0.1", "fd00:ec2::254", "0.0.0.0"];
  for (const [at, address] of addresses.entries()) {
    await makePod(api, ns, `p${at}`, {}, address).catch(() => undefined);
    const port = { name: "web", port: 80 };
    const ref = { kind: "Pod", name: `p${at}`, namespace: ns };
    (await api.get(`${core}/pods/p${at}:80/proxy/`)).expectFailure(400, "BadRequest", "address not allowed");
    const subsets = [{ addresses: [{ ip: address, targetRef: ref }], ports: [port] }];
    const made = await api.post(`${core}/endpoints`, { metadata: { name: `s${at}` }, subsets });
    if (made.status === 201) (await api.get(`${core}/services/s${at}:web/proxy/`)).expect(503);
    const node = api.unique("n");
    await makeNode(api, node, address, 10_250);
    for (const name of [node, `${node}:80`, `https:${node}:443`]) {
      (await api.get(`/api/v1/nodes/${name}/proxy/`)).expectFailure(400, "BadRequest", "address not allowed");
    }
  }
  const node = api.unique("n");
  await makeNode(api, node, "localhost", 10_250);
  (await api.get(`/api/v1/nodes/${node}/proxy/`)).expectFailure(400, "BadRequest", "address not allowed");
});

inBothDomains("an upgrade that a target refuses opens no connection for further requests", async (here) => {
  const { api, core } = here;
  await makeTargetPod(here);
  const protocol = ["Connection: Upgrade", "Upgrade: capitals"];
  const spliced = await connectRaw(api.endpoint, api.server.ca);
  spliced.write(`${headOf("GET", `${core}/pods/p/proxy/up`, protocol)}early `);
  await spliced.until("EARLY");
  spliced.write("later");
  await spliced.until("LATER");
  spliced.socket.destroy();
  const smuggling = headOf("GET", "/secret", ["X-Remote-User: admin"]);
  const refused = await connectRaw(api.endpoint, api.server.ca);
  refused.write(headOf("GET", `${core}/pods/p/proxy/refuse`, protocol) + smuggling);
  const answer = await refused.closed();
  assert.match(answer, /^HTTP\/1\.1 403 [^]*no\n$/);
  assert.doesNotMatch(answer, /SMUGGLED/);
  const ignored = await connectRaw(api.endpoint, api.server.ca);
  ignored.write(headOf("GET", `${core}/pods/p/proxy/go?to=/x`, [...protocol, "Content-Length: 3"]) + "abc");
  assert.match(await ignored.until("cannot be upgraded"), /^HTTP\/1\.1 500 /);
  ignored.socket.destroy();
});

inBothDomains("targets that do not answer, and clients that leave, hold nothing", async (here, t) => {
  const { api, cluster, ns, core } = here;
  await makeTargetPod(here);
  const before = cluster.target.connections;
  const leaving = await connectRaw(api.endpoint, api.server.ca);
  leaving.write(headOf("GET", `${core}/pods/p/proxy/silent`));
  await eventually(async () => assert.equal(cluster.target.received.at(-1)?.line, "GET /silent"));
  assert.ok(cluster.target.connections > 0);
  leaving.socket.destroy();
  await eventually(async () => assert.ok(cluster.target.connections <= before));

  // A node that takes the connection and says nothing.
  const sockets = new Set<Socket>();
  const mute = createServer((socket) => {
    sockets.add(socket);
    // Only who reads learns of the end.
    socket.resume();
    socket.on("error", () => socket.destroy());
    socket.once("close", () => sockets.delete(socket));
  });
  mute.listen(0, "127.0.0.1");
  await new Promise((resolve) => mute.once("listening", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    mute.close();
  });
  const node = api.unique("mute");
  await makeNode(api, node, "127.0.0.1", (mute.address() as { port: number }).port);
  await makePod(api, ns, "mute", { nodeName: node });
  const log = await api.get(`${core}/pods/mute/log`);
  assert.match(log.expect(500).string("message"), /context deadline exceeded$/);
  const command = await WebSocketClient.open(api, `${core}/pods/mute/exec?command=ls&stdout=1`, "v5.channel.k8s.io");
  await eventually(async () => assert.ok(sockets.size > 0));
  command.socket.destroy();
  await eventually(async () => assert.equal(sockets.size, 0));
});

inBothDomains("a session ends on both sides when one is closed, also in half", async ({ api, cluster, ns, core }) => {
  await makePod(api, ns, "p", {});
  const { kubelet } = cluster;
  const path = `${core}/pods/p/exec?command=cat&stdin=1&stdout=1`;
  for (const protocol of ["v5.channel.k8s.io", "v4.channel.k8s.io"]) {
    const client = await WebSocketClient.open(api, path, protocol);
    await eventually(async () => assert.equal(kubelet.sessions, 1));
    client.socket.end();
    await eventually(async () => assert.equal(kubelet.sessions, 0));
    const other = await WebSocketClient.open(api, path, protocol);
    await eventually(async () => assert.equal(kubelet.sessions, 1));
    kubelet.dropSessions();
    await other.closed();
    other.socket.destroy();
    await eventually(async () => assert.equal(kubelet.sessions, 0));
  }
});

test("1,000 idle sessions cost bounded memory and no work, and end with their clients", {
  skip: !startsServers,
}, async (t) => {
  const kubelet = await Kubelet.start();
  t.after(() => kubelet.stop());
  const settings = await kubeletSettings(kubelet);
  const server = await spawnServer({
    domain: "k8s.io",
    flags: [
      `--kubelet-client-certificate=${settings.kubeletClientCertificate}`,
      `--kubelet-client-key=${settings.kubeletClientKey}`,
      `--kubelet-certificate-authority=${settings.kubeletCertificateAuthority}`,
      "--kubelet-preferred-address-types=InternalIP",
    ],
  });
  const { api } = server;
  const { ns } = await api.createNamespace();
  await makeNode(api, "here", "127.0.0.1", kubelet.port);
  await makePod(api, ns, "p", {});
  kubelet.isIdle = true;
  const path = `/api/v1/namespaces/${ns}/pods/p/exec?command=idle&stdin=1&stdout=1`;
  const clients: WebSocketClient[] = [];
  const openTo = async (count: number): Promise<void> => {
    // A session that a busy machine was too slow for is followed by another one.
    await eventually(async () => {
      while (kubelet.sessions < count) {
        const wave = Array.from({ length: 20 }, () => WebSocketClient.open(api, path, "v5.channel.k8s.io"));
        clients.push(...(await Promise.all(wave)));
      }
    });
  };
  const pod = `/api/v1/namespaces/${ns}/pods/p`;
  const processorTime = async (): Promise<number> => {
    const { text } = (await api.get("/metrics")).expect(200);
    return Number(/^process_cpu_seconds_total (\S+)$/m.exec(text)![1]);
  };
  /** Returns the least processor time that some reads of the pod take, of three rounds. */
  const costOfReads = async (): Promise<number> => {
    const costs: number[] = [];
    for (let round = 0; round < 3; round++) {
      const start = await processorTime();
      for (let read = 0; read < 200; read++) (await api.get(pod)).expect(200);
      costs.push((await processorTime()) - start);
    }
    return Math.min(...costs);
  };
  await openTo(100);
  const costBefore = await costOfReads();
  const before = await server.memoryBytes();
  const sessionsBefore = kubelet.sessions;
  await openTo(1000);
  const each = ((await server.memoryBytes()) - before) / (kubelet.sessions - sessionsBefore);
  t.diagnostic(`a session takes ${Math.round(each / 1024)} KiB`);
  assert.ok(each < 512 * 1024, `a session takes ${each} bytes`);
  // Other requests cost the server what they cost beside few sessions.
  const cost = await costOfReads();
  t.diagnostic(`200 reads take ${costBefore} s of the processor beside 100 sessions, ${cost} s beside 1,000`);
  assert.ok(cost < 3 * costBefore, `200 reads take ${cost} s, and took ${costBefore} s`);
  for (const client of clients) client.socket.destroy();
  await eventually(async () => assert.equal(kubelet.sessions, 0));
  assert.equal(await server.stop("SIGTERM"), 0);
});
