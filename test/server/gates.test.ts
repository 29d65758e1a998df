/** Feature gates and `--runtime-config`: defaults, changes, and errors that end the start. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { Api, domains, openServer, renamer, suite, temporaryFolder, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses, claim, namespace, namespacePaths } from "../objects.ts";
import { absent } from "../view.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

/** Registers a test in each domain that starts servers itself. */
function startWithGates(
  name: string,
  run: (start: (settings: ServerSettings) => Promise<Api>, lines: string[]) => Promise<void>,
): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, { skip }, async () => {
      const { openLog } = await import("#std/log.ts");
      const opened: Api[] = [];
      const lines: string[] = [];
      const log = openLog({ format: "json", verbosity: 0, write: (line) => void lines.push(line) });
      try {
        await run(async (settings) => {
          const api = new Api(await openServer(domain, settings, { log }));
          opened.push(api);
          return api;
        }, lines);
      } finally {
        for (const api of opened) await api.server.close();
      }
    });
  }
}

const inBothDomains = suite({});

withOwnServer(
  "alpha gates are off and can be switched on [GATE-01] [GATE-02]",
  { featureGates: ["CrossNamespaceVolumeDataSource=true"] },
  async (api) => {
    (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
    const dataSourceRef = { apiGroup: "example.com", kind: "Foo", name: "f", namespace: "other" };
    (await api.post(namespacePaths("n1").claims, claim("c1", { dataSourceRef }))).expect(201, {
      "spec.dataSourceRef.namespace": "other",
    });
  },
);

inBothDomains("beta gates are on, unless they are not [GATE-01] [GATE-03]", async (api) => {
  const { claims } = await api.createNamespace();
  const dataSourceRef = { apiGroup: "example.com", kind: "Foo", name: "f" };
  (await api.post(claims, claim("c1", { dataSourceRef, volumeAttributesClassName: "x" }))).expect(201, {
    "spec.dataSourceRef.name": "f",
    "spec.volumeAttributesClassName": absent,
  });
  (await api.post(claims, claim("c2", { dataSourceRef: { ...dataSourceRef, namespace: "other" } }))).expect(201, {
    "spec.dataSourceRef": absent,
  });
});

startWithGates(
  "a gate that became general may be set to true, which changes nothing but the log [GATE-05] [GATE-06]",
  async (start, lines) => {
    const api = await start({ featureGates: ["APIListChunking=true"] });
    (await api.get("/readyz")).expect(200);
    const warned = lines.filter((line) => line.includes("APIListChunking"));
    assert.equal(warned.length, 1, lines.join(""));
    assert.match(warned[0]!, /Setting GA feature gate APIListChunking=true\. It will be removed in a future release/);
  },
);

startWithGates("a deprecated gate may be set, and the log says that it will go [VER-30]", async (start, lines) => {
  const api = await start({ featureGates: ["KMSv1=true"] });
  (await api.get("/readyz")).expect(200);
  const warned = lines.filter((line) => line.includes("KMSv1"));
  assert.equal(warned.length, 1, lines.join(""));
  assert.match(warned[0]!, /Setting deprecated feature gate KMSv1=true\. It will be removed in a future release/);
});

startWithGates("an unknown gate stops the start [GATE-07]", async (start) => {
  await assert.rejects(start({ featureGates: ["NoSuchGate=true"] }), /unrecognized feature gate: NoSuchGate/);
});

startWithGates("a gate that is locked cannot be switched off [GATE-08]", async (start) => {
  await assert.rejects(
    start({ featureGates: ["APIListChunking=false"] }),
    /cannot set feature gate APIListChunking to false, feature is locked to true/,
  );
});

startWithGates("gates are pairs of a name and a boolean, several at a time [GATE-09]", async (start) => {
  const api = await start({
    featureGates: ["VolumeAttributesClass=true", "AnyVolumeDataSource=false"],
    runtimeConfig: ["storage.k8s.io/v1beta1"],
  });
  (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
  (await api.post(attributesClasses, attributesClass("v1"))).expect(201);
  const dataSourceRef = { apiGroup: "example.com", kind: "Foo", name: "f" };
  (await api.post(namespacePaths("n1").claims, claim("c1", { dataSourceRef }))).expect(201, {
    "spec.dataSourceRef": absent,
  });
  for (const bad of ["VolumeAttributesClass=maybe", "VolumeAttributesClass", "=true"]) {
    await assert.rejects(start({ featureGates: [bad] }), /feature|gate|VolumeAttributesClass/i, bad);
  }
});

inBothDomains(
  "versions have known names, and none but stable ones are served by default [VER-01] [VER-02] [VER-03] [VER-05] [VER-06]",
  async (api) => {
    (await api.get("/api/v1")).expect(200);
    const groups = (await api.get("/apis")).expect(200).list("groups");
    assert.ok(groups.length > 10);
    for (const group of groups) {
      for (const version of group.list("versions")) {
        assert.match(version.string("version"), /^v[0-9]+((alpha|beta)[0-9]+)?$/);
        assert.match(version.string("version"), /^v[0-9]+$/, group.string("name"));
      }
    }
    for (const path of [
      "/apis/resource.k8s.io/v1alpha3",
      "/apis/storagemigration.k8s.io/v1alpha1",
      "/apis/internal.apiserver.k8s.io/v1alpha1",
      "/apis/admissionregistration.k8s.io/v1alpha1",
      "/apis/coordination.k8s.io/v1alpha2",
      "/apis/authentication.k8s.io/v1alpha1",
    ]) {
      (await api.get(path)).expect(404);
    }
  },
);

inBothDomains("beta versions are not served by default [VER-04]", async (api) => {
  const { templates } = await api.createNamespace();
  for (const path of [
    templates,
    attributesClasses,
    "/apis/resource.k8s.io/v1beta1",
    "/apis/storage.k8s.io/v1beta1",
    "/apis/networking.k8s.io/v1beta1",
    "/apis/admissionregistration.k8s.io/v1beta1",
  ]) {
    (await api.get(path)).expect(404);
  }
});

withOwnServer(
  "versions are switched by pairs; without a value they are on [VER-07] [VER-08] [VER-09]",
  {
    featureGates: ["DynamicResourceAllocation=true"],
    runtimeConfig: ["batch/v1=false", "resource.k8s.io/v1beta1", "autoscaling/v1=false"],
  },
  async (api) => {
    (await api.get("/apis/batch/v1")).expect(404);
    (await api.get("/apis/batch/v1/jobs")).expect(404);
    (await api.get("/apis/batch")).expect(404);
    (await api.get("/apis/resource.k8s.io/v1beta1")).expect(200);
    (await api.get("/apis/resource.k8s.io/v1beta1/resourceclaimtemplates")).expect(200);
    (await api.get("/apis/autoscaling/v1")).expect(404);
    (await api.get("/apis/autoscaling/v2")).expect(200);
    const groups = (await api.get("/apis"))
      .expect(200)
      .list("groups")
      .map((group) => group.string("name"));
    assert.ok(!groups.includes("batch") && groups.includes(api.name("resource.k8s.io")));
  },
);

withOwnServer(
  "an alpha version can be switched on [VER-10]",
  {
    featureGates: ["DynamicResourceAllocation=true", "StorageVersionAPI=true"],
    runtimeConfig: ["resource.k8s.io/v1alpha3=true", "internal.apiserver.k8s.io/v1alpha1=true"],
  },
  async (api) => {
    (await api.get("/apis/resource.k8s.io/v1alpha3")).expect(200, { kind: "APIResourceList" });
    (await api.get("/apis/resource.k8s.io/v1alpha3/resourceclaimtemplates")).expect(200);
    (await api.get("/apis/internal.apiserver.k8s.io/v1alpha1")).expect(200);
  },
);

withOwnServer(
  "one resource can be switched off [VER-11]",
  { runtimeConfig: ["apps/v1/replicasets=false"] },
  async (api) => {
    (await api.get("/apis/apps/v1/replicasets")).expect(404);
    (await api.get("/apis/apps/v1/deployments")).expect(200);
    const resources = (await api.get("/apis/apps/v1"))
      .expect(200)
      .list("resources")
      .map((each) => each.string("name"));
    assert.ok(!resources.includes("replicasets") && !resources.includes("replicasets/status"), resources.join());
    assert.ok(resources.includes("deployments/status"));
  },
);

withOwnServer(
  "all of a kind of versions can be switched [VER-07]",
  { runtimeConfig: ["api/all=false", "api/v1=true", "apps/v1=true"] },
  async (api) => {
    (await api.get("/api/v1")).expect(200);
    (await api.get("/apis/apps/v1")).expect(200);
    (await api.get("/apis/batch/v1")).expect(404);
  },
);

startWithGates("an unknown version stops the start [VER-07]", async (start) => {
  for (const key of ["apps/v9", "no-such-group.example.com/v1", "apps/v1=maybe"]) {
    await assert.rejects(start({ runtimeConfig: [key] }), /runtime-config|unknown|apps|no-such/, key);
  }
});

startWithGates("what is served changes with a new start, and objects wait for it [VER-12]", async (start) => {
  const rename = renamer("k8s.io");
  const base = { storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
  const gates = { featureGates: ["VolumeAttributesClass=true"], runtimeConfig: [rename("storage.k8s.io/v1beta1")] };
  const on = await start({ ...base, ...gates });
  (await on.post(attributesClasses, attributesClass("v1"))).expect(201);
  await on.server.close();
  const off = await start(base);
  (await off.get(attributesClasses)).expect(404);
  await off.server.close();
  const again = await start({ ...base, ...gates });
  (await again.get(`${attributesClasses}/v1`)).expect(200);
});

inBothDomains(
  "removed versions are not served [VER-39] [VER-42] [VER-44] [VER-45] [VER-46] [VER-48] [VER-49] [VER-52] [VER-53] [VER-54] [VER-57] [VER-58]",
  async (api) => {
    for (const path of [
      "/apis/flowcontrol.apiserver.k8s.io/v1beta3",
      "/apis/flowcontrol.apiserver.k8s.io/v1beta2",
      "/apis/flowcontrol.apiserver.k8s.io/v1beta1",
      "/apis/storage.k8s.io/v1beta1/csistoragecapacities",
      "/apis/autoscaling/v2beta2",
      "/apis/autoscaling/v2beta1",
      "/apis/batch/v1beta1",
      "/apis/discovery.k8s.io/v1beta1",
      "/apis/events.k8s.io/v1beta1",
      "/apis/policy/v1beta1/poddisruptionbudgets",
      "/apis/policy/v1beta1/podsecuritypolicies",
      "/apis/node.k8s.io/v1beta1",
    ]) {
      (await api.get(path)).expect(404);
    }
    (await api.get("/apis/flowcontrol.apiserver.k8s.io/v1")).expect(200);
  },
);
