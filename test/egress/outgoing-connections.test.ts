/** Idle connections to other servers are closed, and errors on them do no harm. */
import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { type Forwarder, openForwarder } from "#egress/forwarding.ts";
import { WebhookClients } from "#egress/webhook-client.ts";
import { systemClock } from "#std/clock.ts";
import { eventually } from "../harness.ts";

const authority = await fakeAuthority("others");
const { certificate: cert, key } = await authority.issue({ commonName: "other", usage: "server" });
const open = new Set<Duplex>();
// The clients decide how long connections stay.
const server = https.createServer({ cert, key, keepAliveTimeout: 0 }, (_request, response) => void response.end("{}"));
server.on("secureConnection", (socket) => {
  open.add(socket);
  socket.on("error", () => undefined).once("close", () => open.delete(socket));
});
server.on("upgrade", (_request, socket) => {
  socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
});
server.listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo; // a TCP server's
after(() => {
  server.close();
  for (const socket of open) socket.destroy();
});

test("of webhooks that trust different authorities, the connections of those used longest ago are closed", async () => {
  const clients = new WebhookClients({
    clock: systemClock,
    serviceAddress: () => assert.fail("no service is named"),
    credentials: () => undefined,
  });
  const call = { body: Buffer.from("{}"), timeoutMs: 10_000, answerBytesMax: 100, signal: undefined };
  for (let i = 0; i < 70; i++) {
    const caBundle = Buffer.from(authority.certificate + "\n".repeat(i)).toString("base64");
    await clients.post({ url: `https://127.0.0.1:${port}/`, caBundle }, call);
  }
  await eventually(() => Promise.resolve(assert.equal(open.size, 64)));
  clients.close();
  await eventually(() => Promise.resolve(assert.equal(open.size, 0)));
});

async function withForwarder(run: (forwarder: Forwarder) => Promise<void>): Promise<void> {
  const ca = authority.certificate;
  const forwarder = openForwarder({
    clock: systemClock,
    ca,
    insecure: false,
    serverName: "localhost",
    cert,
    key,
  });
  try {
    await run(forwarder);
  } finally {
    forwarder.close();
  }
}

const upgrade = (signal: AbortSignal) =>
  [{ host: "127.0.0.1", port }, "x", { method: "GET", path: "/", headers: [], headMs: 10_000, signal }] as const;

test("an upgraded connection that breaks before its use does no harm", async () => {
  await withForwarder(async (forwarder) => {
    const answer = await forwarder.upgrade(...upgrade(new AbortController().signal));
    assert.ok(answer.kind === "upgraded");
    // The function `once` would listen for errors too.
    const closed = new Promise<void>((resolve) => answer.connection.once("close", () => resolve()));
    answer.connection.destroy(new Error("broken"));
    await closed;
  });
});

test("an upgraded connection ends with the client that asked for it", async () => {
  await withForwarder(async (forwarder) => {
    const leaving = new AbortController();
    const answer = await forwarder.upgrade(...upgrade(leaving.signal));
    assert.ok(answer.kind === "upgraded");
    const closed = once(answer.connection, "close");
    leaving.abort();
    await closed;
  });
});
