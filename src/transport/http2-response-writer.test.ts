/** Streams of HTTP/2 that their client reads slowly. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServerStream, type StreamSession } from "#http2/server-stream.ts";
import { Http2ResponseWriter } from "./http2-response-writer.ts";

const ignore = (): void => undefined;

/** A session that sends nothing by itself. */
const session: StreamSession = {
  sendHeaders: ignore,
  sendBody: ignore,
  sendReset: ignore,
  bodyWanted: ignore,
  consumed: ignore,
  dropped: ignore,
  forget: ignore,
};

/** Takes bytes as a session does that sends them. */
function send(stream: ServerStream, count: number): void {
  stream.take(Buffer.alloc(count), 0, count);
  if (stream.waitingBytes === 0) stream.drained();
}

test("a slow stream says once that all bytes are on their way, also when more came meanwhile", () => {
  const stream = new ServerStream(1, { headers: {}, fields: [], hasBody: false }, session, { send: 0, receive: 0 });
  const sink = new Http2ResponseWriter(stream, () => "").sink();
  let drains = 0;
  sink.onDrain = () => drains++;
  assert.equal(sink.write(Buffer.alloc(10_000)), true);
  send(stream, 10_000);
  assert.equal(drains, 0);
  assert.equal(sink.write(Buffer.alloc(30_000)), false);
  send(stream, 20_000);
  assert.equal(sink.blocked, false);
  assert.equal(sink.write(Buffer.alloc(100)), true);
  send(stream, 10_100);
  assert.equal(drains, 1);
  sink.write(Buffer.alloc(100));
  send(stream, 100);
  assert.equal(drains, 1);
});
