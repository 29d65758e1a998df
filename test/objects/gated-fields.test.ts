/** Fields whose feature gates are off are not stored, unless the object has them already. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { patchTypes } from "../client.ts";
import { type Api, domains, suite, temporaryFolder, usingServer, withOwnServer } from "../harness.ts";
import { pod } from "../objects.ts";
import { absent, type Expected, type Fields, present } from "../view.ts";

/** A field of pod specs. */
interface Row {
  readonly gate: string;
  /** A spec that has the field. */
  readonly spec: Fields;
  readonly path: string;
  /** The stored value while the gate is off; by default the field is absent. */
  readonly becomes?: Expected;
}

const container = { name: "c", image: "i:1" };
const inContainer = (fields: Fields): Fields => ({ containers: [{ ...container, ...fields }] });
const init = (fields: Fields): Fields => ({ initContainers: [{ ...container, name: "init", ...fields }] });
const bundle = { clusterTrustBundle: { name: "ca", path: "ca.pem" } };
const term = { topologyKey: "zone", labelSelector: { matchLabels: { app: "a" } } };
const spread = (fields: Fields): Fields => ({
  topologySpreadConstraints: [{ ...term, maxSkew: 1, whenUnsatisfiable: "DoNotSchedule", ...fields }],
});
const apart = (fields: Fields): Fields => ({
  affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, ...fields }] } },
});
const constraint = "topologySpreadConstraints.0";
const antiAffinity = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution.0";
const unmasked = { securityContext: { procMount: "Unmasked" } };

