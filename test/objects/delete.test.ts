/** DeleteOptions, and the two phases of a deletion. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Answer } from "../client.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { claim, configMap } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

const hold = { finalizers: ["example.com/hold"] };

/** Creates a collection of config maps with one object, `m1`. */
async function one(api: Api, metadata = {}): Promise<{ maps: string; path: string; uid: string; version: string }> {
  const { configMaps: maps } = await api.createNamespace();
  const answer = (await api.post(maps, configMap("m1", {}, metadata))).expect(201);
  const version = answer.string("metadata.resourceVersion");
  return { maps, path: `${maps}/m1`, uid: answer.string("metadata.uid"), version };
}

const options = (fields: Record<string, unknown> = {}): unknown => ({
  kind: "DeleteOptions",
  apiVersion: "v1",
  ...fields,
});

inBothDomains("options may come in the body of a delete, or not at all [DELOPT-01] [DELOPT-02]", async (api) => {
  const { maps, path } = await one(api);
  (await api.delete(path, options())).expect([200, 202]);
  (await api.get(path)).expect(404);
  (await api.post(maps, configMap("m1"))).expect(201);
  (await api.delete(path)).expect([200, 202]);
  (await api.get(path)).expect(404);
  for (const name of ["a", "b"]) (await api.post(maps, configMap(name))).expect(201);
  (await api.delete(maps, options())).expect(200);
  (await api.get(maps)).expect(200, { items: [] });
});

inBothDomains(
  "options that cannot be read are refused and delete nothing [DELOPT-04] [DELOPT-05] [DELOPT-08] [DELOPT-10]",
  async (api) => {
    const { path } = await one(api);
    (await api.delete(path, configMap("x"))).expectClientError();
    (await api.delete(path, "{")).expectClientError();
    (await api.delete(path, "[]")).expectClientError();
    (await api.delete(path, options({ gracePeriodSeconds: "x" }))).expectFailure(400, "BadRequest");
    (await api.delete(path, options({ propagationPolicy: 5 }))).expectFailure(400, "BadRequest");
    (await api.delete(path, options({ orphanDependents: "yes" }))).expectFailure(400, "BadRequest");
    (await api.delete(path, options({ ignoreStoreReadErrorWithClusterBreakingPotential: "x" }))).expectClientError();
    (await api.get(path)).expect(200, { "metadata.deletionTimestamp": absent });
  },
  { differs: "1.32 answers 500 to options it cannot decode" },
);

inBothDomains("options may be those of the meta group [DELOPT-01]", async (api) => {
  const { maps, path } = await one(api);
  (await api.delete(path, { kind: "DeleteOptions", apiVersion: "meta.k8s.io/v1" })).expect(200);
  (await api.get(maps)).expect(200, { items: [] });
});

inBothDomains("a dry run may be asked for in the body [DELOPT-03]", async (api) => {
  const { maps, path } = await one(api);
  (await api.delete(path, options({ dryRun: ["All"] }))).expect(200);
  (await api.get(path)).expect(200, { "metadata.deletionTimestamp": absent });
  (await api.delete(maps, options({ dryRun: ["All"] }))).expect(200);
  (await api.get(path)).expect(200);
  (await api.delete(path, options({ dryRun: ["Foo"] }))).expectFailure(422, "Invalid", /dryRun/);
  (await api.get(path)).expect(200);
});

inBothDomains("gracePeriodSeconds is a number [DELOPT-04]", async (api) => {
  const { path } = await one(api);
  (await api.delete(path, options({ gracePeriodSeconds: 0 }))).expect(200);
  (await api.get(path)).expect(404);
});

inBothDomains("propagationPolicy is one of three texts [DELOPT-05] [DELOPT-06]", async (api) => {
  const { maps, path } = await one(api);
  (await api.delete(path, options({ propagationPolicy: "Foo" }))).expectFailure(
    422,
    "Invalid",
    /propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan"/,
  );
  (await api.get(path)).expect(200);
  (await api.delete(path, options({ propagationPolicy: "Background" }))).expect(200);
  (await api.get(maps)).expect(200, { items: [] });
});

inBothDomains(
  "a deletion in the foreground, or one that orphans, leaves its finalizer until dependents are seen to [DELOPT-07]",
  async (api) => {
    for (const [policy, finalizer] of [
      ["Foreground", "foregroundDeletion"],
      ["Orphan", "orphan"],
    ] as const) {
      const { path } = await one(api, hold);
      (await api.delete(path, options({ propagationPolicy: policy }))).expect([200, 202], {
        "metadata.deletionTimestamp": present,
        "metadata.finalizers": (value: unknown) => (value as string[]).includes(finalizer),
      });
      (await api.get(path)).expect(200, { "metadata.deletionGracePeriodSeconds": 0 });
      (await api.patch(path, { metadata: { finalizers: null } })).expect(200);
      (await api.get(path)).expect(404);
    }
  },
);

