/**
 * Versions: those that were removed and what replaced them, those that are deprecated and what a client is told, and the
 * same objects through each version that is served.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Answer } from "../client.ts";
import { Api, domains, file, openServer, renamer, suite, temporaryFolder, withOwnServer } from "../harness.ts";

const inBothDomains = suite();

type Json = Record<string, unknown>;

const notFound = "the server could not find the requested resource";

inBothDomains(
  "versions that were removed are not there, and what replaced them is [VER-76..79] [VER-81] [VER-88] [VER-93] [VER-102]",
  async (api) => {
    const collections: readonly (readonly [removed: string, replacement: string])[] = [
      ["/apis/scheduling.k8s.io/v1beta1/priorityclasses", "/apis/scheduling.k8s.io/v1/priorityclasses"],
      ...["roles", "rolebindings", "clusterroles", "clusterrolebindings"].map((resource) => {
        const group = "/apis/rbac.authorization.k8s.io";
        return [`${group}/v1beta1/${resource}`, `${group}/v1/${resource}`] as const;
      }),
      ...["csidrivers", "csinodes", "storageclasses", "volumeattachments"].map(
        (resource) => [`/apis/storage.k8s.io/v1beta1/${resource}`, `/apis/storage.k8s.io/v1/${resource}`] as const,
      ),
      [
        "/apis/certificates.k8s.io/v1beta1/certificatesigningrequests",
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
      ],
      ["/apis/extensions/v1beta1/ingresses", "/apis/networking.k8s.io/v1/ingresses"],
      ["/apis/networking.k8s.io/v1beta1/ingresses", "/apis/networking.k8s.io/v1/ingresses"],
      ["/apis/networking.k8s.io/v1beta1/ingressclasses", "/apis/networking.k8s.io/v1/ingressclasses"],
      ["/apis/extensions/v1beta1/networkpolicies", "/apis/networking.k8s.io/v1/networkpolicies"],
      ...["extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"].flatMap((version) =>
        ["daemonsets", "deployments", "replicasets"].map(
          (resource) => [`/apis/${version}/${resource}`, `/apis/apps/v1/${resource}`] as const,
        ),
      ),
      ["/apis/apps/v1beta1/statefulsets", "/apis/apps/v1/statefulsets"],
    ];
    for (const [removed, replacement] of collections) {
      (await api.get(removed)).expect(404);
      (await api.post(removed, {})).expect(404);
      (await api.get(replacement)).expect(200);
    }
    (await api.get("/apis/storage.k8s.io/v1beta1/storageclasses")).expectFailure(404, "NotFound", notFound);
    (await api.get("/apis/extensions/v1beta1/podsecuritypolicies")).expect(404);
    for (const kind of ["selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"]) {
      const group = "/apis/authorization.k8s.io";
      (await api.post(`${group}/v1beta1/${kind}`, { spec: {} })).expectFailure(404, "NotFound", notFound);
      (await api.post(`${group}/v1/${kind}`, { spec: {} })).expect([201, 400, 422]);
    }
    const review = (groups: readonly string[]) => ({
      spec: { user: "nobody-known", groups, resourceAttributes: { verb: "get", resource: "pods" } },
    });
    const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    (await api.post(reviews, review(["system:masters"]))).expect(201, { "status.allowed": true });
    (await api.post(reviews, review([]))).expect(201, { "status.allowed": false });
    const old = { spec: { user: "nobody-known", group: ["system:masters"] } };
    (await api.post(`${reviews}?fieldValidation=Strict`, old)).expectFailure(
      400,
      "BadRequest",
      /unknown field "spec.group"/,
    );
  },
);

inBothDomains("a review by the groups of the first version has them [VER-80]", async (api) => {
  const attributes = { verb: "get", resource: "pods" };
  const spec = { user: "nobody-known", groups: ["system:masters"], resourceAttributes: attributes };
  (await api.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec })).expect(201, {
    "spec.groups": ["system:masters"],
    "status.allowed": true,
  });
});

inBothDomains("discovery lists what is served, and nothing else answers [VER-103]", async (api) => {
  const groups = (await api.get("/apis")).expect(200).list("groups");
  const listed = groups.flatMap((group) => group.list("versions").map((version) => version.string("groupVersion")));
  for (const version of listed) (await api.get(`/apis/${version}`)).expect(200, { groupVersion: version });
  for (const group of groups) {
    const name = group.string("name");
    for (const version of [
      "v1alpha1",
      "v1alpha2",
      "v1alpha3",
      "v1beta1",
      "v1beta2",
      "v1beta3",
      "v2beta1",
      "v2beta2",
      "v1",
      "v2",
    ]) {
      const isListed = listed.includes(`${name}/${version}`);
      (await api.get(`/apis/${name}/${version}`)).expect(isListed ? 200 : 404);
    }
  }
});

inBothDomains("the prefix of protobuf is that of this release [VER-14]", async (api) => {
  const answer = (
    await api.get("/api/v1/namespaces/default", { accept: "application/vnd.kubernetes.protobuf" })
  ).expect(200);
  assert.equal(answer.bytes.subarray(0, 4).toString("hex"), "6b387300");
});

/** Creates an object under `Strict`. */
const strictly = (api: Api, path: string, body: unknown): Promise<Answer> =>
  api.post(`${path}?fieldValidation=Strict`, body);