const offByDefault: readonly Row[] = [
  {
    gate: "DynamicResourceAllocation",
    spec: { resourceClaims: [{ name: "r", resourceClaimName: "x" }] },
    path: "resourceClaims",
  },
  {
    gate: "DynamicResourceAllocation",
    spec: {
      resourceClaims: [{ name: "r", resourceClaimName: "x" }],
      ...inContainer({ resources: { claims: [{ name: "r" }] } }),
    },
    path: "containers.0.resources.claims",
  },
  {
    gate: "InPlacePodVerticalScaling",
    spec: inContainer({ resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] }),
    path: "containers.0.resizePolicy",
  },
  { gate: "PodLevelResources", spec: { resources: { requests: { cpu: "1" } } }, path: "resources" },
  {
    gate: "ProcMountType",
    spec: { hostUsers: false, ...inContainer(unmasked) },
    path: "containers.0.securityContext.procMount",
    becomes: "Default",
  },
  {
    gate: "ProcMountType",
    spec: { hostUsers: false, ...init(unmasked) },
    path: "initContainers.0.securityContext.procMount",
    becomes: "Default",
  },
  { gate: "UserNamespacesSupport", spec: { hostUsers: false }, path: "hostUsers" },
  {
    gate: "SELinuxChangePolicy",
    spec: { securityContext: { seLinuxChangePolicy: "Recursive" } },
    path: "securityContext.seLinuxChangePolicy",
  },
  {
    gate: "SupplementalGroupsPolicy",
    spec: { securityContext: { supplementalGroupsPolicy: "Strict" } },
    path: "securityContext.supplementalGroupsPolicy",
  },
  {
    gate: "ImageVolume",
    spec: {
      volumes: [{ name: "v", image: { reference: "i:1" } }],
      ...inContainer({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    },
    path: "volumes",
  },
  {
    gate: "ImageVolume",
    spec: {
      volumes: [{ name: "v", image: { reference: "i:1" } }],
      ...inContainer({ volumeMounts: [{ name: "v", mountPath: "/v" }] }),
    },
    path: "containers.0.volumeMounts",
  },
  {
    gate: "ClusterTrustBundleProjection",
    spec: { volumes: [{ name: "v", projected: { sources: [bundle, { secret: { name: "s" } }] } }] },
    path: "volumes.0.projected.sources.0.clusterTrustBundle",
  },
];

const onByDefault: readonly Row[] = [
  {
    gate: "SidecarContainers",
    spec: init({ restartPolicy: "Always" }),
    path: "initContainers.0.restartPolicy",
  },
  {
    gate: "PodLifecycleSleepAction",
    spec: inContainer({ lifecycle: { preStop: { sleep: { seconds: 1 } } } }),
    path: "containers.0.lifecycle",
  },
  {
    gate: "RecursiveReadOnlyMounts",
    spec: {
      volumes: [{ name: "v", emptyDir: {} }],
      ...inContainer({
        volumeMounts: [{ name: "v", mountPath: "/v", readOnly: true, recursiveReadOnly: "Enabled" }],
      }),
    },
    path: "containers.0.volumeMounts.0.recursiveReadOnly",
  },
  {
    gate: "MatchLabelKeysInPodTopologySpread",
    spec: spread({ matchLabelKeys: ["version"] }),
    path: `${constraint}.matchLabelKeys`,
  },
  {
    gate: "NodeInclusionPolicyInPodTopologySpread",
    spec: spread({ nodeAffinityPolicy: "Ignore" }),
    path: `${constraint}.nodeAffinityPolicy`,
  },
  {
    gate: "NodeInclusionPolicyInPodTopologySpread",
    spec: spread({ nodeTaintsPolicy: "Honor" }),
    path: `${constraint}.nodeTaintsPolicy`,
  },
  {
    gate: "MatchLabelKeysInPodAffinity",
    spec: apart({ mismatchLabelKeys: ["version"] }),
    path: `${antiAffinity}.mismatchLabelKeys`,
  },
];

const isSwitched = (rows: readonly Row[], value: boolean): string[] =>
  [...new Set(rows.map(({ gate }) => gate))].map((gate) => `${gate}=${value}`);

const corePath = "/api/v1/namespaces/default";
const podTemplates = `${corePath}/podtemplates`;
const deployments = "/apis/apps/v1/namespaces/default/deployments";

const podTemplate = (name: string, spec: Fields): Fields => ({
  apiVersion: "v1",
  kind: "PodTemplate",
  metadata: { name },
  template: { spec: { ...inContainer({}), ...spec } },
});

const labels = { app: "a" };
const withSelector = (spec: Fields): Fields => ({
  selector: { matchLabels: labels },
  template: { metadata: { labels }, spec: { ...inContainer({}), ...spec } },
});

/** Returns a deployment, or another workload. */
const workload = (spec: Fields, apiVersion: string, kind: string, name = "w"): Fields => ({
  apiVersion,
  kind,
  metadata: { name },
  spec,
});

const onDefaultServer = suite({ controllers: ["-*"], disableAdmissionPlugins: ["ServiceAccount"] });

onDefaultServer("pods and templates are stored without fields whose gates are off [GATE-01]", async (api) => {
  for (const { spec, path, becomes = absent } of offByDefault) {
    (await api.post(`${corePath}/pods?dryRun=All`, pod("p", { ...inContainer({}), ...spec }))).expect(201, {
      [`spec.${path}`]: becomes,
    });
    (await api.post(`${podTemplates}?dryRun=All`, podTemplate("t", spec))).expect(201, {
      [`template.spec.${path}`]: becomes,
    });
  }
});

onDefaultServer("so are the templates of every workload", async (api) => {
  const spec = { hostUsers: true, restartPolicy: "Never" };
  const always = { hostUsers: true };
  const apps = "/apis/apps/v1/namespaces/default";
  const batch = "/apis/batch/v1/namespaces/default";
  const job = { template: { spec: { ...inContainer({}), ...spec } } };
  const all: readonly (readonly [path: string, body: Fields, field: string])[] = [
    [`${apps}/deployments`, workload(withSelector(always), "apps/v1", "Deployment"), "spec.template"],
    [`${apps}/replicasets`, workload(withSelector(always), "apps/v1", "ReplicaSet"), "spec.template"],
    [`${apps}/daemonsets`, workload(withSelector(always), "apps/v1", "DaemonSet"), "spec.template"],
    [
      `${apps}/statefulsets`,
      workload({ serviceName: "w", ...withSelector(always) }, "apps/v1", "StatefulSet"),
      "spec.template",
    ],
    [
      `${corePath}/replicationcontrollers`,
      workload({ template: withSelector(always)["template"] }, "v1", "ReplicationController"),
      "spec.template",
    ],
    [`${batch}/jobs`, workload(job, "batch/v1", "Job"), "spec.template"],
    [
      `${batch}/cronjobs`,
      workload({ schedule: "@hourly", jobTemplate: { spec: job } }, "batch/v1", "CronJob"),
      "spec.jobTemplate.spec.template",
    ],
  ];
  for (const [path, body, field] of all) {
    (await api.post(path, body)).expect(201, { [`${field}.spec.hostUsers`]: absent, [`${field}.spec`]: present });
  }
});

onDefaultServer("an update, a patch and an apply drop them, and change nothing", async (api) => {
  const answer = (await api.post(deployments, workload(withSelector({}), "apps/v1", "Deployment", "d"))).expect(201);
  const kept = { "spec.template.spec.hostUsers": absent, "metadata.generation": 1 };
  const change = { spec: { template: { spec: { hostUsers: false } } } };
  const path = `${deployments}/d`;
  const next = workload(withSelector({ hostUsers: false }), "apps/v1", "Deployment", "d");
  (await api.put(path, next)).expect(200, kept);
  (await api.patch(path, change)).expect(200, kept);
  (await api.patch(path, change, patchTypes.strategic)).expect(200, kept);
  const applied = (await api.patch(`${path}?fieldManager=me&force=true`, next, patchTypes.apply)).expect(200, kept);
  assert.equal(applied.at("metadata.uid"), answer.at("metadata.uid"));
  // The manager owns the requested field.
  applied.has({ "metadata.managedFields[manager=me].fieldsV1.f:spec.f:template.f:spec.f:hostUsers": {} });
});

/** Runs a part of a test with a server with these gates in a folder, and closes the server. */
const withGates = (
  domain: (typeof domains)[number],
  dataDir: string,
  featureGates: readonly string[],
  run: (api: Api) => Promise<void>,
): Promise<void> => usingServer(domain, { storage: "disk", dataDir, controllers: ["-*"], featureGates }, run);

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

for (const domain of domains) {
  test(`${domain}: an object that has such a field keeps it, and may have it elsewhere [GATE-02] [GATE-04]`, {
    skip,
  }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const rows = [...offByDefault, ...onByDefault];
    const stored = new Map<number, unknown>();
    await withGates(domain, dataDir, isSwitched(rows, true), async (api) => {
      for (const [at, { spec, path }] of rows.entries()) {
        const answer = await api.post(podTemplates, podTemplate(`t${at}`, spec));
        answer.expect(201, { [`template.spec.${path}`]: present });
        stored.set(at, answer.at("template.spec"));
      }
      (await api.post(podTemplates, podTemplate("plain", {}))).expect(201);
    });
    await withGates(domain, dataDir, isSwitched(rows, false), async (api) => {
      for (const [at, { spec, path, becomes = absent }] of rows.entries()) {
        const one = `${podTemplates}/t${at}`;
        const labelled = (await api.patch(one, { metadata: { labels } })).expect(200);
        assert.deepEqual(labelled.at("template.spec"), stored.get(at), path);
        (await api.put(`${podTemplates}/plain?dryRun=All`, podTemplate("plain", spec))).expect(200, {
          [`template.spec.${path}`]: becomes,
        });
        // A removed field cannot be set again.
        (await api.put(one, podTemplate(`t${at}`, {}))).expect(200, { [`template.spec.${path}`]: absent });
        (await api.put(one, podTemplate(`t${at}`, spec))).expect(200, { [`template.spec.${path}`]: becomes });
      }
    });
  });

  test(`${domain}: one container's resize policy or masks allow those of the others`, { skip }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const gates = ["InPlacePodVerticalScaling", "ProcMountType", "UserNamespacesSupport"];
    const policy = { resizePolicy: [{ resourceName: "cpu", restartPolicy: "NotRequired" }] };
    const two = (first: Fields, second: Fields): Fields => ({
      hostUsers: false,
      containers: [
        { ...container, ...first },
        { ...container, name: "d", ...second },
      ],
    });
    await withGates(
      domain,
      dataDir,
      gates.map((gate) => `${gate}=true`),
      async (api) => {
        (await api.post(podTemplates, podTemplate("used", two({ ...policy, ...unmasked }, {})))).expect(201);
      },
    );
    await withGates(domain, dataDir, [], async (api) => {
      const next = podTemplate("used", two({ ...policy }, { ...policy, ...unmasked }));
      (await api.put(`${podTemplates}/used`, next)).expect(200, {
        "template.spec.containers.1.resizePolicy": policy.resizePolicy,
        "template.spec.containers.1.securityContext.procMount": "Unmasked",
      });
    });
  });
}