inBothDomains("a later policy replaces the finalizer of an earlier one [DELOPT-07]", async (api) => {
  const { path } = await one(api, hold);
  (await api.delete(path, options({ propagationPolicy: "Orphan" }))).expect([200, 202]);
  (await api.delete(path, options({ propagationPolicy: "Foreground" }))).expect([200, 202]);
  (await api.get(path)).expect(200, {
    "metadata.finalizers": (value: unknown) =>
      (value as string[]).includes("foregroundDeletion") && !(value as string[]).includes("orphan"),
  });
});

inBothDomains("so it does on a pod whose grace period is over [DELOPT-07]", async (api) => {
  const { ns } = await api.createNamespace();
  const path = `/api/v1/namespaces/${ns}/pods/p`;
  const spec = { containers: [{ name: "c", image: "i" }] };
  (await api.post(`/api/v1/namespaces/${ns}/pods`, { metadata: { name: "p", ...hold }, spec })).expect(201);
  (await api.delete(path, options({ gracePeriodSeconds: 0 }))).expect([200, 202]);
  (await api.delete(path, options({ propagationPolicy: "Foreground" }))).expect([200, 202]);
  (await api.get(path)).expect(200, { "metadata.finalizers": [...hold.finalizers, "foregroundDeletion"] });
});

inBothDomains("orphanDependents is the older form, and goes with no policy [DELOPT-08]", async (api) => {
  const { path } = await one(api, hold);
  (await api.delete(path, options({ orphanDependents: true, propagationPolicy: "Background" }))).expectFailure(
    422,
    "Invalid",
    /propagationPolicy: Invalid value: .*orphanDependents and deletionPropagation cannot be both set/,
  );
  (await api.get(path)).expect(200, { "metadata.deletionTimestamp": absent });
  (await api.delete(path, options({ orphanDependents: true }))).expect([200, 202]);
  (await api.get(path)).expect(200, {
    "metadata.finalizers": (value: unknown) => (value as string[]).includes("orphan"),
  });
});

inBothDomains("whoever deletes jobs without a policy is warned that their pods stay [DELOPT-07]", async (api) => {
  const { ns } = await api.createNamespace();
  const jobs = `/apis/batch/v1/namespaces/${ns}/jobs`;
  const spec = { template: { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } } };
  (await api.post(jobs, { apiVersion: "batch/v1", kind: "Job", metadata: { name: "one" }, spec })).expect(201);
  const text =
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";
  const warnings = async (path: string, body?: unknown): Promise<readonly string[]> =>
    (await api.delete(`${jobs}${path}`, body)).warnings;
  assert.deepEqual(await warnings("/none"), [text]);
  assert.deepEqual(await warnings("/one?dryRun=All"), [text]);
  assert.deepEqual(await warnings("?dryRun=All"), [text]);
  assert.deepEqual(await warnings("/one?dryRun=All&propagationPolicy=Background"), []);
  assert.deepEqual(await warnings("/one?dryRun=All", options({ orphanDependents: true })), []);
});

inBothDomains("preconditions may come in the query of a delete without a body [DELOPT-09]", async (api) => {
  const { maps, path, uid, version } = await one(api);
  for (const query of ["uid=other", "resourceVersion=1", `uid=${uid}&resourceVersion=1`, "resourceVersion=x"]) {
    (await api.delete(`${path}?${query}`)).expectFailure(409, "Conflict", / in the precondition \((other|1|x)\) /);
  }
  (await api.delete(`${maps}?uid=other`)).expect(409);
  (await api.get(path)).expect(200, { "metadata.uid": uid });
  // Options in a body replace those of the query.
  (await api.delete(`${path}?uid=other&gracePeriodSeconds=x`, options({ dryRun: ["All"] }))).expect(200);
  (await api.delete(`${path}?uid=${uid}&resourceVersion=${version}`)).expect(200);
  (await api.get(path)).expect(404);
});

inBothDomains("preconditions that do not hold keep the object [DELOPT-09]", async (api) => {
  const { path, uid, version } = await one(api);
  (await api.delete(path, options({ preconditions: { uid: "other" } }))).expectFailure(
    409,
    "Conflict",
    /"m1": the UID in the precondition \(other\) does not match the UID in record \(.+\)\. The object might have been deleted and then recreated/,
  );
  (await api.delete(path, options({ preconditions: { resourceVersion: "1" } }))).expectFailure(
    409,
    "Conflict",
    /"m1": the ResourceVersion in the precondition \(1\) does not match the ResourceVersion in record \(\d+\)\. The object might have been modified/,
  );
  (await api.get(path)).expect(200);
  (await api.delete(path, options({ preconditions: { uid, resourceVersion: version } }))).expect(200);
  (await api.get(path)).expect(404);
});