const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "example.com/c:1" }] },
};
const selector = { matchLabels: { app: "a" } };
const named = (name: string, spec: object): Json => ({ metadata: { name }, spec });

inBothDomains("workloads need a selector, which stays as it is [VER-94]", async (api) => {
  const { ns } = await api.createNamespace();
  for (const kind of ["deployments", "replicasets", "daemonsets", "statefulsets"]) {
    const path = `/apis/apps/v1/namespaces/${ns}/${kind}`;
    const more = kind === "statefulsets" ? { serviceName: "s" } : {};
    (await api.post(path, named("w", { template, ...more }))).expectFailure(
      422,
      "Invalid",
      /spec.selector: Required value|`selector` does not match template `labels`/,
    );
    const created = (await api.post(path, named("w", { template, selector, ...more }))).expect(201);
    const value = JSON.parse(created.text) as { spec: Json };
    const labels = { app: "a", more: "b" };
    const changed = {
      ...value.spec,
      selector: { matchLabels: labels },
      template: { ...template, metadata: { labels } },
    };
    (await api.put(`${path}/w`, { ...value, spec: changed })).expectFailure(422, "Invalid", /immutable|Forbidden/);
  }
});

inBothDomains("workloads have the defaults of their first version [VER-95] [VER-98..101]", async (api) => {
  const { ns } = await api.createNamespace();
  const apps = `/apis/apps/v1/namespaces/${ns}`;
  (await api.post(`${apps}/daemonsets`, named("w", { template, selector }))).expect(201, {
    "spec.updateStrategy.type": "RollingUpdate",
  });
  (await api.post(`${apps}/statefulsets`, named("w", { template, selector, serviceName: "s" }))).expect(201, {
    "spec.updateStrategy.type": "RollingUpdate",
  });
  (await api.post(`${apps}/deployments`, named("w", { template, selector }))).expect(201, {
    "spec.progressDeadlineSeconds": 600,
    "spec.revisionHistoryLimit": 10,
    "spec.strategy.rollingUpdate": { maxSurge: "25%", maxUnavailable: "25%" },
  });
});

