/** The three patch types other than apply. */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { type Api, gated, suite, withOwnServer } from "../harness.ts";
import { claim, configMap } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

async function one(api: Api, metadata = {}, data: Record<string, unknown> = { k: "v" }): Promise<string> {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", data, metadata))).expect(201);
  return `${configMaps}/m1`;
}

/** The patches that change an existing object; apply may also create one. */
const changingTypes = [patchTypes.json, patchTypes.merge, patchTypes.strategic];

const json = (api: Api, path: string, operations: unknown) => api.patch(path, operations, patchTypes.json);
const strategic = (api: Api, path: string, body: unknown) => api.patch(path, body, patchTypes.strategic);

inBothDomains("a JSON Patch does its operations in order [PATCH-05]", async (api) => {
  const path = await one(api);
  (await json(api, path, [{ op: "add", path: "/metadata/labels", value: { a: "1" } }])).expect(200, {
    "metadata.labels": { a: "1" },
  });
  const operations = [
    { op: "test", path: "/data/k", value: "v" },
    { op: "replace", path: "/data/k", value: "w" },
    { op: "copy", from: "/data/k", path: "/data/copy" },
    { op: "move", from: "/data/k", path: "/data/moved" },
    { op: "add", path: "/metadata/labels/example.com~1x", value: "2" },
    { op: "remove", path: "/metadata/labels/a" },
  ];
  (await json(api, path, operations)).expect(200, {
    data: { copy: "w", moved: "w" },
    "metadata.labels": { "example.com/x": "2" },
  });
});

inBothDomains("a JSON Patch whose test fails changes nothing [PATCH-06]", async (api) => {
  const path = await one(api);
  const before = await api.get(path);
  const operations = [
    { op: "replace", path: "/data/k", value: "w" },
    { op: "test", path: "/data/k", value: "other" },
  ];
  (await json(api, path, operations)).expectFailure(422, "Invalid");
  assert.deepEqual((await api.get(path)).value, before.value);
});

inBothDomains("a JSON Patch that cannot be done is refused [PATCH-05]", async (api) => {
  const path = await one(api);
  for (const operation of [
    { op: "remove", path: "/data/none" },
    { op: "add", path: "/none/deep", value: "x" },
  ]) {
    (await json(api, path, [operation])).expectClientError();
  }
  for (const body of [{ op: "add" }, "[", '"text"', [{ op: "frobnicate", path: "/data/k" }]]) {
    (await json(api, path, body)).expectClientError();
  }
  (await api.get(path)).expect(200, { data: { k: "v" } });
});

inBothDomains("a JSON Patch must leave a valid object of the same name [PATCH-05]", async (api) => {
  const path = await one(api);
  (await json(api, path, [{ op: "replace", path: "/metadata/name", value: "m2" }])).expectClientError();
  (await json(api, path, [{ op: "replace", path: "/metadata/uid", value: "u" }])).expectFailure(
    422,
    "Invalid",
    /metadata\.uid: Invalid value: "u": field is immutable/,
  );
  (await json(api, path, [{ op: "add", path: "/metadata/labels", value: { "bad key": "1" } }])).expectFailure(
    422,
    "Invalid",
  );
  (await json(api, path, [{ op: "add", path: "/data", value: 5 }])).expectClientError();
  (await api.get(path)).expect(200, { data: { k: "v" }, "metadata.labels": absent });
});

inBothDomains("a merge patch merges maps, replaces lists and removes what is null [PATCH-07]", async (api) => {
  const path = await one(api, { labels: { a: "1", b: "2" }, finalizers: ["example.com/a", "example.com/b"] });
  (await api.patch(path, { metadata: { labels: { a: null, c: "3" } }, data: { l: "m" } })).expect(200, {
    "metadata.labels": { b: "2", c: "3" },
    data: { k: "v", l: "m" },
  });
  (await api.patch(path, { metadata: { finalizers: ["example.com/c"] } })).expect(200, {
    "metadata.finalizers": ["example.com/c"],
  });
  (await api.patch(path, { data: null, metadata: { labels: null } })).expect(200, {
    data: absent,
    "metadata.labels": absent,
  });
  for (const body of ["[]", "5", '"text"', "{", "null"]) (await api.patch(path, body)).expectClientError();
});

inBothDomains("a strategic merge patch merges lists by what the schema says [PATCH-08]", async (api) => {
  const path = await one(api, { finalizers: ["example.com/a"] });
  (await strategic(api, path, { metadata: { finalizers: ["example.com/b"] } })).expect(200, {
    "metadata.finalizers": (value: unknown) => (value as string[]).toSorted().join() === "example.com/a,example.com/b",
  });
  (await strategic(api, path, { metadata: { $deleteFromPrimitiveList: 5 } })).expectClientError();
  (await strategic(api, path, { metadata: { "$deleteFromPrimitiveList/finalizers": ["example.com/a"] } })).expect(200, {
    "metadata.finalizers": ["example.com/b"],
  });
  (await strategic(api, path, { data: { $patch: "replace", z: "1" } })).expect(200, { data: { z: "1" } });
  (await strategic(api, path, { data: { z: null } })).expect(200, { data: absent });
});