inBothDomains("the flag for unreadable objects means nothing by default [DELOPT-10] [FORCE-01]", async (api) => {
  const { path } = await one(api, hold);
  (await api.delete(path, options({ ignoreStoreReadErrorWithClusterBreakingPotential: true }))).expect([200, 202]);
  (await api.get(path)).expect(200, { "metadata.deletionTimestamp": present });
});

inBothDomains(
  "deleting a collection answers with a Status [DELOPT-11] [EP-26]",
  async (api) => {
    const { maps } = await one(api);
    (await api.post(maps, configMap("m2"))).expect(201);
    (await api.delete(maps)).expect(200, {
      kind: "Status",
      apiVersion: "v1",
      metadata: (value: unknown) => typeof value === "object",
      status: "Success",
      code: 200,
      "details.kind": "configmaps",
    });
    (await api.get(maps)).expect(200, { items: [] });
  },
  { differs: "1.32 answers with the list of deleted objects" },
);

inBothDomains(
  "a live object with finalizers becomes terminating, and stays readable [DELST-01] [DELST-02]",
  async (api) => {
    const { maps, path } = await one(api, hold);
    (await api.delete(path)).expect([200, 202], { kind: /ConfigMap|Status/ });
    (await api.get(path)).expect(200, {
      "metadata.deletionTimestamp": present,
      "metadata.finalizers": hold.finalizers,
    });
    (await api.get(maps)).expect(200, { "items.length": 1, "items.0.metadata.deletionTimestamp": present });
  },
);

inBothDomains(
  "removing the last finalizer removes the object, removing another does not [DELST-03] [DELST-04]",
  async (api) => {
    const { path } = await one(api, { finalizers: ["example.com/a", "example.com/b"] });
    (await api.delete(path)).expect([200, 202]);
    (await api.patch(path, { metadata: { finalizers: ["example.com/b"] } })).expect(200);
    (await api.get(path)).expect(200, { "metadata.finalizers": ["example.com/b"] });
    (await api.patch(path, { metadata: { finalizers: [] } })).expect(200, { "metadata.name": "m1" });
    (await api.get(path)).expect(404);
  },
);

inBothDomains(
  "a deletion by removing the last finalizer is told with what was there before [WATCH-07]",
  async (api) => {
    const { path, maps } = await one(api, { finalizers: ["example.com/a"], labels: { l: "old" } });
    const marked = (await api.delete(path)).expect([200, 202]);
    const since = (await api.get(maps)).string("metadata.resourceVersion");
    const all = await api.watch(`${maps}?resourceVersion=${since}`);
    const fresh = await api.watch(`${maps}?resourceVersion=${since}&labelSelector=l%3Dnew&timeoutSeconds=1`);
    const last = (await api.patch(path, { metadata: { finalizers: null, labels: { l: "new" } } })).expect(200, {
      "metadata.labels": { l: "new" },
      "metadata.finalizers": absent,
      "metadata.resourceVersion": marked.at("metadata.resourceVersion"),
    });
    (await all.next()).has({
      type: "DELETED",
      "object.metadata.labels": { l: "old" },
      "object.metadata.finalizers": ["example.com/a"],
      "object.metadata.resourceVersion": (version: unknown) =>
        Number(version) > Number(last.at("metadata.resourceVersion")),
    });
    assert.deepEqual(await fresh.rest(), []);
  },
);

inBothDomains("an object without finalizers goes at once [DELST-05]", async (api) => {
  const { path, uid } = await one(api);
  (await api.delete(path)).expect(200, {
    kind: "Status",
    status: "Success",
    "details.name": "m1",
    "details.kind": "configmaps",
    "details.uid": uid,
  });
  (await api.get(path)).expectFailure(404, "NotFound", 'configmaps "m1" not found');
  (await api.delete(path)).expectFailure(404, "NotFound", 'configmaps "m1" not found');
});

inBothDomains("finalizers removed from a live object do not delete it [DELST-03]", async (api) => {
  const { path } = await one(api, hold);
  (await api.patch(path, { metadata: { finalizers: null } })).expect(200);
  (await api.get(path)).expect(200, { "metadata.finalizers": absent });
});

inBothDomains("an object is deleted once, however many ask [DELST-05]", async (api) => {
  const { maps } = await one(api);
  const version = (await api.get(maps)).string("metadata.resourceVersion");
  const stream = await api.watch(`${maps}?resourceVersion=${version}`);
  const answers = await Promise.all(Array.from({ length: 10 }, () => api.delete(`${maps}/m1`)));
  const codes = answers.map((answer) => answer.status).sort();
  assert.deepEqual(codes, [200, ...Array.from({ length: 9 }, () => 404)]);
  (await api.post(maps, configMap("last"))).expect(201);
  const events = await stream.take(2);
  assert.deepEqual(
    events.map((event) => event.type),
    ["DELETED", "ADDED"],
  );
});

