/** Custom resource definitions that are made on several servers at the same time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { crds, custom, definition } from "../crds.ts";
import { SharedLog } from "#storage/shared-log-for-tests.ts";
import { eventually } from "../harness.ts";
import { openServers, type SharingServer } from "./two-servers.ts";

const apiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

const named = (group: string, kind: string, shortName: string): object =>
  definition(group, { kind, names: { shortNames: [shortName] } });

/** Returns for each definition whether it has its short name, once the servers agree. */
const holders = (servers: readonly SharingServer[], names: readonly string[]): Promise<readonly boolean[]> =>
  eventually(async () => {
    const views = await Promise.all(
      servers.map(({ api }) => Promise.all(names.map((name) => api.get(`${crds}/${name}`)))),
    );
    const [first, ...others] = views.map((view) =>
      view.map((answer) => {
        const [said] = answer.list("status.conditions").filter((one) => one.string("type") === "NamesAccepted");
        const has = answer.at("status.acceptedNames.shortNames.0") === "w";
        assert.equal(said!.string("status"), has ? "True" : "False");
        return has;
      }),
    );
    for (const other of others) assert.deepEqual(other, first);
    return first!;
  });

test("a name that several definitions wait for belongs to one of them, whatever servers decide about it", async () => {
  const log = new SharedLog();
  const groups = Array.from({ length: 6 }, (_, at) => `g${at}.example.com`);
  const [a] = await openServers({ log, count: 1 });
  // The second server learns the definitions in the order of their names, and so decides in another order.
  for (const group of groups) {
    for (const kind of ["Owner", "Wonder", "Widget"]) (await a!.api.post(crds, named(group, kind, "w"))).expect(201);
  }
  const [b] = await openServers({ log, count: 1 });
  const servers = [a!, b!];
  for (const group of groups) {
    const names = ["wonders", "widgets"].map((plural) => `${plural}.${group}`);
    assert.deepEqual(await holders(servers, names), [false, false]);
    (await b!.api.delete(`${crds}/owners.${group}`)).expect([200, 202]);
    const found = await eventually(async () => {
      const now = await holders(servers, names);
      assert.ok(now.includes(true));
      return now;
    });
    assert.deepEqual(found.toSorted(), [false, true]);
    // The other one gets the name afterwards.
    const [winner, other] = found[0] === true ? names : names.toReversed();
    (await a!.api.delete(`${crds}/${winner}`)).expect([200, 202]);
    await eventually(async () => assert.deepEqual(await holders(servers, [other!]), [true]));
  }
});

test("a custom resource is served by the server that has answered the creation of its definition", async () => {
  const servers = await openServers({ count: 3 });
  await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      const { api } = servers[at % 3]!;
      (await api.post(crds, named("same.example.com", `Thing${at}`, `t${at}`))).expect(201);
      (await api.get(`/apis/same.example.com/v1/thing${at}s`)).expect(200);
    }),
  );
});

test("a resource is served by every server as soon as one of them has answered the creation of its definition", async () => {
  const [a, b] = await openServers({ latencyMsMax: 20 });
  const group = "new.example.com";
  for (let at = 0; at < 6; at++) {
    const path = `/apis/${group}/v1/thing${at}s`;
    // The first one makes the group, too.
    (await a!.api.post(crds, named(group, `Thing${at}`, `t${at}`))).expect(201);
    (await b!.api.get(at === 0 ? `/apis/${group}` : path)).expect(200);
    (await b!.api.post(path, custom(group, "x", {}, `Thing${at}`))).expect(201);
  }
  (await b!.api.get(`/apis/${group}/v1/others`)).expect(404);
});

test("an aggregated API is known to every server as soon as it is made", async () => {
  const [a, b] = await openServers({ latencyMsMax: 20, isPatient: true });
  const service = { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService" };
  for (const group of ["one.example.com", "two.example.com"]) {
    const spec = {
      group,
      version: "v1",
      groupPriorityMinimum: 10,
      versionPriority: 10,
      insecureSkipTLSVerify: true,
      service: { namespace: "default", name: "missing" },
    };
    b!.deafen();
    (await a!.api.post(apiServices, { ...service, metadata: { name: `v1.${group}` }, spec })).expect(201);
    const asking = b!.api.get(`/apis/${group}/v1/things`);
    for (let turns = 0; turns < 100; turns++) await turn();
    b!.store.isDeaf = false;
    (await asking).expect(503);
  }
});