inBothDomains("a strategic merge patch merges items by their key [PATCH-08]", async (api) => {
  const { ns } = await api.createNamespace();
  const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
  const container = (name: string, image: string): object => ({ name, image, env: [{ name: "A", value: "1" }] });
  (
    await api.post(deployments, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "d1" },
      spec: {
        selector: { matchLabels: { a: "1" } },
        template: {
          metadata: { labels: { a: "1" } },
          spec: { containers: [container("one", "i:1"), container("two", "i:1")] },
        },
      },
    })
  ).expect(201);
  const patch = (containers: unknown): unknown => ({ spec: { template: { spec: { containers } } } });
  (
    await strategic(api, `${deployments}/d1`, patch([{ name: "two", image: "i:2", env: [{ name: "B", value: "2" }] }]))
  ).expect(200, {
    "spec.template.spec.containers.length": 2,
    "spec.template.spec.containers[name=one].image": "i:1",
    "spec.template.spec.containers[name=two].image": "i:2",
    "spec.template.spec.containers[name=two].env.length": 2,
  });
  (await strategic(api, `${deployments}/d1`, patch([{ name: "one", $patch: "delete" }]))).expect(200, {
    "spec.template.spec.containers.length": 1,
    "spec.template.spec.containers.0.name": "two",
  });
  (await api.patch(`${deployments}/d1`, patch([{ name: "three", image: "i:3" }]))).expect(200, {
    "spec.template.spec.containers.length": 1,
    "spec.template.spec.containers.0.name": "three",
  });
});

inBothDomains(
  "other content types of a patch are refused, with those that are taken [PATCH-11] [PATCH-12]",
  async (api) => {
    const path = await one(api);
    for (const type of ["application/json", "application/merge-patch+cbor", "text/plain", "application/yaml", ""]) {
      (await api.patch(path, { data: { k: "w" } }, type)).expectFailure(415, "UnsupportedMediaType");
    }
    (await api.get(path)).expect(200, { "data.k": "v" });
    (await api.patch(path, { data: { k: "w" } }, `${patchTypes.merge}; charset=utf-8`)).expect(200);
  },
);

inBothDomains("a patch of what is not there is refused [PATCH-13]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const type of changingTypes) {
    const body =
      type === patchTypes.json
        ? [{ op: "add", path: "/metadata/labels", value: {} }]
        : { metadata: { labels: { a: "1" } } };
    (await api.patch(`${claims}/none`, body, type)).expectFailure(
      404,
      "NotFound",
      'persistentvolumeclaims "none" not found',
    );
  }
});

inBothDomains("a patch that names a version must name the current one [PATCH-07] [SSA-02]", async (api) => {
  const path = await one(api);
  const version = (await api.get(path)).string("metadata.resourceVersion");
  (await api.patch(path, { metadata: { resourceVersion: version }, data: { k: "w" } })).expect(200);
  (await api.patch(path, { metadata: { resourceVersion: version }, data: { k: "x" } })).expectFailure(
    409,
    "Conflict",
    'Operation cannot be fulfilled on configmaps "m1": the object has been modified; please apply your changes to the latest version and try again',
  );
  (await api.get(path)).expect(200, { "data.k": "w" });
});

/** Sends many patches of one object at the same time, and checks that all are in the result. */
async function patchTogether(api: Api): Promise<void> {
  const path = await one(api);
  const keys = Array.from({ length: 30 }, (_, i) => `k${i}`);
  const answers = await Promise.all(
    keys.map((key, i) => {
      if (i % 3 === 0) return json(api, path, [{ op: "add", path: `/data/${key}`, value: "1" }]);
      return i % 3 === 1 ? strategic(api, path, { data: { [key]: "1" } }) : api.patch(path, { data: { [key]: "1" } });
    }),
  );
  for (const answer of answers) answer.expect(200);
  (await api.get(path)).expect(200, { data: { k: "v", ...Object.fromEntries(keys.map((key) => [key, "1"])) } });
}

inBothDomains("patches at the same time are all done [PATCH-05] [PATCH-07] [PATCH-08]", patchTogether);

withOwnServer(
  "patches at the same time are all done, on disk [PATCH-07]",
  { ...gated, storage: "disk" },
  patchTogether,
);

inBothDomains(
  "an update with the version of another write is refused and changes nothing [SSA-02] [SSA-03]",
  async (api) => {
    const path = await one(api, { labels: { a: "1" } });
    const stale = (await api.get(path)).expect(200);
    (await api.patch(path, { data: { k: "w" } })).expect(200);
    (await api.put(path, stale.value)).expectFailure(
      409,
      "Conflict",
      'Operation cannot be fulfilled on configmaps "m1": the object has been modified; please apply your changes to the latest version and try again',
      { details: { name: "m1", kind: "configmaps" } },
    );
    (await api.get(path)).expect(200, { "data.k": "w" });
    (await api.put(path, configMap("m1", { only: "1" }))).expect(200, {
      data: { only: "1" },
      "metadata.labels": absent,
    });
  },
);

