/**
 * A server killed during writes: acknowledged writes survive, versions never repeat, and watches saw no lost write.
 * Storage has a longer test; this one uses HTTP.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Answer } from "../client.ts";
import { Api, domains, temporaryFolder } from "../harness.ts";
import { configMap, namespace, placeOf } from "../objects.ts";
import { spawnServer } from "../process.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const rounds = Number(process.env["CRASH_ROUNDS"] ?? 4);

/** The clients' knowledge of one object. */
interface Known {
  /** Version and value last acknowledged; undefined after an acknowledged deletion. */
  acknowledged: { readonly version: number; readonly value: string } | undefined;
  /** A write that was sent and never answered may have happened. */
  unanswered: { readonly value: string | undefined } | undefined;
}

for (const domain of domains) {
  test(`${domain}: nothing acknowledged is lost when the server is killed under load`, { skip }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const { configMaps } = placeOf("n1");
    const known = new Map<string, Known>();
    let highest = 0;
    let writes = 0;
    for (let round = 0; round < rounds; round++) {
      const server = await spawnServer({ domain, dataDir, storage: "disk" });
      const { api } = server;
      if (round === 0) (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
      const list = (await api.get(configMaps)).expect(200);
      check(known, list);
      const start = Number(list.string("metadata.resourceVersion"));
      assert.ok(start >= highest, `version ${start} after ${highest} was given out`);
      highest = start;

      const stream = await api.watch(`${configMaps}?resourceVersion=${start}`);
      const seen: { version: number; type: string; name: string }[] = [];
      const watching = (async () => {
        for (;;) {
          const event = await stream.next(60_000);
          seen.push({ version: Number(event.version), type: event.type, name: event.name });
        }
      })().catch(() => undefined);

      let isRunning = true;
      const writer = async (id: number): Promise<void> => {
        for (let i = 0; isRunning; i++) {
          const name = `m${id}-${i % 5}`;
          const fact = known.get(name) ?? { acknowledged: undefined, unanswered: undefined };
          known.set(name, fact);
          const isDeletion = fact.acknowledged !== undefined && i % 7 === 6;
          const value = isDeletion ? undefined : `${round}-${id}-${i}`;
          fact.unanswered = { value };
          const send = (): Promise<Answer> => {
            if (isDeletion) return api.delete(`${configMaps}/${name}`);
            if (fact.acknowledged === undefined) return api.post(configMaps, configMap(name, { value }));
            return api.patch(`${configMaps}/${name}`, { data: { value } });
          };
          let answer: Answer;
          try {
            answer = await send();
          } catch {
            return;
          }
          if (answer.status >= 500) return;
          answer.expect([200, 201]);
          const version = isDeletion ? undefined : Number(answer.string("metadata.resourceVersion"));
          fact.acknowledged = version === undefined ? undefined : { version, value: value! };
          fact.unanswered = undefined;
          writes++;
          highest = Math.max(highest, version ?? 0);
        }
      };
      const writers = Array.from({ length: 16 }, (_, id) => writer(id));
      await new Promise((resolve) => setTimeout(resolve, 150 + round * 70));
      await server.stop("SIGKILL");
      isRunning = false;
      await Promise.all(writers);
      await watching;
      const versions = seen.map(({ version }) => version);
      assert.deepEqual(
        versions,
        [...new Set(versions)].sort((a, b) => a - b),
        "events out of order",
      );
      highest = Math.max(highest, ...versions);
    }

    const server = await spawnServer({ domain, dataDir, storage: "disk" });
    try {
      const list = (await server.api.get(configMaps)).expect(200);
      check(known, list);
      assert.ok(
        Number(list.string("metadata.resourceVersion")) >= highest,
        "a watch or a writer saw a version that is gone",
      );
      const next = (await server.api.post(configMaps, configMap("last"))).expect(201);
      assert.ok(Number(next.string("metadata.resourceVersion")) > highest);
      assert.ok(writes > rounds * 20, `only ${writes} writes`);
    } finally {
      server.api.close();
      assert.equal(await server.stop("SIGTERM"), 0);
    }
  });
}

/** Each object is in a state that clients know, or in that of an unanswered write, which is known from then on. */
function check(known: Map<string, Known>, list: Answer): void {
  const found = new Map(list.list("items").map((item) => [item.string("metadata.name"), item]));
  for (const [name, fact] of known) {
    const item = found.get(name);
    const value = item?.string("data.value");
    const wanted = fact.acknowledged?.value;
    const mayBe = fact.unanswered === undefined ? [wanted] : [wanted, fact.unanswered.value];
    assert.ok(mayBe.includes(value), `${name} is ${value}, must be ${mayBe.join(" or ")}`);
    fact.unanswered = undefined;
    fact.acknowledged =
      item === undefined || value === undefined
        ? undefined
        : { value, version: Number(item.string("metadata.resourceVersion")) };
    found.delete(name);
  }
  assert.deepEqual([...found.keys()], [], "objects nobody wrote");
}

for (const domain of domains) {
  test(`${domain}: a server that is asked to stop ends watches, answers what runs, and leaves with 0`, {
    skip,
  }, async () => {
    const server = await spawnServer({ domain, storage: "disk" });
    const { api } = server;
    const { configMaps } = await api.place();
    (await api.post(configMaps, configMap("m1"))).expect(201);
    const stream = await api.watch(configMaps);
    await stream.next();
    const waiting = api.get(`${configMaps}?resourceVersion=99999999999`);
    await api.get("/livez");
    server.child.kill("SIGTERM");
    (await waiting).expect(504);
    assert.deepEqual(await stream.rest(), []);
    assert.equal(await server.exited, 0);
    api.endpoint.agent.destroy();
    const again = new Api((await spawnServer({ domain, storage: "disk", dataDir: server.dataDir })).api.server);
    (await again.get(`${configMaps}/m1`)).expect(200);
    await again.server.close();
  });
}
