/** Watches over WebSocket, as fabric8 and browsers open them, and refused upgrades. */
import assert from "node:assert/strict";
import { once } from "node:events";
import tls from "node:tls";
import { type Api, eventually, gated, suite, withOwnServer } from "../harness.ts";
import { configMap } from "../objects.ts";
import { connectRaw, type RawConnection } from "../raw.ts";

const inBothDomains = suite();

const admin = "Authorization: Bearer admin-token";
const handshake = [
  "Host: localhost",
  "Origin: https://localhost",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/** Makes Node trust the API's authority, since its WebSocket has no such option. */
function trust(ca: string): void {
  tls.setDefaultCACertificates(ca === "" ? tls.getCACertificates() : [...tls.getCACertificates(), ca]);
}

/** Creates a collection of config maps with one object. */
async function createConfigMaps(api: Api): Promise<string> {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("first", { k: "ä\n" }))).expect(201);
  return configMaps;
}

/** Opens a watch with Node's own client. Returns its messages and its end. */
function open(api: Api, path: string, protocols: readonly string[] = [], accept = "*/*") {
  trust(api.server.ca);
  const url = `${api.server.url.replace("https:", "wss:")}${api.name(path)}`;
  const headers = protocols.length === 0 ? { authorization: "Bearer admin-token", accept } : {};
  const socket = new WebSocket(url, { protocols: [...protocols], headers });
  socket.binaryType = "arraybuffer";
  const messages: unknown[] = [];
  const ended: string[] = [];
  socket.addEventListener("message", ({ data }) => messages.push(data));
  socket.addEventListener("close", ({ code, wasClean }) => ended.push(`${code} ${wasClean}`));
  return { socket, messages, ended };
}

const typesOf = (messages: readonly unknown[]): string[] =>
  messages.map((message) => {
    assert.equal(typeof message, "string");
    const { type, object } = JSON.parse(String(message)) as { type: string; object: { metadata: { name: string } } };
    return `${type} ${object.metadata.name}`;
  });

