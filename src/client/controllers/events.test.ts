/** Events about objects: series of equal ones, their rate, and what becomes of them at the end. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { controller, type ReconcileContext } from "../controllers.ts";
import { Boat, Harbour, settle } from "./harbour-for-tests.ts";

const eventsPath = "/apis/events.k8s.io/v1/events";

interface Recording {
  readonly harbour: Harbour;
  readonly context: ReconcileContext<Boat>;
  readonly stop: () => Promise<unknown>;
}

/** Runs a controller that does nothing, and returns the context of its first reconcile. */
async function record(): Promise<Recording> {
  const harbour = new Harbour();
  harbour.boat("ketch");
  let context: ReconcileContext<Boat> | undefined;
  const boats = controller(Boat, { reconcile: (_boat, given) => void (context ??= given) });
  const { stop, ended } = await harbour.run([boats], { identity: "process-1" });
  const end = (): Promise<unknown> => {
    stop();
    return ended;
  };
  return { harbour, context: context!, stop: end };
}

const events = ({ api }: Harbour) => [...api.objects(eventsPath).values()];
const counts = (harbour: Harbour): unknown[] =>
  events(harbour).map((event) => (event["series"] as { count: number } | undefined)?.count ?? 1);

void test("an event says what happened to which object, and who reports it", async () => {
  const { harbour, context } = await record();
  context.event("Warning", "Leak", "Water comes in.", { action: "Pump" });
  await settle();
  const [event] = events(harbour);
  const { metadata, regarding, ...rest } = event!;
  assert.match(metadata.name!, /^ketch\.[0-9a-f]+$/);
  assert.equal(metadata.namespace, "shop");
  assert.deepEqual([(regarding as { kind: string }).kind, (regarding as { name: string }).name], ["Boat", "ketch"]);
  assert.deepEqual(rest, {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    type: "Warning",
    reason: "Leak",
    note: "Water comes in.",
    action: "Pump",
    reportingController: "boat",
    reportingInstance: "process-1",
    eventTime: "2026-01-01T00:00:00.000000Z",
  });
  await harbour.close();
});

void test("equal events become a series, of which few writes tell the count", async () => {
  const { harbour, context, stop } = await record();
  context.event("Normal", "Launched", "afloat");
  await settle();
  context.event("Normal", "Launched", "afloat");
  await harbour.advance(10);
  assert.deepEqual(counts(harbour), [2]);
  const before = harbour.api.writes.length;
  for (let second = 0; second < 299; second++) {
    context.event("Normal", "Launched", "afloat");
    await harbour.advance(1000, 1000);
  }
  assert.equal(harbour.api.writes.length, before);
  await harbour.advance(2000);
  assert.deepEqual(counts(harbour), [301]);
  context.event("Normal", "Launched", "afloat");
  await settle();
  await stop();
  assert.deepEqual(counts(harbour), [302], "the end writes what was not written");
  await harbour.close();
});

void test("after some minutes an equal event is a new one, and so is one that the server has forgotten", async () => {
  const { harbour, context } = await record();
  context.event("Normal", "Launched");
  await harbour.advance(7 * 60_000);
  context.event("Normal", "Launched");
  await settle();
  assert.deepEqual(counts(harbour), [1, 1]);
  for (const { metadata } of events(harbour)) harbour.api.store(eventsPath, `shop/${metadata.name}`, undefined);
  context.event("Normal", "Launched");
  await harbour.advance(10);
  assert.deepEqual(counts(harbour), [1]);
  await harbour.close();
});

void test("different events of one object are limited: 25 at once, then one in five minutes", async () => {
  const { harbour, context } = await record();
  for (let number = 0; number < 100; number++) context.event("Normal", "Counted", String(number));
  await settle();
  assert.equal(events(harbour).length, 25);
  await harbour.advance(15 * 60_000);
  for (let number = 0; number < 100; number++) context.event("Normal", "Counted", `again ${number}`);
  await settle();
  assert.equal(events(harbour).length, 28);
  await harbour.close();
});

void test("an event that cannot be written is reported, and stops nothing", async () => {
  const { harbour, context, stop } = await record();
  harbour.api.lose = ({ method }) => (method === "POST" ? "before" : undefined);
  context.event("Normal", "Launched");
  await settle();
  assert.equal(events(harbour).length, 0);
  harbour.api.lose = () => undefined;
  context.event("Normal", "Launched");
  await harbour.advance(10);
  assert.equal(events(harbour).length, 1, "the repetition is written in its place");
  assert.equal(await stop(), undefined);
  await harbour.close();
});
