/** Long buffers of answers: few of them are in use, and each comes back, also from a connection that ends meanwhile. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { frameBytesMax } from "./frames.ts";
import { OutBuffers } from "./out-buffers.ts";

/** Takes buffers until one is shorter than the first. */
function takeLong(buffers: OutBuffers): Buffer[] {
  const taken: Buffer[] = [];
  for (;;) {
    const buffer = buffers.take(frameBytesMax);
    if (taken.length > 0 && buffer.length < taken[0]!.length) return taken;
    taken.push(buffer);
  }
}

test("a few long buffers are in use at once, and more answers get shorter ones", () => {
  const buffers = new OutBuffers();
  const taken = takeLong(buffers);
  assert.ok(taken.length > 1);
  const short = buffers.take(100);
  assert.ok(short.length < taken[0]!.length);
  assert.equal(buffers.longer(short, 10), undefined);
  short.write("0123456789");
  buffers.give(taken.pop()!);
  const longer = buffers.longer(short, 10)!;
  assert.ok(longer.length > short.length);
  assert.equal(longer.toString("latin1", 0, 10), "0123456789");
  assert.equal(buffers.longer(longer, 10), undefined);
});

test("the buffers of a connection that ends while they are on their way come back", async () => {
  const buffers = new OutBuffers();
  const all = takeLong(buffers);
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  const [socket] = (await once(server, "connection")) as [Socket];
  // The peer reads nothing, so that most of this waits.
  for (const buffer of all) buffers.write(socket, buffer, buffer.length);
  assert.ok(socket.writableLength > 0);
  socket.destroy();
  await once(socket, "close");
  assert.equal(takeLong(buffers).length, all.length);
  client.destroy();
  server.close();
});
