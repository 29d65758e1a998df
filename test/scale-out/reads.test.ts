/** Reads that go on at another server than the one at which they began. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { configMap } from "../objects.ts";
import { openServers } from "./two-servers.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

const isDone = async (work: Promise<unknown>): Promise<boolean> => {
  let done = false;
  void work.finally(() => (done = true));
  for (let at = 0; at < 100; at++) await turn();
  return done;
};

test("the next page of a list, and a watch from its version, wait until a server has heard of that version", async () => {
  const [a, b] = await openServers({ isPatient: true });
  b!.store.isDeaf = true;
  for (const name of ["a", "b", "c"]) (await a!.api.post(configMaps, configMap(name))).expect(201);
  const first = (await a!.api.get(`${configMaps}?limit=2`)).expect(200, { "items.length": 2 });
  const version = first.string("metadata.resourceVersion");
  const next = b!.api.get(`${configMaps}?limit=2&continue=${first.string("metadata.continue")}`);
  const stream = await b!.api.watch(`${configMaps}?resourceVersion=${version}`);
  (await a!.api.post(configMaps, configMap("d"))).expect(201);
  assert.equal(await isDone(next), false);
  b!.store.isDeaf = false;
  const page = (await next).expect(200, { "metadata.resourceVersion": version });
  assert.deepEqual(page.names(), ["c"]);
  const event = await stream.next();
  assert.deepEqual([event.type, event.name], ["ADDED", "d"]);
  stream.close();
});

test("a version that no server has ends a watch as it ends a list [SEM-48]", async () => {
  const [a] = await openServers({ count: 1 });
  const stream = await a!.api.watch(`${configMaps}?resourceVersion=99999999999`);
  const [event, ...rest] = await stream.rest();
  assert.deepEqual([event?.type, rest.length], ["ERROR", 0]);
  event!.has({
    "object.code": 504,
    "object.reason": "Timeout",
    "object.details.causes.0.reason": "ResourceVersionTooLarge",
  });
});