inBothDomains("patches of the status write the status only [PATCH-05] [PATCH-08] [EP-24]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(claims, claim("c1", { storageClassName: "slow" }))).expect(201);
  const path = `${claims}/c1/status`;
  (await json(api, path, [{ op: "add", path: "/status/phase", value: "Bound" }])).expect(200, {
    "status.phase": "Bound",
  });
  (await strategic(api, path, { status: { conditions: [{ type: "A", status: "True" }] } })).expect(200);
  (
    await strategic(api, path, {
      status: { conditions: [{ type: "B", status: "True" }] },
      spec: { storageClassName: "x" },
    })
  ).expect(200, { "status.conditions.length": 2, "spec.storageClassName": "slow" });
});

inBothDomains("that an object is missing is said before anything about the patch [PATCH-13]", async (api) => {
  const { configMaps } = await api.createNamespace();
  for (const type of changingTypes) {
    (await api.patch(`${configMaps}/none`, "{", type)).expectFailure(404, "NotFound");
  }
});

inBothDomains("a patch with a number that no double holds is refused [PATCH-07] [ERR-02]", async (api) => {
  const path = await one(api);
  for (const [body, type] of [
    ['{"metadata":{"annotations":{"n":1E400}}}', patchTypes.merge],
    ['[{"op":"add","path":"/data/n","value":1E400}]', patchTypes.json],
  ] as const) {
    (await api.patch(path, body, type)).expectFailure(400, "BadRequest");
  }
});

inBothDomains("a patched object that fits no type is shown whole [PATCH-07]", async (api) => {
  const path = await one(api, {}, { long: "x".repeat(3000), k: "v" });
  const wrong = /x{3000}.*cannot unmarshal array into Go struct field ConfigMap\.data/;
  (await api.patch(path, { data: { k: [] } })).expectFailure(422, "Invalid", wrong);
});

inBothDomains("a strategic patch may say any type; the path decides", async (api) => {
  const path = await one(api);
  for (const type of [{ kind: "Deployment" }, { apiVersion: "apps/v1", kind: "Deployment" }, { apiVersion: "a/b/c" }]) {
    (await strategic(api, path, { ...type, data: { from: type.kind ?? "" } })).expect(200, {
      apiVersion: "v1",
      kind: "ConfigMap",
      "data.from": type.kind ?? "",
    });
  }
  (await strategic(api, path, { kind: 5 })).expectClientError();
  (await api.patch(path, { kind: "Deployment" })).expectFailure(422, "Invalid");
  // Ansible's k8s_scale sends the resource's kind to its scale.
  const { ns } = await api.createNamespace();
  const deployments = `/apis/apps/v1/namespaces/${ns}/deployments`;
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { replicas: 1, selector: { matchLabels: { a: "b" } }, template };
  (await api.post(deployments, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d1" }, spec })).expect(
    201,
  );
  const scale = { kind: "Deployment", metadata: { name: "d1", namespace: ns }, spec: { replicas: 3 } };
  (await strategic(api, `${deployments}/d1/scale`, scale)).expect(200, { kind: "Scale", "spec.replicas": 3 });
});

inBothDomains("a merge or JSON patch may say another version of its kind, and is read as one of that", async (api) => {
  const { ns } = await api.createNamespace();
  const path = `/apis/autoscaling/v2/namespaces/${ns}/horizontalpodautoscalers`;
  const cpu = { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } };
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const spec = { scaleTargetRef: target, maxReplicas: 3, metrics: [{ type: "Resource", resource: cpu }] };
  const kind = "HorizontalPodAutoscaler";
  (await api.post(path, { apiVersion: "autoscaling/v2", kind, metadata: { name: "h1" }, spec })).expect(201);
  const older = { apiVersion: "autoscaling/v1", spec: { maxReplicas: 7, targetCPUUtilizationPercentage: 70 } };
  const merged = await api.patch(`${path}/h1`, older);
  merged.expect(200, { apiVersion: "autoscaling/v2", "spec.maxReplicas": 7 });
  assert.equal(merged.at("spec.metrics.0.resource.target.averageUtilization"), 70);
  assert.match(String(merged.headers.warning), /unknown field \\"spec\.metrics\\"/);
  const operation = { op: "replace", path: "/apiVersion", value: "autoscaling/v1" };
  (await json(api, `${path}/h1`, [operation])).expect(200, { apiVersion: "autoscaling/v2", "spec.maxReplicas": 7 });
  (await api.patch(`${path}/h1`, { apiVersion: "autoscaling/v9" })).expectFailure(422, "Invalid");
  (await api.patch(`${path}/h1`, { apiVersion: "apps/v1" })).expectFailure(422, "Invalid");
});

inBothDomains("versions of a group that only older releases served are taken in a merge patch", async (api) => {
  const { ns } = await api.createNamespace();
  const path = `/apis/apps/v1/namespaces/${ns}/deployments`;
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [{ name: "c", image: "i" }] } };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  (await api.post(path, { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "d1" }, spec })).expect(201);
  const older = { apiVersion: "apps/v1beta2", spec: { replicas: 3 } };
  (await api.patch(`${path}/d1`, older)).expect(200, { apiVersion: "apps/v1", "spec.replicas": 3 });
});
