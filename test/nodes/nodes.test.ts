/** Logs of pods, and connections to pods, from the kubelets of their nodes. */
import assert from "node:assert/strict";
import { createServer as createPlainServer } from "node:net";
import { eventually } from "../harness.ts";
import { connectRaw } from "../raw.ts";
import { clusterSuite, makeNode, makePod, podAddress } from "./cluster.ts";
import { clientFrame, WebSocketClient } from "./web-socket.ts";

const inBothDomains = clusterSuite();

const upgrade = (method: string, path: string, more: readonly string[], token = "admin-token"): string =>
  [`${method} ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${token}`, ...more, "", ""].join("\r\n");
const spdy = ["Connection: Upgrade", "Upgrade: SPDY/3.1", "X-Stream-Protocol-Version: v4.channel.k8s.io"];

inBothDomains(
  "a log is read from the kubelet, with options that are checked [EP-15]",
  async ({ api, cluster, ns, pods }) => {
    await makePod(api, ns, "p", {});
    const { kubelet } = cluster;
    const plain = await api.get(`${pods}/p/log`);
    assert.equal(plain.expect(200).bytes.toString(), `/containerLogs/${ns}/p/c\n\nlast\n`);
    assert.equal(plain.headers["content-type"], "text/plain");
    const options =
      "container=c&follow=false&previous=1&sinceSeconds=5&timestamps=true&tailLines=0&limitBytes=7&unknown=x&pretty=1";
    await api.get(`${pods}/p/log?${options}`);
    const asked = kubelet.received.at(-1)!;
    assert.equal(
      asked.url,
      `/containerLogs/${ns}/p/c?limitBytes=7&previous=true&sinceSeconds=5&tailLines=0&timestamps=true`,
    );
    assert.equal(asked.client, "apiserver");
    assert.equal(asked.headers["authorization"], undefined);
    await api.get(`${pods}/p/log?sinceTime=2024-01-02T03:04:05.5%2B02:00&insecureSkipTLSVerifyBackend=true`);
    assert.match(kubelet.received.at(-1)!.url, /\?sinceTime=2024-01-02T01%3A04%3A05Z$/);

    for (const [query, message] of [
      ["sinceSeconds=abc", 'strconv.ParseInt: parsing "abc": invalid syntax'],
      ["tailLines=", 'strconv.ParseInt: parsing "": invalid syntax'],
      ["tailLines=99999999999999999999", 'strconv.ParseInt: parsing "99999999999999999999": value out of range'],
      ["sinceTime=x", 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"'],
      ["container=no", "container no is not valid for pod p"],
    ]) {
      (await api.get(`${pods}/p/log?${query}`)).expectFailure(400, "BadRequest", message);
    }
    for (const [query, field, message] of [
      ["tailLines=-1", "tailLines", "Invalid value: -1: must be greater than or equal to 0"],
      ["limitBytes=0", "limitBytes", "Invalid value: 0: must be greater than 0"],
      ["sinceSeconds=0", "sinceSeconds", "Invalid value: 0: must be greater than 0"],
      ["stream=All", "stream", "Forbidden: may not be specified"],
      [
        "sinceTime=2024-01-02T03:04:05Z&sinceSeconds=1",
        "[]",
        "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
      ],
    ]) {
      // The options are checked before anything is read.
      (await api.get(`${pods}/none/log?${query}`)).expectFailure(
        422,
        "Invalid",
        `PodLogOptions "none" is invalid: ${field}: ${message}`,
      );
    }
    (await api.get(`${pods}/none/log`)).expectFailure(404, "NotFound", 'pods "none" not found');
    for (const method of ["POST", "PUT", "DELETE", "HEAD"]) (await api.send(method, `${pods}/p/log`)).expect(405);
  },
);

inBothDomains(
  "a log comes over WebSocket in the protocol that the client prefers",
  async ({ api, cluster, ns, pods }) => {
    await makePod(api, ns, "p", {});
    const text = `/containerLogs/${ns}/p/c\n\nlast\n`;
    const read = async (protocols: string): Promise<WebSocketClient> => {
      const client = await WebSocketClient.open(api, `${pods}/p/log`, protocols);
      await client.closed();
      return client;
    };
    const plain = await read("unknown, binary.k8s.io, base64.binary.k8s.io");
    assert.match(plain.head, /^HTTP\/1\.1 101 [^]*\r\nSec-WebSocket-Protocol: binary\.k8s\.io$/i);
    assert.equal(plain.messages.join(""), text);
    const encoded = await read("base64.binary.k8s.io, binary.k8s.io");
    assert.match(encoded.head, /\r\nSec-WebSocket-Protocol: base64\.binary\.k8s\.io$/i);
    assert.equal(
      encoded.messages.map((message) => Buffer.from(message.toString(), "base64").toString()).join(""),
      text,
    );
    const before = cluster.kubelet.received.length;
    for (const [lines, code] of [
      [["Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: v4.channel.k8s.io"], 403],
      [["Sec-WebSocket-Version: 8"], 400],
    ] as const) {
      const raw = await connectRaw(api.endpoint, api.server.ca);
      const head = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="];
      raw.write(upgrade("GET", `${pods}/p/log`, [...head, ...lines]));
      assert.match(await raw.closed(), new RegExp(`^HTTP/1.1 ${code} `));
    }
    assert.equal(cluster.kubelet.received.length, before);
  },
);

inBothDomains("without a node, or a kubelet that answers, the error says so", async ({ api, cluster, ns, pods }) => {
  await makePod(api, ns, "waiting", { nodeName: "" });
  await makePod(api, ns, "lost", { nodeName: "nowhere" });
  (await api.post("/api/v1/nodes", { metadata: { name: api.unique("bare") } })).expect(201);
  const bare = api.unique("bare");
  const down = api.unique("down");
  (await api.post("/api/v1/nodes", { metadata: { name: bare } })).expect(201);
  await makeNode(api, down, "127.0.0.1", 1);
  await makePod(api, ns, "bare", { nodeName: bare });
  await makePod(api, ns, "down", { nodeName: down });
  const several = { containers: ["d", "e"].map((name) => ({ name, image: "i" })) };
  await makePod(api, ns, "several", several);
  (await api.get(`${pods}/waiting/log`)).expect(204);
  const noHost = "pod waiting does not have a host assigned";
  const noAddress = "no preferred addresses found; known addresses: []";
  const choice = "a container name must be specified for pod several, choose one of: [d e]";
  for (const part of ["exec?command=ls", "attach", "portforward"]) {
    for (const method of ["GET", "POST"]) {
      const ask = (pod: string) => api.send(method, `${pods}/${pod}/${part}`);
      (await ask("waiting")).expectFailure(400, "BadRequest", noHost);
      (await ask("lost")).expectFailure(404, "NotFound", 'pods "nowhere" not found');
      assert.equal((await ask("bare")).expect(500).string("message"), noAddress);
      (await ask("down")).expectFailure(400, "BadRequest", "Upgrade request required");
      if (part !== "portforward") (await ask("several")).expectFailure(400, "BadRequest", choice);
    }
  }
  const refusedBy = "dial tcp 127.0.0.1:1: connect: connection refused";
  assert.equal(
    (await api.get(`${pods}/down/log`)).expect(500).string("message"),
    `Get "https://127.0.0.1:1/containerLogs/${ns}/down/c": ${refusedBy}`,
  );
  (await api.get(`${pods}/lost/log`)).expectFailure(404, "NotFound", 'pods "nowhere" not found');
  (await api.get(`${pods}/several/log`)).expectFailure(400, "BadRequest", choice);
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(upgrade("POST", `${pods}/down/exec?command=ls`, spdy));
  assert.match(await raw.closed(), new RegExp(`^HTTP/1.1 500 [^]*error dialing backend: ${refusedBy}`));
  // A WebSocket begins before the kubelet is asked, as upstream.
  const command = await WebSocketClient.open(api, `${pods}/down/exec?command=ls&stdout=1`, "v5.channel.k8s.io");
  await command.closed();
  const told = command.on(3).toString();
  assert.match(told, /^\{"metadata":\{\},"status":"Failure","message":"[^&]*\?command=ls\\u0026output=1/);
  const status = JSON.parse(told) as Record<string, unknown>;
  assert.equal(status["reason"], "InternalError");
  assert.match(String(status["message"]), /^Internal error occurred: error sending request: Post "https:.*refused$/);
  const handshake = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Protocol: v5.channel.k8s.io"];
  const version = "Sec-WebSocket-Version: 13";
  for (const [lines, problem] of [
    [[], /^HTTP\/1.1 400 [^]*\r\nSec-WebSocket-Version: 13\r\n[^]*"missing or bad WebSocket Version"/],
    [[version], /^HTTP\/1.1 400 (?![^]*Sec-WebSocket-Version)[^]*"mismatch challenge\/response"/],
  ] as const) {
    const refused = await connectRaw(api.endpoint, api.server.ca);
    refused.write(upgrade("GET", `${pods}/down/exec?command=ls&stdout=1`, [...handshake, ...lines]));
    assert.match(await refused.closed(), problem);
  }
  assert.equal(cluster.kubelet.sessions, 0);
});

inBothDomains("a followed log comes as it is written, and ends with its client", async ({ api, cluster, ns, pods }) => {
  await makePod(api, ns, "p", {});
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(upgrade("GET", `${pods}/p/log?follow=true`, []));
  await raw.until("line 3\n");
  let isOver = false;
  cluster.kubelet.onceLogEnds(() => (isOver = true));
  raw.socket.destroy();
  await eventually(async () => assert.ok(isOver));
});

inBothDomains(
  "upgraded connections are spliced to the kubelet, without the client's credentials",
  async ({ api, cluster, ns, pods }) => {
    await makePod(api, ns, "p", {});
    const { kubelet } = cluster;
    const raw = await connectRaw(api.endpoint, api.server.ca);
    const secrets = ["Cookie: session=secret", "X-Remote-User: eve", "X-Remote-Extra-Scopes: all"];
    const options = "command=cat&command=a%20b&stdin=1&stdout=true&stderr=0&tty=&container=c";
    raw.write(upgrade("POST", `${pods}/p/exec?${options}`, [...spdy, ...secrets]));
    assert.match(await raw.until("v4.channel.k8s.io"), /^HTTP\/1\.1 101 [^]*\r\nUpgrade: SPDY\/3\.1\r\n/);
    const asked = kubelet.received.at(-1)!;
    assert.equal(asked.method, "POST");
    assert.equal(asked.url, `/exec/${ns}/p/c?command=cat&command=a+b&input=1&output=1&tty=1`);
    for (const name of ["authorization", "cookie", "x-remote-user", "x-remote-extra-scopes"]) {
      assert.equal(asked.headers[name], undefined, name);
    }
    await eventually(async () => assert.equal(kubelet.sessions, 1));
    raw.socket.destroy();
    await eventually(async () => assert.equal(kubelet.sessions, 0));

    // A kubelet speaks the older protocols of WebSockets itself.
    const token = `${api.name("base64url.bearer.authorization.k8s.io")}.${Buffer.from("admin-token").toString("base64url")}`;
    const channels = await WebSocketClient.open(
      api,
      `${pods}/p/exec?command=cat&stdin=1&stdout=1`,
      `v4.channel.k8s.io, ${token}`,
    );
    assert.match(channels.head, /^HTTP\/1\.1 101 [^]*\r\nSec-WebSocket-Protocol: v4\.channel\.k8s\.io/);
    assert.equal(kubelet.received.at(-1)!.headers["sec-websocket-protocol"], "v4.channel.k8s.io");
    channels.send(0, "hello");
    await channels.until(() => channels.on(1).toString() === "hello");
    channels.socket.destroy();
  },
);

inBothDomains(
  "a kubelet that refuses to change the protocol is passed on, and the connection ends",
  async ({ api, ns, pods }) => {
    await makePod(api, ns, "p", {});
    const raw = await connectRaw(api.endpoint, api.server.ca);
    const unknown = spdy.map((line) => line.replace("v4.channel.k8s.io", "v9.channel"));
    raw.write(upgrade("POST", `${pods}/p/exec?command=ls`, unknown));
    raw.write(upgrade("GET", "/api/v1/secrets", []));
    const answer = await raw.closed();
    assert.match(answer, /^HTTP\/1\.1 403 /);
    assert.equal(answer.split("HTTP/1.1").length, 2, answer);
  },
);

inBothDomains(
  "a WebSocket with a channel for each stream is translated to SPDY",
  async ({ api, cluster, ns, pods }) => {
    await makePod(api, ns, "p", {});
    const run = async (words: readonly string[], more = "stdin=1&stdout=1&stderr=1") => {
      const query = words.map((word) => `command=${encodeURIComponent(word)}`).join("&");
      return WebSocketClient.open(api, `${pods}/p/exec?${query}&${more}`, "v4.channel.k8s.io, v5.channel.k8s.io");
    };
    const status = (client: WebSocketClient) => JSON.parse(client.on(3).toString()) as Record<string, unknown>;

    const failing = await run(["sh", "-c", "echo out; echo err >&2; exit 3"]);
    assert.match(failing.head, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=\r\n/);
    assert.match(failing.head, /\r\nSec-WebSocket-Protocol: v5\.channel\.k8s\.io/);
    await failing.closed();
    assert.deepEqual([failing.on(1).toString(), failing.on(2).toString()], ["out\n", "err\n"]);
    assert.deepEqual(status(failing)["details"], { causes: [{ reason: "ExitCode", message: "3" }] });
    const asked = cluster.kubelet.received.at(-1)!;
    assert.equal(asked.method, "POST");
    assert.equal(asked.headers["x-stream-protocol-version"], "v4.channel.k8s.io");
    assert.equal(asked.headers["authorization"], undefined);

    // Messages may come in fragments, with control frames between them, and byte by byte.
    const cat = await run(["cat"]);
    const bytes = Buffer.concat([
      clientFrame(2, Buffer.from([0, 0x61]), false),
      clientFrame(9, Buffer.from("are you there")),
      clientFrame(0, Buffer.from("b"), false),
      clientFrame(0, Buffer.alloc(0), true),
      clientFrame(2, Buffer.concat([Buffer.from([0]), Buffer.alloc(200_000, "x")])),
      // A message on a channel that does not go to the kubelet changes nothing, and neither does an unknown one.
      clientFrame(2, Buffer.from([1, 0x7a])),
      clientFrame(2, Buffer.from([9, 0x7a])),
      // The first frame of a message may be empty, so that its channel comes in the next one.
      clientFrame(2, Buffer.alloc(0), false),
      clientFrame(0, Buffer.from([0, 0x63])),
      clientFrame(2, Buffer.from([255, 0])),
    ]);
    for (const byte of bytes.subarray(0, 60)) cat.socket.write(Buffer.from([byte]));
    cat.socket.write(bytes.subarray(60));
    await cat.closed();
    assert.equal(cat.on(1).toString(), `ab${"x".repeat(200_000)}c`);
    assert.equal(status(cat)["status"], "Success");

    const large = await run(["head", "-c", "3000000", "/dev/zero"]);
    await large.closed();
    assert.equal(large.on(1).length, 3_000_000);

    const terminal = await run(["cat"], "stdin=1&stdout=1&stderr=1&tty=1");
    terminal.send(4, '{"Width":80,"Height":24}');
    await eventually(async () => assert.ok(cluster.kubelet.sizes.includes('{"Width":80,"Height":24}')));
    terminal.send(0, "typed");
    await terminal.until(() => terminal.on(1).toString() === "typed");
    terminal.socket.destroy();

    const unknown = await run(["no-such-program"]);
    await unknown.closed();
    assert.equal(status(unknown)["message"], "Internal error occurred: spawn no-such-program ENOENT");
    await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
  },
);

inBothDomains("clients that break the protocol lose their own connection only", async ({ api, cluster, ns, pods }) => {
  await makePod(api, ns, "p", {});
  const open = () => WebSocketClient.open(api, `${pods}/p/exec?command=cat&stdin=1&stdout=1`, "v5.channel.k8s.io");
  const unmasked = Buffer.from([0x82, 2, 0, 0x61]);
  const reserved = clientFrame(0x42, Buffer.from([0, 1]));
  const continuation = clientFrame(0, Buffer.from([0, 1]));
  const longControl = clientFrame(9, Buffer.alloc(126));
  for (const frame of [unmasked, reserved, continuation, longControl, clientFrame(8, Buffer.from([3, 232]))]) {
    const client = await open();
    client.socket.write(frame);
    await client.closed();
  }
  await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
  // A client that sends pings and reads no answers costs a bounded number of them.
  const flooding = await open();
  flooding.socket.pause();
  for (let count = 0; count < 1000; count++) flooding.socket.write(clientFrame(9, Buffer.alloc(125)));
  flooding.socket.destroy();
  await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
});

inBothDomains("ports are forwarded over SPDY and over WebSocket", async ({ api, cluster, ns, pods }, t) => {
  await makePod(api, ns, "p", {});
  const echo = createPlainServer((socket) => void socket.pipe(socket));
  echo.listen(0, "127.0.0.1");
  await new Promise((resolve) => echo.once("listening", resolve));
  t.after(() => echo.close());
  const { port } = echo.address() as { port: number };
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(
    upgrade(
      "POST",
      `${pods}/p/portforward?ports=80,81&ports=82`,
      spdy.toSpliced(2, 1, "X-Stream-Protocol-Version: portforward.k8s.io"),
    ),
  );
  await raw.until("portforward.k8s.io\r\n");
  assert.equal(cluster.kubelet.received.at(-1)!.url, `/portForward/${ns}/p?port=80%2C81%2C82`);
  raw.socket.destroy();

  const tunnel = await WebSocketClient.open(api, `${pods}/p/portforward`, "SPDY/3.1+portforward.k8s.io");
  assert.match(tunnel.head, /\r\nSec-WebSocket-Protocol: SPDY\/3\.1\+portforward\.k8s\.io/);
  const asked = cluster.kubelet.received.at(-1)!;
  assert.deepEqual(
    [asked.method, asked.headers["upgrade"], asked.headers["x-stream-protocol-version"]],
    ["POST", "SPDY/3.1", "portforward.k8s.io"],
  );
  // The bytes in the messages are those of SPDY: the answer to a PING is the same PING.
  const ping = Buffer.from([0x80, 3, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1]);
  tunnel.socket.write(clientFrame(2, ping.subarray(0, 5)));
  tunnel.socket.write(clientFrame(2, ping.subarray(5)));
  await tunnel.until(() => Buffer.concat(tunnel.messages).equals(ping));
  tunnel.socket.destroy();

  const channels = await WebSocketClient.open(api, `${pods}/p/portforward?ports=${port}`, "v4.channel.k8s.io");
  channels.send(0, "hello");
  await channels.until(() => channels.on(0).includes("hello"));
  channels.socket.destroy();
  for (const [ports, message] of [
    ["a", 'cannot convert to []int32: strconv.ParseUint: parsing "a": invalid syntax'],
    ["-1", 'cannot convert to []int32: strconv.ParseUint: parsing "-1": invalid syntax'],
    ["70000", 'cannot convert to []int32: strconv.ParseUint: parsing "70000": value out of range'],
  ]) {
    (await api.get(`${pods}/p/portforward?ports=${ports}`)).expectFailure(400, "BadRequest", message);
  }
});

inBothDomains(
  "each connection takes its own verb: get and create are different rights [RBAC-10]",
  async ({ api, ns, pods }) => {
    await makePod(api, ns, "p", {}, podAddress);
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}`;
    const rule = (verbs: string[], resources: string[]) => ({ apiGroups: [""], resources, verbs });
    const rules = [rule(["get"], ["pods", "pods/exec", "pods/log"]), rule(["create"], ["pods/attach"])];
    (await api.post(`${roles}/roles`, { metadata: { name: "r" }, rules })).expect(201);
    const roleRef = { apiGroup: api.name("rbac.authorization.k8s.io"), kind: "Role", name: "r" };
    const subjects = [{ apiGroup: api.name("rbac.authorization.k8s.io"), kind: "User", name: "alice" }];
    (await api.post(`${roles}/rolebindings`, { metadata: { name: "b" }, roleRef, subjects })).expect(201);
    const code = async (method: string, part: string): Promise<number> =>
      (await api.send(method, `${pods}/p/${part}`, undefined, { as: "alice" })).status;
    await eventually(async () => assert.equal(await code("GET", "log"), 200));
    assert.deepEqual(
      [
        await code("GET", "exec"),
        await code("POST", "exec"),
        await code("GET", "attach"),
        await code("POST", "attach"),
      ],
      [400, 403, 403, 400],
    );
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) assert.equal(await code(method, "proxy/"), 403);
  },
);

inBothDomains("discovery lists the connections with their kinds and verbs", async ({ api }) => {
  const listed = (await api.get("/api/v1")).expect(200).list("resources");
  const row = (name: string): string => {
    const found = listed.find((one) => one.string("name") === name)!;
    return `${found.string("kind")} ${(found.at("verbs") as string[]).join()}`;
  };
  assert.equal(row("pods/log"), "Pod get");
  assert.equal(row("pods/exec"), "PodExecOptions create,get");
  assert.equal(row("pods/attach"), "PodAttachOptions create,get");
  assert.equal(row("pods/portforward"), "PodPortForwardOptions create,get");
  for (const [name, kind] of [
    ["pods", "PodProxyOptions"],
    ["services", "ServiceProxyOptions"],
    ["nodes", "NodeProxyOptions"],
  ]) {
    assert.equal(row(`${name}/proxy`), `${kind} create,delete,get,patch,update`);
  }
});
