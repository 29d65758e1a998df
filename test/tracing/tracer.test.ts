/** The tracer alone, with a collector: what is sampled, what happens to spans that cannot be sent, and its end. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { loadOpenTelemetry, type OpenTracer, openTracer } from "#tracing/open-telemetry.ts";
import { Collector } from "./collector.ts";

interface Opened {
  readonly tracer: OpenTracer;
  readonly collector: Collector;
  readonly clock: FakeClock;
  readonly warnings: { readonly fields: Readonly<Record<string, unknown>>; readonly message: string | undefined }[];
}

async function open(t: TestContext, samplingRatePerMillion = 1_000_000): Promise<Opened> {
  const collector = await Collector.open();
  t.after(() => collector.close());
  const clock = new FakeClock();
  const warnings: Opened["warnings"] = [];
  const tracer = openTracer(await loadOpenTelemetry(), {
    endpoint: collector.endpoint,
    samplingRatePerMillion,
    clock,
    random: seededRandom(1),
    log: { warn: (fields, message) => void warnings.push({ fields: fields as Record<string, unknown>, message }) },
    resource: { "service.name": "apiserver" },
  });
  return { tracer, collector, clock, warnings };
}

test("about as many traces are recorded as the rate says, each of them whole", async (t) => {
  const { tracer, collector } = await open(t, 100_000);
  let recorded = 0;
  for (let i = 0; i < 2000; i++) {
    const root = tracer.startTrace("root", undefined);
    const child = root.start("child");
    assert.equal(child.isRecorded, root.isRecorded);
    if (root.isRecorded) recorded++;
    assert.equal(root.traceparent.endsWith("-01"), root.isRecorded);
    child.end();
    root.end();
  }
  await tracer.close();
  assert.ok(recorded > 120 && recorded < 280, String(recorded));
  const children = new Map(collector.named("child").map((span) => [span.parentId, span]));
  assert.equal(children.size, recorded);
  for (const root of collector.named("root")) assert.equal(children.get(root.spanId)!.traceId, root.traceId);
});

test("spans have the times of the server's clock, and end once", async (t) => {
  const { tracer, collector, clock } = await open(t);
  const root = tracer.startTrace("GET", undefined);
  clock.advance(1500);
  root.rename("GET /api");
  root.set({ "http.status_code": 200 });
  const call = root.start("call", { webhook: "w" }, "client");
  clock.advance(250);
  call.fail();
  call.end();
  root.end();
  clock.advance(1000);
  root.end();
  await tracer.close();
  const [first, second] = [collector.named("GET /api")[0]!, collector.named("call")[0]!];
  assert.equal(collector.spans.length, 2);
  assert.equal(first.startNs, BigInt(Date.UTC(2026, 0, 1)) * 1_000_000n);
  assert.equal(first.endNs - first.startNs, 1_750_000_000n);
  assert.equal(second.endNs - second.startNs, 250_000_000n);
  assert.equal(second.status, 2);
  assert.equal(first.status, 0);
});

test("long values are cut, and there are not too many", async (t) => {
  const { tracer, collector } = await open(t);
  const root = tracer.startTrace("GET", undefined);
  root.set({ long: "x".repeat(100_000) });
  root.set(Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`k${i}`, i])));
  root.end();
  await tracer.close();
  const [{ attributes }] = collector.spans as [(typeof collector.spans)[0]];
  assert.equal(String(attributes["long"]).length, 512);
  assert.equal(Object.keys(attributes).length, 16);
});

test("an export of the largest spans is not longer than collectors take", async (t) => {
  const { tracer, collector, warnings } = await open(t);
  const long = "€".repeat(20_000);
  const key = (i: number): string => `an.attribute.with.a.long.name.${String(i).padStart(2, "0")}`;
  const attributes = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [key(i), long]));
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (let i = 0; i < 256; i++) {
    const root = tracer.startTrace(long, traceparent);
    const call = root.start(long, attributes, "client");
    call.fail();
    call.end();
    root.rename(long);
    root.set(attributes);
    root.fail();
    root.end();
  }
  await tracer.close();
  assert.deepEqual(warnings, []);
  assert.equal(collector.spans.length, 512);
  assert.ok(collector.longestBytes > 2_000_000, String(collector.longestBytes));
  // The sum in `tracing/span-bounds.ts`, with the resource.
  assert.ok(collector.longestBytes < 2_460_000, String(collector.longestBytes));
  for (const { name, attributes: received } of collector.spans) {
    assert.equal(Buffer.byteLength(name), 510);
    assert.ok(Object.values(received).every((value) => Buffer.byteLength(String(value)) === 510));
  }
});

test("spans that a slow collector does not take are dropped, and the log says how many", async (t) => {
  const { tracer, collector, clock, warnings } = await open(t);
  collector.fault = "hangs";
  const make = (count: number): void => {
    for (let i = 0; i < count; i++) tracer.startTrace("GET", undefined).end();
  };
  make(10_000);
  // One batch is on its way, and as many spans wait as may.
  assert.deepEqual(
    warnings.map(({ message, fields }) => [message, fields["reason"]]),
    [["spans of traces could not be sent", "the collector is too slow"]],
  );
  clock.advance(10_001);
  make(1);
  assert.equal(warnings.length, 2);
  make(3);
  const lost = (): number => warnings.reduce((sum, { fields }) => sum + Number(fields["spans"] ?? 0), 0);
  assert.equal(lost(), 10_001 - 8192 - 256);
  const closing = tracer.close();
  clock.advance(5000);
  await closing;
  assert.equal(lost(), 10_004 - 8192 - 256, "the end tells of the rest");
  assert.match(String(warnings.at(-1)!.message), /in time/);
});

test("an export that fails is told with its reason, and later spans are sent", async (t) => {
  const { tracer, collector, warnings } = await open(t);
  collector.fault = "fails";
  for (let i = 0; i < 256; i++) tracer.startTrace("lost", undefined).end();
  await collector.exported();
  collector.fault = "none";
  tracer.startTrace("sent", undefined).end();
  await tracer.close();
  assert.deepEqual(
    collector.spans.map(({ name }) => name),
    ["sent"],
  );
  assert.equal(warnings.length, 1);
  assert.equal(warnings[0]!.fields["spans"], 256);
  assert.match(String(warnings[0]!.fields["reason"]), /not today/);
});
