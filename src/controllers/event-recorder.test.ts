/** Events that are recorded at the same time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "#api/core/v1.ts";
import { RestClient } from "#client/rest-client.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { EventRecorder } from "./event-recorder.ts";

test("events of one millisecond have names of their own, and the same is told once", async () => {
  const events: Event[] = [];
  const client = new RestClient({
    request({ body = Buffer.alloc(0) }) {
      events.push(JSON.parse(body.toString()) as Event); // what the recorder writes
      return Promise.resolve({ code: 201, body });
    },
    stream: () => Promise.reject(new Error("nothing is watched")),
  });
  const fail = (): void => assert.fail("an event is lost");
  const log = { info: fail, warn: fail };
  const clock = new FakeClock();
  const signal = new AbortController().signal;
  const recorder = new EventRecorder({ client, clock, domain: kubernetesDomain, signal, log }, "test");
  const about = { apiVersion: "v1", kind: "Pod", metadata: { namespace: "n", name: "p", uid: "u" } };
  for (const message of ["one", "other", "one"]) recorder.tell(about, "Normal", "Reason", message);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(
    events.map(({ message }) => message),
    ["one", "other"],
  );
  assert.equal(new Set(events.map(({ metadata }) => metadata.name)).size, 2);
});