onDefaultServer("the status of a pod takes them, and the next update of the pod drops them", async (api) => {
  const pods = `${corePath}/pods`;
  (await api.post(pods, pod("one", inContainer({})))).expect(201);
  const amounts = { cpu: "1" };
  const status = {
    phase: "Running",
    resize: "InProgress",
    containerStatuses: [
      {
        ...container,
        imageID: "",
        ready: true,
        restartCount: 0,
        name: "c",
        allocatedResources: amounts,
        resources: { requests: amounts },
        user: { linux: { uid: 1, gid: 1 } },
      },
    ],
  };
  const fields = [
    "resize",
    ...["allocatedResources", "resources", "user"].map((name) => `containerStatuses.0.${name}`),
  ];
  const all = (expected: Expected): Fields => Object.fromEntries(fields.map((name) => [`status.${name}`, expected]));
  (await api.patch(`${pods}/one/status`, { status })).expect(200, all(present));
  (await api.patch(`${pods}/one`, { metadata: { labels } })).expect(200, all(absent));
});

withOwnServer(
  "without their gates the fields of other kinds are not stored [GATE-04]",
  {
    controllers: ["-*"],
    featureGates: [
      "JobBackoffLimitPerIndex=false",
      "JobManagedBy=false",
      "JobPodReplacementPolicy=false",
      "JobSuccessPolicy=false",
      "SELinuxMountReadWriteOncePod=false",
      "ServiceTrafficDistribution=false",
      "TopologyAwareHints=false",
      "RecursiveReadOnlyMounts=false",
      "CRDValidationRatcheting=false",
      "DynamicResourceAllocation=true",
    ],
    runtimeConfig: ["resource.k8s.io/v1beta1=true"],
  },
  async (api) => {
    const create = async (path: string, body: Fields, fields: Fields): Promise<void> => {
      (await api.post(path, { metadata: { name: "one" }, ...body })).expect(201, fields);
    };
    const rules = [
      { action: "FailIndex", onExitCodes: { operator: "In", values: [1] } },
      { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget" }] },
    ];
    await create(
      "/apis/batch/v1/namespaces/default/jobs",
      {
        spec: {
          completionMode: "Indexed",
          completions: 2,
          backoffLimitPerIndex: 1,
          maxFailedIndexes: 1,
          managedBy: "example.com/other",
          podFailurePolicy: { rules },
          podReplacementPolicy: "Failed",
          successPolicy: { rules: [{ succeededCount: 1 }] },
          template: { spec: { ...inContainer({}), restartPolicy: "Never" } },
        },
      },
      {
        "spec.backoffLimitPerIndex": absent,
        "spec.maxFailedIndexes": absent,
        "spec.managedBy": absent,
        "spec.podReplacementPolicy": absent,
        "spec.successPolicy": absent,
        "spec.podFailurePolicy.rules.length": 1,
        "spec.podFailurePolicy.rules.0.action": "Ignore",
      },
    );
    const onlyIndexes = { podFailurePolicy: { rules: rules.slice(0, 1) }, completionMode: "Indexed", completions: 2 };
    await create(
      "/apis/batch/v1/namespaces/default/jobs",
      {
        metadata: { name: "two" },
        spec: { ...onlyIndexes, template: { spec: { ...inContainer({}), restartPolicy: "Never" } } },
      },
      { "spec.podFailurePolicy": { rules: null } },
    );
    const drivers = "/apis/storage.k8s.io/v1/csidrivers";
    await create(drivers, { spec: { seLinuxMount: true } }, { "spec.seLinuxMount": absent });
    await create(
      `${corePath}/services`,
      { spec: { ports: [{ port: 80 }], trafficDistribution: "PreferClose" } },
      { "spec.trafficDistribution": absent },
    );
    await create(
      "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
      { addressType: "IPv4", endpoints: [{ addresses: ["10.0.0.1"], hints: { forZones: [{ name: "a" }] } }] },
      { "endpoints.0.hints": absent, "endpoints.0.addresses": ["10.0.0.1"] },
    );
    await create(
      "/api/v1/nodes",
      {
        spec: { configSource: { configMap: { name: "a", namespace: "b", kubeletConfigKey: "c" } } },
        status: { runtimeHandlers: [{ name: "x" }], features: { supplementalGroupsPolicy: true } },
      },
      { "spec.configSource": absent, "status.runtimeHandlers": absent, "status.features": absent },
    );
    await create(
      "/apis/coordination.k8s.io/v1/namespaces/default/leases",
      { spec: { holderIdentity: "a", strategy: "OldestEmulationVersion", preferredHolder: "b" } },
      { "spec.holderIdentity": "a", "spec.strategy": absent, "spec.preferredHolder": absent },
    );
    const volume = { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, nfs: { server: "a", path: "/" } };
    await create(
      "/api/v1/persistentvolumes",
      { spec: { ...volume, volumeAttributesClassName: "fast" } },
      { "spec.volumeAttributesClassName": absent },
    );
    const requests = [{ name: "r", deviceClassName: "c", adminAccess: true }];
    await create(
      "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaims",
      { spec: { devices: { requests } } },
      { "spec.devices.requests.0.adminAccess": absent, "spec.devices.requests.0.name": "r" },
    );
    await create(
      "/apis/resource.k8s.io/v1beta1/namespaces/default/resourceclaimtemplates",
      { spec: { spec: { devices: { requests } } } },
      { "spec.spec.devices.requests.0.adminAccess": absent },
    );
    const rule = { rule: "self != ''", optionalOldSelf: false };
    const schema = {
      type: "object",
      properties: { a: { type: "string", "x-kubernetes-validations": [rule] } },
    };
    await create(
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      {
        metadata: { name: "widgets.example.com" },
        spec: {
          group: "example.com",
          scope: "Cluster",
          names: { plural: "widgets", kind: "Widget" },
          versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
        },
      },
      {
        "spec.versions.0.schema.openAPIV3Schema.properties.a.x-kubernetes-validations": [{ rule: "self != ''" }],
      },
    );
  },
);

for (const [isOn, name] of [
  [true, "are refused where resources of pods are served"],
  [false, "are dropped where they are not"],
] as const) {
  withOwnServer(
    `claims of a whole pod, even none, ${name}`,
    { featureGates: [`PodLevelResources=${isOn}`] },
    async (api) => {
      const { ns } = await api.createNamespace();
      const pods = `/api/v1/namespaces/${ns}/pods`;
      const wrong = /spec\.resources\.claims: Forbidden: claims cannot be set for Resources at pod-level$/;
      const answer = await api.post(pods, pod("none", { resources: { requests: { cpu: "1" }, claims: [] } }));
      if (isOn) answer.expectFailure(422, "Invalid", wrong);
      else answer.expect(201, { "spec.resources": absent });
      (await api.post(pods, pod("null", { resources: { claims: null } }))).expect(201, {
        "spec.resources.claims": absent,
      });
    },
  );
}