inBothDomains(
  "fields that the first version dropped are unknown [VER-43] [VER-89] [VER-90] [VER-96] [VER-97]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const apps = `/apis/apps/v1/namespaces/${ns}`;
    const ingresses = `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`;
    const unknown = async (path: string, spec: object, field: string): Promise<void> => {
      const message = new RegExp(`unknown field "${field.replaceAll(/[.[\]]/g, String.raw`\$&`)}"`);
      (await strictly(api, path, named("w", spec))).expectFailure(400, "BadRequest", message);
    };
    await unknown(`${apps}/daemonsets`, { template, selector, templateGeneration: 1 }, "spec.templateGeneration");
    await unknown(`${apps}/deployments`, { template, selector, rollbackTo: { revision: 1 } }, "spec.rollbackTo");
    await unknown(ingresses, { backend: { service: { name: "s", port: { number: 80 } } } }, "spec.backend");
    const oldBackend = { serviceName: "s", servicePort: 80 };
    const rules = [{ http: { paths: [{ path: "/", pathType: "Prefix", backend: oldBackend }] } }];
    await unknown(ingresses, { rules }, "spec.rules[0].http.paths[0].backend.serviceName");
    await unknown(
      "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
      { type: "Limited", limited: { assuredConcurrencyShares: 5, limitResponse: { type: "Reject" } } },
      "spec.limited.assuredConcurrencyShares",
    );
  },
);

inBothDomains(
  "an ingress names the port of a service by number or name, and says how paths match [VER-91] [VER-92]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const ingresses = `/apis/networking.k8s.io/v1/namespaces/${ns}/ingresses`;
    const path = (pathType: string | undefined, port: object): object => ({
      rules: [
        { http: { paths: [{ path: "/", ...(pathType && { pathType }), backend: { service: { name: "s", port } } }] } },
      ],
    });
    const types = ["Prefix", "Exact", "ImplementationSpecific"];
    for (const [at, port] of [{ number: 80 }, { name: "web" }, { number: 81 }].entries()) {
      (await api.post(ingresses, named(`i${at}`, path(types[at], port)))).expect(201, {
        "spec.rules.0.http.paths.0.backend.service.port": port,
        "spec.rules.0.http.paths.0.pathType": types[at]!,
      });
    }
    const location = "spec.rules[0].http.paths[0].pathType";
    const refusal = async (pathType: string | undefined, message: string): Promise<void> => {
      const answer = await api.post(ingresses, named("i", path(pathType, { number: 80 })));
      answer.expectFailure(422, "Invalid");
      assert.ok(answer.string("message").includes(`${location}: ${message}`), answer.text);
    };
    await refusal(undefined, "Required value");
    await refusal("Foo", "Unsupported value");
  },
);

inBothDomains("slices have nodes and zones for each endpoint, and take no topology [VER-50] [VER-51]", async (api) => {
  const { ns } = await api.createNamespace();
  const slices = `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`;
  const endpoint = { addresses: ["10.0.0.1"], nodeName: "n1", zone: "z1" };
  const slice = (name: string, more: object): Json => ({
    metadata: { name },
    addressType: "IPv4",
    ports: [],
    endpoints: [{ ...endpoint, ...more }],
  });
  (await api.post(slices, slice("a", {}))).expect(201);
  (await api.get(`${slices}/a`)).expect(200, { "endpoints.0.nodeName": "n1", "endpoints.0.zone": "z1" });
  const created = (await api.post(slices, slice("b", { deprecatedTopology: { zone: "z" } }))).expect(201);
  assert.ok(!created.text.includes("deprecatedTopology"), created.text);
  (await strictly(api, slices, slice("c", { topology: { zone: "z" } }))).expectFailure(
    400,
    "BadRequest",
    /unknown field "endpoints\[0\].topology"/,
  );
});