inBothDomains("deleting a collection leaves those with finalizers terminating [DELST-01] [EP-27]", async (api) => {
  const { maps } = await one(api, hold);
  (await api.post(maps, configMap("m2"))).expect(201);
  (await api.delete(maps)).expect(200);
  const answer = (await api.get(maps)).expect(200, { "items.0.metadata.deletionTimestamp": present });
  assert.deepEqual(answer.names(), ["m1"]);
});

inBothDomains("a claim is answered with the claim [EP-25] [DELST-05]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1"))).expect(201);
  (await api.delete(`${claims}/c1`)).expect([200, 202], { kind: "PersistentVolumeClaim", "metadata.name": "c1" });
});

inBothDomains("preconditions hold for every object of a collection [DELOPT-09] [EP-27]", async (api) => {
  const { maps, path, uid, version } = await one(api);
  for (const preconditions of [{ uid: "other" }, { resourceVersion: "1" }, { uid, resourceVersion: "1" }]) {
    (await api.delete(maps, options({ preconditions }))).expectFailure(409, "Conflict", /in the precondition/);
    (await api.get(path)).expect(200, { "metadata.deletionTimestamp": absent });
  }
  (await api.delete(maps, options({ preconditions: { uid, resourceVersion: version } }))).expect(200);
  (await api.get(maps)).expect(200, { items: [] });
});

inBothDomains(
  "a deleted volume goes once no claim is bound to it [DELST-01] [DELST-03]",
  async (api) => {
    const volumes = "/api/v1/persistentvolumes";
    const at = `${volumes}/v-${randomUUID()}`;
    const spec = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } };
    const name = at.slice(volumes.length + 1);
    (await api.post(volumes, { metadata: { name }, spec })).expect(201, {
      "metadata.finalizers": ["kubernetes.io/pv-protection"],
    });
    (await api.patch(`${at}/status`, { status: { phase: "Bound" } })).expect(200);
    (await api.delete(at)).expect(200, { "metadata.deletionTimestamp": present });
    (await api.patch(at, { metadata: { labels: { a: "1" } } })).expect(200);
    (await api.get(at)).expect(200);
    (await api.patch(`${at}/status`, { status: { phase: "Released" } })).expect(200);
    await eventually(async () => void (await api.get(at)).expect(404));
  },
  { differs: "the reference has no controllers" },
);

inBothDomains(
  "a grace period counts from the first deletion and only gets shorter [DELOPT-04] [DELST-01]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const pods = `/api/v1/namespaces/${ns}/pods`;
    const spec = { nodeName: "n1", terminationGracePeriodSeconds: 40, containers: [{ name: "c", image: "i" }] };
    (await api.post(pods, { metadata: { name: "p" }, spec })).expect(201);
    const remove = (gracePeriodSeconds?: number): Promise<Answer> =>
      api.delete(`${pods}/p`, options(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }));
    const endMs = (answer: Answer): number => Date.parse(answer.string("metadata.deletionTimestamp"));
    const first = (await remove(60)).expect(200, { "metadata.deletionGracePeriodSeconds": 60 });
    const deletedMs = endMs(first) - 60_000;
    for (const [asked, left] of [
      [undefined, 60],
      [70, 60],
      [10, 10],
      [-3, 1],
      [0, 0],
    ] as const) {
      const answer = (await remove(asked)).expect(200, { "metadata.deletionGracePeriodSeconds": left });
      assert.equal(endMs(answer) - deletedMs, left * 1000, String(asked));
    }
    (await api.get(`${pods}/p`)).expect(404);
  },
);

inBothDomains("what is told of a removed pod carries the deletion's mark [META-12]", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  (await api.post(pods, { metadata: { name: "p" }, spec: { containers: [{ name: "c", image: "i" }] } })).expect(201);
  (await api.delete(`${pods}/p`)).expect(200, {
    kind: "Pod",
    "metadata.deletionTimestamp": present,
    "metadata.deletionGracePeriodSeconds": 0,
  });
  (await api.get(`${pods}/p`)).expect(404);
});

inBothDomains("finalizers of the garbage collector do not hold events, which own nothing", async (api) => {
  const { ns, events } = await api.createNamespace();
  const event = (name: string, finalizers: readonly string[]) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { name, finalizers },
    involvedObject: { namespace: ns },
  });
  for (const finalizer of ["orphan", "foregroundDeletion"]) {
    (await api.post(events, event("e", [finalizer]))).expect(201);
    (await api.delete(`${events}/e`)).expect(200);
    (await api.get(`${events}/e`)).expect(404);
  }
  (await api.post(events, event("held", ["example.com/hold", "orphan"]))).expect(201);
  (await api.delete(`${events}/held`)).expect(200, { "metadata.finalizers": ["example.com/hold"] });
});
