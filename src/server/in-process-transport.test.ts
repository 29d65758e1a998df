/** Only the server itself can mark requests as its own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiRequest, StreamSink } from "#http/api-request.ts";
import { inProcessTransport, ownRequests } from "./in-process-transport.ts";

void test("requests of the process itself are known by the way they came, and carry nothing that could be copied", async () => {
  let seen: ApiRequest | undefined;
  const user = { name: "one of ours", groups: ["ours"] };
  const transport = inProcessTransport({
    handle(request) {
      seen = request;
      return { code: 200 };
    },
    user,
    userAgent: "controllers",
    leaseKey: () => "",
    now: () => 0,
  });
  await transport.request({ method: "GET", path: "/api/v1/nodes" });
  assert.ok(seen !== undefined);
  assert.deepEqual(ownRequests.authenticate(seen), { outcome: "user", user });
  assert.deepEqual(Object.keys(seen.headers).sort(), ["accept", "user-agent"]);
  const { headers, path, remoteAddress, clientCertificate } = seen;
  const copy = { headers, path, remoteAddress, clientCertificate, headerValues: () => [] };
  const outside = { ...copy, clientCertificateProblem: "", warnings: [] };
  assert.deepEqual(ownRequests.authenticate(outside), { outcome: "none" });
});

void test("a listener that throws ends its stream with that error, and nothing else", async () => {
  const closed: string[] = [];
  const transport = inProcessTransport({
    handle: () => ({
      code: 200,
      stream: {
        open(sink: StreamSink) {
          setImmediate(() => {
            assert.equal(sink.write(Buffer.from('{"n":1}\n{"n":2}\n{"n":3}\n')), true);
            closed.push("written");
          });
          sink.onClose = () => closed.push("closed");
        },
      },
      done: () => void closed.push("done"),
    }),
    user: { name: "u", groups: [] },
    userAgent: "controllers",
    leaseKey: () => "",
    now: () => 0,
  });
  const lines: string[] = [];
  const stream = transport.stream({ method: "GET", path: "/api/v1/nodes?watch=true" }, (event) => {
    lines.push(event.json().toString());
    if (lines.length === 2) throw new Error("cannot take it");
  });
  await assert.rejects(stream, /cannot take it/);
  assert.deepEqual(lines, ['{"n":1}', '{"n":2}']);
  assert.deepEqual(closed, ["closed", "written", "done"]);
});

void test("an answer that is made piece by piece is read to its end", async () => {
  let done = 0;
  const transport = inProcessTransport({
    handle: () => ({
      code: 200,
      chunks: {
        length: 0,
        async *[Symbol.asyncIterator]() {
          for (const text of ['{"a":', "1}"]) yield await Promise.resolve(Buffer.from(text));
        },
      },
      done: () => void done++,
    }),
    user: { name: "u", groups: [] },
    userAgent: "controllers",
    leaseKey: () => "",
    now: () => 0,
  });
  const { body } = await transport.request({ method: "GET", path: "/api/v1/events" });
  assert.equal(body.toString(), '{"a":1}');
  assert.equal(done, 1);
});

void test("a long answer of another server is not collected, one of this server is", async () => {
  const piece = Buffer.alloc(1024 * 1024, " ");
  const read = async (isForwarded: boolean): Promise<[number, number]> => {
    let pieces = 0;
    const transport = inProcessTransport({
      handle: () => ({
        code: 200,
        isForwarded,
        chunks: {
          length: 0,
          async *[Symbol.asyncIterator]() {
            for (; pieces < 64; pieces++) yield await Promise.resolve(piece);
          },
        },
      }),
      user: { name: "u", groups: [] },
      userAgent: "controllers",
      leaseKey: () => "",
      now: () => 0,
    });
    const length = await transport.request({ method: "GET", path: "/apis/example.com/v1/things" }).then(
      ({ body }) => body.length,
      () => 0,
    );
    return [length, pieces];
  };
  assert.deepEqual(await read(false), [64 * piece.length, 64]);
  assert.deepEqual(await read(true), [0, 16]);
});