const cpuTarget = (averageUtilization: number): object => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});
const scaled = { scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" }, maxReplicas: 3 };

inBothDomains(
  "an autoscaler has targets with types, which the first version shows as a percentage [VER-47]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const [first, second] = ["v1", "v2"].map(
      (version) => `/apis/autoscaling/${version}/namespaces/${ns}/horizontalpodautoscalers`,
    );
    (await api.post(second!, named("a", { ...scaled, metrics: [cpuTarget(70)] }))).expect(201, {
      "spec.metrics.0.resource.target": { type: "Utilization", averageUtilization: 70 },
    });
    (await api.get(`${first}/a`)).expect(200, { "spec.targetCPUUtilizationPercentage": 70 });
    (await api.post(first!, named("b", { ...scaled, targetCPUUtilizationPercentage: 60 }))).expect(201);
    (await api.get(`${second}/b`)).expect(200, { "spec.metrics": [cpuTarget(60)] });
  },
);

/** A device, and a request for one. */
const device = { name: "d1", basic: { attributes: { "example.com/model": { string: "m" } }, capacity: {} } };
const claimSpec = {
  devices: { requests: [{ name: "r", deviceClassName: "c", allocationMode: "ExactCount", count: 1 }] },
};

const moment = "2026-01-02T03:04:05.000006Z";
const pod = { kind: "Pod", namespace: "default", name: "p" };
/** The same event in its two groups. */
const events = {
  v1: {
    involvedObject: pod,
    message: "m",
    reason: "Why",
    type: "Normal",
    eventTime: moment,
    action: "Do",
    reportingComponent: "example.com/c",
    reportingInstance: "c-1",
    series: { count: 2, lastObservedTime: moment },
  },
  "events.k8s.io/v1": {
    regarding: pod,
    note: "m",
    reason: "Why",
    type: "Normal",
    eventTime: moment,
    action: "Do",
    reportingController: "example.com/c",
    reportingInstance: "c-1",
    series: { count: 2, lastObservedTime: moment },
  },
};

/** Kinds with several served versions: a path without the version, the versions, and the fields of an object. */
const manyVersions: readonly {
  readonly path: (version: string) => string;
  readonly versions: readonly string[];
  readonly fields: Json | ((version: string) => Json);
}[] = [
  {
    path: (version) => `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`,
    versions: ["v1", "v2"],
    fields: { spec: { ...scaled, minReplicas: 2 } },
  },
  {
    path: (version) => `${version === "v1" ? "/api" : "/apis"}/${version}/namespaces/default/events`,
    versions: Object.keys(events),
    fields: (version) => events[version as keyof typeof events], // one of its keys
  },
  {
    path: (version) => `/apis/admissionregistration.k8s.io/${version}/validatingadmissionpolicybindings`,
    versions: ["v1", "v1beta1"],
    fields: {
      spec: { policyName: "p", validationActions: ["Deny", "Audit"], matchResources: { namespaceSelector: {} } },
    },
  },
  {
    path: (version) => `/apis/admissionregistration.k8s.io/${version}/validatingadmissionpolicies`,
    versions: ["v1", "v1beta1"],
    fields: {
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }],
        },
        validations: [{ expression: "true", message: "m" }],
        failurePolicy: "Ignore",
      },
    },
  },
  {
    path: (version) => `/apis/storage.k8s.io/${version}/volumeattributesclasses`,
    versions: ["v1alpha1", "v1beta1"],
    fields: { driverName: "example.com/d", parameters: { a: "1" } },
  },
  {
    path: (version) => `/apis/resource.k8s.io/${version}/deviceclasses`,
    versions: ["v1alpha3", "v1beta1"],
    fields: { spec: { selectors: [{ cel: { expression: "true" } }] } },
  },
  {
    path: (version) => `/apis/resource.k8s.io/${version}/namespaces/default/resourceclaims`,
    versions: ["v1alpha3", "v1beta1"],
    fields: { spec: claimSpec },
  },
  {
    path: (version) => `/apis/resource.k8s.io/${version}/namespaces/default/resourceclaimtemplates`,
    versions: ["v1alpha3", "v1beta1"],
    fields: { spec: { metadata: { labels: { a: "b" } }, spec: claimSpec } },
  },
  {
    path: (version) => `/apis/resource.k8s.io/${version}/resourceslices`,
    versions: ["v1alpha3", "v1beta1"],
    fields: {
      spec: {
        driver: "example.com",
        nodeName: "n",
        pool: { name: "p", generation: 1, resourceSliceCount: 1 },
        devices: [device],
      },
    },
  },
];