async function ask(
  api: Api,
  path: string,
  lines: readonly string[],
  method = "GET",
): Promise<{ raw: RawConnection; head: string }> {
  const raw = await connectRaw(api.endpoint, api.server.ca);
  raw.write(`${method} ${api.name(path)} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  return { raw, head: (await raw.until("\r\n\r\n")).split("\r\n\r\n")[0]! };
}

/** Returns a client's frame with a mask of zeros. */
const frame = (op: number, payload: string): Buffer =>
  Buffer.concat([Buffer.from([0x80 | op, 0x80 | payload.length, 0, 0, 0, 0]), Buffer.from(payload, "latin1")]);

inBothDomains("a watch over WebSocket is a text message for each event, and ends with its time", async (api) => {
  const maps = await createConfigMaps(api);
  const version = (await api.get(maps)).string("metadata.resourceVersion");
  const { messages, ended, socket } = open(api, `${maps}?watch=true&resourceVersion=${version}&timeoutSeconds=60`);
  await once(socket, "open");
  assert.equal(socket.protocol, "");
  await Promise.all(["a", "b", "c"].map(async (name) => (await api.post(maps, configMap(name))).expect(201)));
  (await api.patch(`${maps}/first`, { data: { k: "x".repeat(100_000) } })).expect(200);
  (await api.delete(`${maps}/a`)).expect(200);
  await eventually(async () => assert.equal(await Promise.resolve(messages.length), 5));
  const types = typesOf(messages);
  assert.deepEqual(types.slice(0, 3).sort(), ["ADDED a", "ADDED b", "ADDED c"]);
  assert.deepEqual(types.slice(3), ["MODIFIED first", "DELETED a"]);
  assert.deepEqual(ended, []);
  await api.pass(60_000);
  await eventually(async () => assert.deepEqual(await Promise.resolve(ended), ["1000 true"]));
});

inBothDomains("a message in protobuf is one event, without the length that it has in a stream", async (api) => {
  const maps = await createConfigMaps(api);
  const watch = `${maps}?watch=true&timeoutSeconds=5&fieldSelector=metadata.name=first`;
  const { messages, socket } = open(api, watch, [], "application/vnd.kubernetes.protobuf");
  await eventually(async () => assert.equal(await Promise.resolve(messages.length), 1));
  const bytes = Buffer.from(messages[0] as ArrayBuffer); // as the client was told to give bytes
  assert.equal(bytes.subarray(0, 8).toString("latin1"), "\n\x05ADDED\x12");
  socket.close();
});

inBothDomains("a browser sends its token as a subprotocol, beside another one that is chosen", async (api) => {
  const maps = await createConfigMaps(api);
  const watch = `${maps}?watch=true&timeoutSeconds=5`;
  const prefix = api.name("base64url.bearer.authorization.k8s.io.");
  const token = `${prefix}${Buffer.from("admin-token").toString("base64url")}`;
  const { messages, socket, ended } = open(api, watch, [token, "base64.binary.k8s.io"]);
  await once(socket, "open");
  assert.equal(socket.protocol, "base64.binary.k8s.io");
  await eventually(async () => assert.deepEqual(await Promise.resolve(typesOf(messages)), ["ADDED first"]));
  socket.close();
  await eventually(async () => assert.deepEqual(await Promise.resolve(ended.length), 1));

  const wrong = `${prefix}${Buffer.from("no-such-token").toString("base64url")}`;
  for (const protocols of [token, `${wrong}, foo`, `${token}, ${token}, foo`, `${prefix}!, foo`]) {
    const { raw, head } = await ask(api, watch, [...handshake, `Sec-WebSocket-Protocol: ${protocols}`]);
    assert.match(head, /^HTTP\/1\.1 401 /, protocols);
    raw.socket.destroy();
  }
});

inBothDomains("pings are answered, what a client says is dropped, and a close is closed", async (api) => {
  const maps = await createConfigMaps(api);
  const { raw, head } = await ask(api, `${maps}?watch=true`, [...handshake, admin]);
  assert.match(head, /^HTTP\/1\.1 101 /);
  assert.match(head, /\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\+xOo=/);
  await raw.until('"first"');
  raw.write(Buffer.concat([frame(1, "hello"), frame(9, "still there")]));
  await raw.until("\x8a\x0bstill there");
  raw.write(frame(8, "\x03\xe8"));
  assert.match(await raw.closed(), /\x88\x02\x03\xe8$/);

  const { raw: unmasked } = await ask(api, `${maps}?watch=true`, [...handshake, admin]);
  unmasked.write(Buffer.from([0x81, 1, 0x41]));
  assert.match(await unmasked.closed(), /\x88\x02\x03\xea$/);
});

inBothDomains("a request for a WebSocket may say that it has no body, as Java's client does", async (api) => {
  const maps = await createConfigMaps(api);
  const lines = [...handshake, admin];
  const { raw, head } = await ask(api, `${maps}?watch=true`, [lines[0]!, "Content-Length: 0", ...lines.slice(1)]);
  assert.match(head, /^HTTP\/1\.1 101 /);
  await raw.until("first");
  raw.write(frame(9, "still there"));
  await raw.until("\x8a\x0bstill there");
  raw.socket.destroy();
});

inBothDomains("a WebSocket is authenticated, authorized and checked like any watch", async (api) => {
  const maps = await createConfigMaps(api);
  for (const [path, lines, expected] of [
    [`${maps}?watch=true`, [], 403],
    [`${maps}?watch=true`, ["Authorization: Bearer no-such-token"], 401],
    [`${maps}?watch=true`, ["Authorization: Bearer bob-token"], 403],
    [`${maps}?watch=true&labelSelector=!!`, [admin], 400],
    [`${maps}?watch=true`, [admin, "Sec-WebSocket-Protocol: a, b"], 400],
    [`${maps}?watch=true`, [admin, "Content-Length: 2"], 400],
    ["/api/v1/nothings?watch=true", [admin], 404],
    ["/api/v1/namespaces/default/pods/x/exec?command=a", [admin], 404],
  ] as const) {
    const { raw, head } = await ask(api, path, [...handshake, ...lines]);
    assert.match(head, new RegExp(`^HTTP/1\\.1 ${expected} `), `${path} ${lines.join()}`);
    assert.doesNotMatch(head, /Sec-WebSocket-Version/i);
    raw.socket.destroy();
  }
  const { raw, head } = await ask(
    api,
    `${maps}?watch=true`,
    [...handshake, admin].map((line) => line.replace(": 13", ": 8")),
  );
  assert.match(head, /^HTTP\/1\.1 400 [^]*\r\nSec-WebSocket-Version: 13/);
  raw.socket.destroy();
});

inBothDomains(
  "other upgrades are refused, and nothing is done for them",
  async (api) => {
    const maps = await createConfigMaps(api);
    const other = (protocol: string): string[] => handshake.map((line) => line.replace("websocket", protocol));
    const body = api.name(JSON.stringify(configMap("second")));
    for (const [method, path, lines] of [
      ["GET", `${maps}/first`, handshake],
      ["GET", maps, handshake],
      ["GET", "/livez", handshake],
      ["GET", `${maps}?watch=true`, other("SPDY/3.1")],
      ["GET", `${maps}/first`, other("h2c")],
      ["DELETE", `${maps}/first`, handshake],
      ["POST", maps, [...handshake, "Content-Type: application/json", `Content-Length: ${body.length}`]],
    ] as const) {
      const { raw } = await ask(api, path, [...lines, admin, ...(method === "POST" ? ["", body] : [])], method);
      const received = await raw.until("}\n");
      assert.match(received, /^HTTP\/1\.1 400 [^]*"kind":"Status"[^]*only watches are served over WebSocket/);
      raw.socket.destroy();
    }
    (await api.get(maps)).has({ items: (items: unknown) => Array.isArray(items) && items.length === 1 });
  },
  { differs: "it answers them as if they were no upgrades" },
);

withOwnServer("a WebSocket that is not read delays no others, and goes on when it is read", gated, async (api) => {
  const maps = await createConfigMaps(api);
  const good = open(api, `${maps}?watch=true`);
  await once(good.socket, "open");
  const { raw } = await ask(api, `${maps}?watch=true`, [...handshake, admin]);
  await raw.until('"first"');
  raw.socket.pause();
  const rounds = 100;
  for (let i = 1; i <= rounds; i++) {
    (await api.patch(`${maps}/first`, { data: { k: `${i} ${"x".repeat(200_000)}` } })).expect(200);
  }
  await eventually(async () => assert.equal(await Promise.resolve(good.messages.length), rounds + 1));
  // These are more bytes than the kernel and the server would buffer: the rest was waiting in the history.
  let types = 0;
  raw.socket.on("data", (piece: Buffer) => {
    types += piece.toString("latin1").split('"type":"MODIFIED"').length - 1;
  });
  raw.socket.resume();
  await eventually(async () => assert.ok((await Promise.resolve(types)) > rounds * 0.9, `${types} of ${rounds}`));
  good.socket.close();
  raw.socket.destroy();
});
