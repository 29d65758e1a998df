/** Events that are recorded at the same time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "#api/core/v1.ts";
import { RestClient } from "#client/rest-client.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { eventTeller } from "./events.ts";

test("events of one millisecond have names of their own, and the same again is counted, however late", async () => {
  const events: Event[] = [];
  const patches: string[] = [];
  const client = new RestClient({
    request({ method, path, body = Buffer.alloc(0) }) {
      if (method === "PATCH") patches.push(`${path} ${body.toString()}`);
      else events.push(JSON.parse(body.toString()) as Event); // what the recorder writes
      return Promise.resolve({ code: 201, body });
    },
    stream: () => Promise.reject(new Error("nothing is watched")),
  });
  const fail = (): void => assert.fail("an event is lost");
  const log = { info: fail, warn: fail };
  const clock = new FakeClock();
  const stop = new AbortController();
  const { signal } = stop;
  const tellEvent = eventTeller({ client, clock, domain: kubernetesDomain, signal, log }, "test");
  const about = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "n", name: "p", uid: "u" } };
  for (const message of ["one", "other"]) tellEvent(about, "Normal", "Reason", message);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    events.map(({ message }) => message),
    ["one", "other"],
  );
  assert.equal(new Set(events.map(({ metadata }) => metadata.name)).size, 2);
  const [{ metadata, source, count }] = events as [Event];
  assert.deepEqual([source, count], [{ component: "test" }, 1]);
  tellEvent(about, "Normal", "Reason", "one");
  clock.advance(1);
  await new Promise((resolve) => setImmediate(resolve));
  const path = `/api/v1/namespaces/n/events/${metadata.name}`;
  const change = JSON.stringify({ count: 2, lastTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(patches.splice(0), [`${path} ${change}`]);
  clock.advance(30 * 60_000);
  tellEvent(about, "Normal", "Reason", "one");
  clock.advance(1);
  await new Promise((resolve) => setImmediate(resolve));
  const later = JSON.stringify({ count: 3, lastTimestamp: "2026-01-01T00:30:00Z" });
  assert.deepEqual(patches, [`${path} ${later}`]);
  stop.abort();
  tellEvent(about, "Normal", "Reason", "after the end");
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(events.length, 2);
});