const allVersions = {
  runtimeConfig: ["api/all=true"],
  featureGates: ["VolumeAttributesClass=true", "DynamicResourceAllocation=true"],
};

/** Returns an object without its version and what the server sets anew at each create. */
function content(answer: Answer): Json {
  const {
    metadata,
    apiVersion: _version,
    status: _status,
    ...rest
  } = JSON.parse(answer.text) as Json & { metadata: Json };
  const { labels, annotations, name } = metadata;
  return { ...rest, metadata: { name, labels, annotations } };
}

withOwnServer(
  "an object is the same after a way through each version that is served [VER-16]",
  allVersions,
  async (api) => {
    for (const { path, versions, fields } of manyVersions) {
      const fieldsIn = (version: string): Json => (typeof fields === "function" ? fields(version) : fields);
      for (const from of versions) {
        for (const to of versions) {
          const [first, second] = [`${path(from)}/o`, `${path(to)}/o`];
          const created = content(
            (await api.post(path(from), { metadata: { name: "o", labels: { a: "b" } }, ...fieldsIn(from) })).expect(
              201,
            ),
          );
          const elsewhere = content((await api.get(second)).expect(200));
          (await api.delete(first)).expect([200, 202]);
          const renamed = (await api.post(path(to), elsewhere)).expect(201);
          assert.deepEqual(content(renamed), elsewhere, `${path(to)} after ${from}`);
          assert.deepEqual(content((await api.get(first)).expect(200)), created, `${path(from)} through ${to}`);
          (await api.delete(first)).expect([200, 202]);
        }
      }
    }
  },
);

withOwnServer("the preferred version of a group is its most stable one [VER-21]", allVersions, async (api) => {
  const stability = (version: string): number => (version.includes("alpha") ? 0 : version.includes("beta") ? 1 : 2);
  const groups = (await api.get("/apis")).expect(200).list("groups");
  for (const group of groups) {
    const all = group.list("versions").map((version) => stability(version.string("version")));
    assert.equal(stability(group.string("preferredVersion.version")), Math.max(...all), group.string("name"));
  }
});

for (const domain of domains) {
  test(`${domain}: what was written in a version that is not served any more is read in another [VER-38] [VER-22]`, async () => {
    const base = {
      storage: "disk",
      dataDir: join(temporaryFolder(), "data"),
      featureGates: allVersions.featureGates,
    } as const;
    const run = async (version: string, use: (api: Api) => Promise<void>): Promise<void> => {
      const api = new Api(await openServer(domain, { ...base, runtimeConfig: [`resource.k8s.io/${version}=true`] }));
      try {
        await use(api);
      } finally {
        await api.server.close();
      }
    };
    const classes = (version: string): string => `/apis/resource.k8s.io/${version}/deviceclasses`;
    await run("v1alpha3", async (api) => {
      (await api.post(classes("v1alpha3"), named("old", { selectors: [{ cel: { expression: "true" } }] }))).expect(201);
      (await api.get(classes("v1beta1"))).expect(404);
    });
    await run("v1beta1", async (api) => {
      (await api.get(classes("v1alpha3"))).expect(404);
      (await api.get(`${classes("v1beta1")}/old`)).expect(200, {
        apiVersion: "resource.k8s.io/v1beta1",
        "spec.selectors": [{ cel: { expression: "true" } }],
      });
      (await api.patch(`${classes("v1beta1")}/old`, { metadata: { labels: { a: "b" } } })).expect(200);
    });
  });
}

