/** Webhooks that do not answer in time: the step that took too long, and whose limit it was, in the words of Go's client. */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { WebhookClients } from "#egress/webhook-client.ts";
import { FakeClock } from "#std/fake-clock.ts";

const authority = await fakeAuthority("hooks");
const pair = await authority.issue({ usage: "server" });
const caBundle = Buffer.from(authority.certificate).toString("base64");

/** Calls a webhook on the server, lets time pass once `isLate` resolves, and returns the message. */
async function message(
  t: TestContext,
  { server, isLate, isClientLimit }: { server: Server; isLate: Promise<unknown>; isClientLimit: boolean },
): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  const clock = new FakeClock();
  const clients = new WebhookClients({
    clock,
    credentials: () => undefined,
    serviceAddress: () => assert.fail("no service is named"),
  });
  t.after(() => clients.close());
  const call = { body: Buffer.from("{}"), timeoutMs: 30_000, answerBytesMax: 1000, signal: undefined, isClientLimit };
  const called = clients.post({ url: `https://127.0.0.1:${port}`, caBundle }, call);
  const failure = called.then(
    () => assert.fail("there was an answer"),
    (error: unknown) => error,
  );
  await isLate;
  clock.advance(30_000);
  const error = await failure;
  assert.ok(error instanceof Error);
  return error.message.replace(`127.0.0.1:${port}`, "hook");
}

const secure = { cert: pair.certificate, key: pair.key };

test("a webhook that does not answer exceeds the limit of the request, or that of the client", async (t) => {
  for (const [isClientLimit, limit] of [
    [false, ""],
    [true, " (Client.Timeout exceeded while awaiting headers)"],
  ] as const) {
    const server = createServer(secure);
    const said = await message(t, { server, isLate: once(server, "request"), isClientLimit });
    assert.equal(said, `Post "https://hook/?timeout=30s": context deadline exceeded${limit}`);
  }
});

test("a webhook whose answer does not end is late while its body is read", async (t) => {
  for (const [isClientLimit, limit] of [
    [false, ""],
    [true, " (Client.Timeout or context cancellation while reading body)"],
  ] as const) {
    const server = createServer(secure, (_request, response) => void response.writeHead(200).write("{"));
    const hasHead = Promise.withResolvers<void>();
    // The head is known to the client in the same turn.
    const arrived = (): void => void setImmediate(hasHead.resolve);
    subscribe("http.client.response.finish", arrived);
    const said = await message(t, { server, isLate: hasHead.promise, isClientLimit });
    unsubscribe("http.client.response.finish", arrived);
    const reading = "unexpected error when reading response body. Please retry. Original error:";
    assert.equal(said, `${reading} context deadline exceeded${limit}`);
  }
});

test("a webhook that does not end its handshake within ten seconds is given up", async (t) => {
  const greeted = Promise.withResolvers<void>();
  const server = createPlainServer((socket) =>
    socket.on("error", () => undefined).once("data", () => greeted.resolve()),
  );
  const said = await message(t, { server, isLate: greeted.promise, isClientLimit: true });
  assert.equal(said, 'Post "https://hook/?timeout=30s": net/http: TLS handshake timeout');
});
