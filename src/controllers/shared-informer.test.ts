/** Events that the listeners of a shared collection get. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventOfLine } from "#client/received-event.ts";
import { RestClient } from "#client/rest-client.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeApi } from "./fake-api.ts";
import { SharedInformer } from "./shared-informer.ts";

const path = "/api/v1/namespaces/shop/pods/a";

test("an object recreated during a gap is reported as deleted and added", async () => {
  const clock = new FakeClock();
  const api = new FakeApi(clock);
  const ended = Promise.withResolvers<void>();
  // The watch reports nothing until the history from its version is gone.
  const reader = new RestClient({
    request: api.transport.request,
    stream: async (_request, onEvent) => {
      await ended.promise;
      onEvent(eventOfLine(Buffer.from(JSON.stringify({ type: "ERROR", object: { metadata: {} } }))));
      return { code: 200, body: Buffer.from("{}") };
    },
  });
  const informer = new SharedInformer(
    { ...api.environment, reader },
    { what: "pods", path: "/api/v1/pods", trim: (pod) => pod },
  );
  const changes: (readonly [string | undefined, string | undefined])[] = [];
  api.put(path, { metadata: { uid: "old" } });
  informer.listen((before, after) => changes.push([before?.metadata.uid, after?.metadata.uid]));
  await api.settled();
  api.put(path, { metadata: { uid: "new" } });
  ended.resolve();
  await api.settled();
  await api.advance(1000);
  assert.deepEqual(changes, [
    [undefined, "old"],
    ["old", undefined],
    [undefined, "new"],
  ]);
  api.stop();
});