for (const domain of domains) {
  test(`${domain}: a request for a deprecated version is answered with a warning, and counted`, async () => {
    const rename = renamer(domain);
    const auditLogPath = join(temporaryFolder(), "audit.log");
    const policy = { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules: [{ level: "Metadata" }] };
    const audit = { auditPolicyFile: file("policy.json", rename(JSON.stringify(policy))), auditLogPath };
    const api = new Api(await openServer(domain, { ...allVersions, ...audit }));
    try {
      const group = "admissionregistration.k8s.io";
      const old = `/apis/${group}/v1beta1/validatingadmissionpolicies`;
      const said = rename(`${group}/v1beta1 ValidatingAdmissionPolicy is deprecated in v1.31+, unavailable in v1.34+`);
      assert.deepEqual((await api.get(old)).expect(200).warnings, [said]);
      assert.deepEqual((await api.get(`${old}/none`)).expect(404).warnings, [said]);
      assert.deepEqual((await api.get(`/apis/${group}/v1/validatingadmissionpolicies`)).expect(200).warnings, []);
      assert.deepEqual((await api.get("/api/v1/componentstatuses")).expect(200).warnings, [
        "v1 ComponentStatus is deprecated in v1.19+",
      ]);
      const metrics = (await api.get("/metrics")).expect(200).text.split("\n");
      const counted = metrics.filter((line) => line.startsWith("apiserver_requested_deprecated_apis{")).sort();
      const labels = (of: string, version: string, resource: string, release: string): string =>
        `apiserver_requested_deprecated_apis{group="${of}",version="${version}",resource="${resource}",subresource="",removed_release="${release}"} 1`;
      assert.deepEqual(counted, [
        labels("", "v1", "componentstatuses", ""),
        labels(rename(group), "v1beta1", "validatingadmissionpolicies", "1.34"),
      ]);
    } finally {
      await api.server.close();
    }
    const events = readFileSync(auditLogPath, "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { requestURI: string; annotations?: Json });
    const marked = events.filter(({ annotations }) => annotations?.[rename("k8s.io/deprecated")] === "true");
    assert.deepEqual(
      marked.map(({ requestURI, annotations }) => [
        requestURI.split("/").at(-1),
        annotations?.[rename("k8s.io/removed-release")],
      ]),
      [
        ["validatingadmissionpolicies", "1.34"],
        ["none", "1.34"],
        ["componentstatuses", undefined],
      ],
    );
  });
}

const inUse = "apiserver_flowcontrol_request_concurrency_in_use";
const seats = "apiserver_flowcontrol_current_executing_seats";

inBothDomains("a metric that was deprecated is hidden in time [VER-34]", async (api) => {
  const metrics = (await api.get("/metrics")).expect(200).text;
  assert.ok(metrics.includes(`# TYPE ${seats} gauge`));
  assert.ok(!metrics.includes(inUse));
});

withOwnServer(
  "hidden metrics are shown on request, and say that they are deprecated [VER-33] [VER-35]",
  { showHiddenMetricsForVersion: "1.31", disabledMetrics: [seats] },
  async (api) => {
    const metrics = (await api.get("/metrics")).expect(200).text;
    assert.match(metrics, new RegExp(`^# HELP ${inUse} \\(Deprecated from 1\\.31\\) `, "m"));
    // This request is one; the server may make others of its own meanwhile.
    assert.match(metrics, new RegExp(`^${inUse}\\{priority_level="exempt",flow_schema="exempt"\\} [1-9]\\d*$`, "m"));
    assert.ok(!metrics.includes(seats));
  },
);

for (const domain of domains) {
  test(`${domain}: hidden metrics are shown for the previous minor version only [VER-35]`, async () => {
    for (const version of ["1.30", "1.32", "1", "x"]) {
      await assert.rejects(openServer(domain, { showHiddenMetricsForVersion: version }), {
        message: `invalid value "${version}" for showHiddenMetricsForVersion: must be 1.31, the previous minor version`,
      });
    }
  });
}
