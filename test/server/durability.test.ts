/**
 * A server that is killed during writes: acknowledged writes survive, versions never repeat, and watches saw no lost
 * write. Storage has a longer test; this one uses HTTP.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { Answer } from "../client.ts";
import { Api, domains, eventually, temporaryFolder } from "../harness.ts";
import { configMap, namespace, namespacePaths, secret } from "../objects.ts";
import { spawnServer } from "../process.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const rounds = Number(process.env["CRASH_ROUNDS"] ?? 4);

/** The clients' knowledge of one object. */
interface Known {
  /** The last acknowledged version and value; `undefined` after an acknowledged deletion. */
  acknowledged: { readonly version: number; readonly value: string } | undefined;
  /** A write that was sent but not answered, and so may have happened. */
  unanswered: { readonly value: string | undefined } | undefined;
}

for (const domain of domains) {
  test(`${domain}: nothing acknowledged is lost when the server is killed under load`, { skip }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const { configMaps } = namespacePaths("n1");
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
          const event = await stream.next();
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
      const enough = writes + 100 + round * 50;
      await eventually(() => Promise.resolve(assert.ok(writes >= enough, `only ${writes} of ${enough} writes`)));
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
    } finally {
      server.api.close();
      assert.equal(await server.stop("SIGTERM"), 0);
    }
  });
}

/** The expected end of an owner and its dependents. */
interface Family {
  readonly names: readonly string[];
  /** Whether the deletion was acknowledged; `undefined` if it was sent but not answered. */
  isDeleted: boolean | undefined;
}

for (const domain of domains) {
  test(`${domain}: controllers that are killed in the middle finish their work, and do no more than that`, {
    skip,
  }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const open = { domain, dataDir, storage: "disk", controllers: ["*"] } as const;
    const { configMaps, secrets } = namespacePaths("n1");
    const families = new Map<string, Family>();
    for (let round = 0; round < rounds; round++) {
      const { api, stop } = await spawnServer(open);
      if (round === 0) {
        (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
        const spec = { hard: { "count/secrets": "100000", "count/configmaps": "100000" } };
        const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "q" }, spec };
        (await api.post("/api/v1/namespaces/n1/resourcequotas", quota)).expect(201);
      }
      const objects = Array.from({ length: 20 }, (_, at) => `o-${round}-${at}`);
      await Promise.all(
        objects.map(async (name) => families.set(name, await makeFamily(api, configMaps, secrets, name))),
      );
      const deletions = objects
        .filter((_, at) => at % 2 === 0)
        .map(async (name, at) => {
          const family = families.get(name)!;
          family.isDeleted = undefined;
          const policy = at % 3 === 0 ? "Foreground" : "Background";
          const answer = await api.delete(`${configMaps}/${name}?propagationPolicy=${policy}`);
          if (answer.status === 200) family.isDeleted = true;
        });
      // Some dependents are deleted by then, others are not.
      await Promise.race([...deletions, new Promise((resolve) => setTimeout(resolve, 20 * round))]);
      await stop("SIGKILL");
      await Promise.allSettled(deletions);
    }

    const server = await spawnServer(open);
    const { api } = server;
    try {
      await eventually(async () => {
        const owners = new Set((await api.get(configMaps)).list("items").map((item) => item.string("metadata.name")));
        const remaining = (await api.get(secrets)).list("items").map((item) => item.string("metadata.name"));
        const expected: string[] = [];
        for (const [owner, { names, isDeleted }] of families) {
          if (isDeleted !== undefined) assert.equal(owners.has(owner), !isDeleted, owner);
          if (owners.has(owner)) expected.push(...names);
        }
        assert.deepEqual(remaining.sort(), expected.sort());
        (await api.get("/api/v1/namespaces/n1/resourcequotas/q")).expect(200, {
          "status.used[count/secrets]": `${expected.length}`,
          "status.used[count/configmaps]": `${owners.size}`,
        });
      });
    } finally {
      api.close();
      assert.equal(await server.stop("SIGTERM"), 0);
    }
  });
}

/** Creates an owner and five dependents. */
async function makeFamily(api: Api, configMaps: string, secrets: string, name: string): Promise<Family> {
  const uid = (await api.post(configMaps, configMap(name))).expect(201).string("metadata.uid");
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name, uid, blockOwnerDeletion: true }];
  const names = Array.from({ length: 5 }, (_, at) => `${name}-${at}`);
  await Promise.all(
    names.map(async (one) => (await api.post(secrets, secret(one, {}, { ownerReferences }))).expect(201)),
  );
  return { names, isDeleted: false };
}

/**
 * Checks that each object is in the state that clients know, or in that of an unanswered write, which is known from
 * then on.
 */
function check(known: Map<string, Known>, list: Answer): void {
  const items = new Map(list.list("items").map((item) => [item.string("metadata.name"), item]));
  for (const [name, fact] of known) {
    const item = items.get(name);
    const value = item?.string("data.value");
    const wanted = fact.acknowledged?.value;
    const mayBe = fact.unanswered === undefined ? [wanted] : [wanted, fact.unanswered.value];
    assert.ok(mayBe.includes(value), `${name} is ${value}, must be ${mayBe.join(" or ")}`);
    fact.unanswered = undefined;
    fact.acknowledged =
      item === undefined || value === undefined
        ? undefined
        : { value, version: Number(item.string("metadata.resourceVersion")) };
    items.delete(name);
  }
  assert.deepEqual([...items.keys()], [], "objects nobody wrote");
}

for (const domain of domains) {
  test(`${domain}: a server that is asked to stop ends watches, answers what runs, and leaves with 0`, {
    skip,
  }, async () => {
    const server = await spawnServer({ domain, storage: "disk" });
    const { api } = server;
    const { configMaps } = await api.createNamespace();
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
