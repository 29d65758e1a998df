/** Endpoints and EndpointSlices of services: selected pods and their conditions. */
import assert from "node:assert/strict";
import type { Api } from "../harness.ts";
import { eventually, gated, suite, withOwnServer } from "../harness.ts";
import { namespaces, pod } from "../objects.ts";
import { absent, present } from "../view.ts";

const settings = { ...gated, controllers: ["*"] };
const inBothDomains = suite(settings);

interface ServicePaths {
  readonly ns: string;
  readonly pods: string;
  readonly services: string;
  readonly endpoints: string;
  readonly slices: string;
  /** The name of a node in zone `z`. */
  readonly node: string;
}

async function createPaths(api: Api): Promise<ServicePaths> {
  const { ns } = await api.createNamespace();
  const core = `${namespaces}/${ns}`;
  const node = await createZonedNode(api, "z");
  return {
    ns,
    node,
    pods: `${core}/pods`,
    services: `${core}/services`,
    endpoints: `${core}/endpoints`,
    slices: `/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`,
  };
}

/** Creates a node in a zone. Returns its name. */
async function createZonedNode(api: Api, zone: string): Promise<string> {
  const name = api.unique("node");
  const labels = { "topology.kubernetes.io/zone": zone };
  (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, labels } })).expect(201);
  return name;
}

const service = (name: string, spec: object, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name, ...metadata },
  spec,
});

interface PodOptions {
  readonly ips: readonly string[];
  readonly ready?: boolean;
  readonly spec?: object;
  readonly labels?: object;
  readonly metadata?: object;
}

const ports = [{ name: "http", containerPort: 8080 }];

/** Creates a running pod on the node of `paths`, and returns its uid. */
async function createRunningPod(
  api: Api,
  paths: ServicePaths,
  name: string,
  { ips, ready = true, ...more }: PodOptions,
): Promise<string> {
  const spec = { nodeName: paths.node, containers: [{ name: "c", image: "i", ports }], ...more.spec };
  const body = pod(name, spec, { labels: { app: "web", ...more.labels }, ...more.metadata });
  const answer = await eventually(async () => (await api.post(paths.pods, body)).expect(201));
  await setStatus(api, paths, name, { ips, ready });
  return answer.string("metadata.uid");
}

async function setStatus(
  api: Api,
  paths: ServicePaths,
  name: string,
  { ips, ready }: { ips: readonly string[]; ready: boolean },
) {
  const condition = { type: "Ready", status: ready ? "True" : "False", lastTransitionTime: "2026-01-02T03:04:05Z" };
  const status = {
    phase: "Running",
    conditions: [condition],
    podIP: ips[0],
    podIPs: ips.map((ip) => ({ ip })),
  };
  (await api.patch(`${paths.pods}/${name}/status`, { status })).expect(200);
}

interface Slice {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly addressType: string;
  readonly ports: readonly object[] | null;
  readonly endpoints: readonly SliceEndpoint[] | null;
}

interface SliceEndpoint {
  readonly addresses: readonly string[];
  readonly conditions: object;
  readonly hostname?: string;
  readonly zone?: string;
  readonly hints?: { readonly forZones?: readonly { readonly name: string }[] };
}

async function slicesOf(api: Api, paths: ServicePaths, name: string): Promise<readonly Slice[]> {
  const selector = encodeURIComponent(`kubernetes.io/service-name=${name}`);
  const answer = (await api.get(`${paths.slices}?labelSelector=${api.name(selector)}`)).expect(200);
  return (JSON.parse(answer.text) as { items: readonly Slice[] }).items; // as the kind says
}

/** Returns all addresses in the slices of a service. */
const addressesOf = (slices: readonly Slice[]): string[] =>
  slices.flatMap(({ endpoints }) => (endpoints ?? []).flatMap(({ addresses }) => addresses)).sort();

async function seesAddresses(
  api: Api,
  paths: ServicePaths,
  name: string,
  wanted: readonly string[],
): Promise<readonly Slice[]> {
  return eventually(async () => {
    const slices = await slicesOf(api, paths, name);
    assert.deepEqual(addressesOf(slices), [...wanted].sort());
    return slices;
  });
}

inBothDomains("a service has the addresses of its ready pods, with ports by name and number", async (api) => {
  const paths = await createPaths(api);
  const twoPorts = [
    { name: "web", port: 80, targetPort: "http", appProtocol: "example.com/x" },
    { name: "fixed", port: 81, targetPort: 9090, protocol: "UDP" },
    { name: "none", port: 82, targetPort: "absent" },
  ];
  const metadata = { labels: { team: "a" } };
  const body = service("web", { selector: { app: "web" }, ports: twoPorts }, metadata);
  const owner = (await api.post(paths.services, body)).expect(201).string("metadata.uid");
  const uid = await createRunningPod(api, paths, "p1", {
    ips: ["10.1.0.1"],
    spec: { hostname: "first", subdomain: "web" },
  });
  await createRunningPod(api, paths, "p2", { ips: ["10.1.0.2"], ready: false });
  await createRunningPod(api, paths, "other", { ips: ["10.1.0.3"], labels: { app: "db" } });

  const [slice] = await seesAddresses(api, paths, "web", ["10.1.0.1", "10.1.0.2"]);
  await eventually(async () =>
    (await api.get(`${paths.slices}/${slice!.metadata.name}`)).expect(200, {
      "metadata.generateName": "web-",
      "metadata.labels": {
        team: "a",
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      },
      "metadata.annotations[endpoints.kubernetes.io/last-change-trigger-time]": present,
      "metadata.ownerReferences": [
        { apiVersion: "v1", kind: "Service", name: "web", uid: owner, controller: true, blockOwnerDeletion: true },
      ],
      addressType: "IPv4",
      "ports[name=web]": { name: "web", protocol: "TCP", port: 8080, appProtocol: "example.com/x" },
      "ports[name=fixed]": { name: "fixed", protocol: "UDP", port: 9090 },
      "ports.length": 2,
      "endpoints[hostname=first].addresses": ["10.1.0.1"],
      "endpoints[hostname=first].conditions": { ready: true, serving: true, terminating: false },
      "endpoints[hostname=first].nodeName": paths.node,
      "endpoints[hostname=first].zone": "z",
      "endpoints[hostname=first].targetRef": { kind: "Pod", namespace: paths.ns, name: "p1", uid },
    }),
  );
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/web`)).expect(200, {
      "metadata.labels.team": "a",
      "metadata.ownerReferences": absent,
      "subsets.length": 1,
      "subsets.0.ports[name=web]": { name: "web", port: 8080, protocol: "TCP", appProtocol: "example.com/x" },
      "subsets.0.addresses": [
        {
          ip: "10.1.0.1",
          hostname: "first",
          nodeName: paths.node,
          targetRef: { kind: "Pod", namespace: paths.ns, name: "p1", uid },
        },
      ],
      "subsets.0.notReadyAddresses.0.ip": "10.1.0.2",
    }),
  );
});

inBothDomains("a port of a sidecar is in Endpoints by its name, as upstream has it", async (api) => {
  const paths = await createPaths(api);
  const named = { selector: { app: "web" }, ports: [{ port: 80, targetPort: "side" }] };
  (await api.post(paths.services, service("web", named))).expect(201);
  const sidecar = { name: "s", image: "i", restartPolicy: "Always", ports: [{ name: "side", containerPort: 7000 }] };
  const init = { name: "once", image: "i", ports: [{ name: "side", containerPort: 7001 }] };
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1"], spec: { initContainers: [init, sidecar] } });
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/web`)).expect(200, { "subsets.0.ports": [{ port: 7000, protocol: "TCP" }] }),
  );
  const [slice] = await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  assert.deepEqual(slice?.ports ?? [], []);
});

inBothDomains("a pod that becomes ready, changes its labels, ends or goes is seen at once", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("web", { selector: { app: "web" }, ports: [{ port: 80 }] }))).expect(201);
  for (const at of [1, 2, 3, 4]) await createRunningPod(api, paths, `p${at}`, { ips: [`10.1.0.${at}`] });
  await seesAddresses(api, paths, "web", ["10.1.0.1", "10.1.0.2", "10.1.0.3", "10.1.0.4"]);
  await setStatus(api, paths, "p1", { ips: ["10.1.0.1"], ready: false });
  await eventually(async () => {
    const [slice] = await slicesOf(api, paths, "web");
    const first = slice?.endpoints?.find(({ addresses }) => addresses.includes("10.1.0.1"));
    assert.deepEqual(first?.conditions, { ready: false, serving: false, terminating: false });
  });
  (await api.patch(`${paths.pods}/p2`, { metadata: { labels: { app: "db" } } })).expect(200);
  (await api.patch(`${paths.pods}/p3/status`, { status: { phase: "Succeeded" } })).expect(200);
  (await api.delete(`${paths.pods}/p4?gracePeriodSeconds=0`)).expect(200);
  await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/web`)).expect(200, {
      "subsets.length": 1,
      "subsets.0.addresses": absent,
      "subsets.0.notReadyAddresses.0.ip": "10.1.0.1",
    }),
  );
});

inBothDomains("a pod that is being deleted still serves, and is published where the service says so", async (api) => {
  const paths = await createPaths(api);
  const spec = { selector: { app: "web" }, ports: [{ port: 80 }] };
  (await api.post(paths.services, service("web", spec))).expect(201);
  (await api.post(paths.services, service("all", { ...spec, publishNotReadyAddresses: true }))).expect(201);
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1"] });
  await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  (await api.delete(`${paths.pods}/p1?gracePeriodSeconds=300`)).expect(200);
  for (const [name, ready] of [
    ["web", false],
    ["all", true],
  ] as const) {
    await eventually(async () => {
      const [slice] = await slicesOf(api, paths, name);
      assert.deepEqual(slice?.endpoints?.[0]?.conditions, { ready, serving: true, terminating: true });
    });
  }
  await eventually(async () => (await api.get(`${paths.endpoints}/web`)).expect(200, { subsets: absent }));
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/all`)).expect(200, { "subsets.0.addresses.0.ip": "10.1.0.1" }),
  );
});

inBothDomains("a headless service needs no ports", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("bare", { selector: { app: "web" }, clusterIP: "None" }))).expect(201);
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1", "fd00::1"] });
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/bare`)).expect(200, {
      "metadata.labels": { "service.kubernetes.io/headless": "" },
      "subsets.0.addresses.0.ip": "10.1.0.1",
      "subsets.0.ports": absent,
    }),
  );
  const [slice] = await seesAddresses(api, paths, "bare", ["10.1.0.1"]);
  assert.deepEqual([slice?.ports ?? [], slice?.addressType], [[], "IPv4"]);
  assert.equal(slice?.metadata.labels[api.name("service.kubernetes.io/headless")], "");
});

const twoFamilies = suite({ ...settings, serviceClusterIpRange: ["10.0.0.0/16", "fd00:10::/108"] });

twoFamilies("a service of two families has slices of both, and Endpoints of the first", async (api) => {
  const paths = await createPaths(api);
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1", "fd00::1"] });
  const families = { ipFamilyPolicy: "RequireDualStack", ipFamilies: ["IPv6", "IPv4"] };
  const both = { selector: { app: "web" }, clusterIP: "None", ports: [{ port: 80 }], ...families };
  (await api.post(paths.services, service("both", both))).expect(201);
  const slices = await seesAddresses(api, paths, "both", ["10.1.0.1", "fd00::1"]);
  assert.deepEqual(slices.map(({ addressType }) => addressType).sort(), ["IPv4", "IPv6"]);
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/both`)).expect(200, { "subsets.0.addresses.0.ip": "fd00::1" }),
  );
});

inBothDomains("without pods there is an empty slice and Endpoints without subsets", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("web", { selector: { app: "web" }, ports: [{ port: 80 }] }))).expect(201);
  const [slice] = await eventually(async () => {
    const slices = await slicesOf(api, paths, "web");
    assert.equal(slices.length, 1);
    return slices;
  });
  assert.deepEqual([slice!.endpoints ?? [], slice!.ports ?? []], [[], []]);
  await eventually(async () => (await api.get(`${paths.endpoints}/web`)).expect(200, { subsets: absent }));
});

inBothDomains("a pod on an unknown node is in no slice until the node exists", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("web", { selector: { app: "web" }, ports: [{ port: 80 }] }))).expect(201);
  const node = api.unique("late");
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1"] });
  await createRunningPod(api, paths, "p2", { ips: ["10.1.0.2"], spec: { nodeName: node } });
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/web`)).expect(200, { "subsets.0.addresses.length": 2 }),
  );
  await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  const labels = { "topology.kubernetes.io/zone": "y" };
  (await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: node, labels } })).expect(201);
  const slices = await seesAddresses(api, paths, "web", ["10.1.0.1", "10.1.0.2"]);
  const second = slices[0]?.endpoints?.find(({ addresses }) => addresses.includes("10.1.0.2"));
  assert.equal(second?.zone, "y");
});

inBothDomains("a slice that another client changed or deleted is made right again", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("web", { selector: { app: "web" }, ports: [{ port: 80 }] }))).expect(201);
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1"] });
  const [slice] = await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  (await api.patch(`${paths.slices}/${slice!.metadata.name}`, { endpoints: [] })).expect(200);
  const [again] = await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  (await api.delete(`${paths.slices}/${again!.metadata.name}`)).expect(200);
  await seesAddresses(api, paths, "web", ["10.1.0.1"]);
  (await api.delete(`${paths.endpoints}/web`)).expect(200);
  await eventually(async () =>
    (await api.get(`${paths.endpoints}/web`)).expect(200, { "subsets.0.addresses.0.ip": "10.1.0.1" }),
  );
});

inBothDomains("a service that goes takes its Endpoints and slices with it", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("web", { selector: { app: "web" }, ports: [{ port: 80 }] }))).expect(201);
  await eventually(async () => (await api.get(`${paths.endpoints}/web`)).expect(200));
  await seesAddresses(api, paths, "web", []);
  (await api.delete(`${paths.services}/web`)).expect(200);
  await eventually(async () => (await api.get(`${paths.endpoints}/web`)).expect(404));
  await eventually(async () => assert.deepEqual(await slicesOf(api, paths, "web"), []));
});

inBothDomains("endpoints say which zone to prefer when the service prefers near ones", async (api) => {
  const paths = await createPaths(api);
  const spec = { selector: { app: "web" }, ports: [{ port: 80 }], trafficDistribution: "PreferClose" };
  (await api.post(paths.services, service("web", spec))).expect(201);
  await createRunningPod(api, paths, "p1", { ips: ["10.1.0.1"] });
  await createRunningPod(api, paths, "p2", { ips: ["10.1.0.2"], ready: false });
  await eventually(async () => {
    const [slice] = await slicesOf(api, paths, "web");
    const hints = new Map(slice?.endpoints?.map((endpoint) => [endpoint.addresses[0], endpoint.hints]));
    assert.deepEqual([hints.get("10.1.0.1"), hints.get("10.1.0.2")], [{ forZones: [{ name: "z" }] }, undefined]);
  });
});

/** Nodes of the whole server count, so this test has a server of its own. */
withOwnServer("endpoints get hints by the CPUs of zones, as long as the service wants them", settings, async (api) => {
  const paths = await createPaths(api);
  const isReady = async (node: string, cpu: string, status = "True"): Promise<void> => {
    const patch = { status: { allocatable: { cpu }, conditions: [{ type: "Ready", status }] } };
    (await api.patch(`/api/v1/nodes/${node}/status`, patch)).expect(200);
  };
  const far = await createZonedNode(api, "far");
  await isReady(paths.node, "2");
  const annotations = { "service.kubernetes.io/topology-mode": "Auto" };
  const spec = { selector: { app: "web" }, ports: [{ port: 80 }], trafficDistribution: "PreferClose" };
  (await api.post(paths.services, service("web", spec, { annotations }))).expect(201);
  for (let at = 1; at <= 4; at++) await createRunningPod(api, paths, `p${at}`, { ips: [`10.1.0.${at}`] });
  const zones = async (): Promise<string[]> => {
    const [slice] = await slicesOf(api, paths, "web");
    const hints = slice?.endpoints?.map((endpoint) => endpoint.hints?.forZones?.map(({ name }) => name).join() ?? "");
    return hints?.sort() ?? [];
  };
  const expectEvent = async (message: string): Promise<void> => {
    const path = `${namespaces}/${paths.ns}/events?fieldSelector=involvedObject.name=web`;
    const events = (await api.get(path)).value as { items: { message: string }[] };
    assert.ok(events.items.some((event) => event.message === `${message}, addressType: IPv4`));
  };
  const unknown = "Insufficient Node information: allocatable CPU or zone not specified on one or more nodes";
  await eventually(async () => assert.deepEqual(await zones(), ["", "", "", ""]));
  await eventually(() => expectEvent(unknown));
  await isReady(far, "2");
  await eventually(async () => assert.deepEqual(await zones(), ["far", "far", "z", "z"]));
  await eventually(() => expectEvent("Topology Aware Hints has been enabled"));
  await isReady(far, "1");
  await isReady(paths.node, "3");
  await eventually(async () => assert.deepEqual(await zones(), ["far", "z", "z", "z"]));
  // Without the annotation, the other setting of the service counts.
  const mode = { "service.kubernetes.io/topology-mode": null };
  (await api.patch(`${paths.services}/web`, { metadata: { annotations: mode } })).expect(200);
  await eventually(async () => assert.deepEqual(await zones(), ["z", "z", "z", "z"]));
  await eventually(() => expectEvent("Topology Aware Hints has been disabled"));
});

inBothDomains("Endpoints of a service without selector are mirrored to slices, as long as they may be", async (api) => {
  const paths = await createPaths(api);
  (await api.post(paths.services, service("db", { ports: [{ port: 5432 }] }))).expect(201);
  const subsets = [
    {
      addresses: [{ ip: "10.9.0.1", hostname: "h" }, { ip: "fd00::9" }],
      notReadyAddresses: [{ ip: "10.9.0.2" }],
      ports: [{ name: "sql", port: 5432 }],
    },
    { addresses: [{ ip: "10.9.0.1" }], ports: [{ name: "more", port: 1 }] },
  ];
  const metadata = { name: "db", labels: { team: "b" }, annotations: { "example.com/a": "1" } };
  const body = { apiVersion: "v1", kind: "Endpoints", metadata, subsets };
  const owner = (await api.post(paths.endpoints, body)).expect(201).string("metadata.uid");
  const slices = await seesAddresses(api, paths, "db", ["10.9.0.1", "10.9.0.1", "10.9.0.2", "fd00::9"]);
  assert.equal(slices.length, 3);
  const hostnames = slices.flatMap(({ endpoints }) => (endpoints ?? []).map(({ hostname }) => hostname ?? ""));
  assert.deepEqual(hostnames.sort(), ["", "", "h", "h"]);
  const four = slices.find(({ endpoints }) => endpoints?.length === 2)!;
  (await api.get(`${paths.slices}/${four.metadata.name}`)).expect(200, {
    "metadata.labels": {
      team: "b",
      "kubernetes.io/service-name": "db",
      "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
    },
    "metadata.annotations[example.com/a]": "1",
    "metadata.ownerReferences": [
      { apiVersion: "v1", kind: "Endpoints", name: "db", uid: owner, controller: true, blockOwnerDeletion: true },
    ],
    ports: [{ name: "sql", port: 5432, protocol: "TCP" }],
    "endpoints.0": { addresses: ["10.9.0.1"], conditions: { ready: true }, hostname: "h" },
    "endpoints.1": { addresses: ["10.9.0.2"], conditions: { ready: false } },
  });
  const skip = { "endpointslice.kubernetes.io/skip-mirror": "true" };
  (await api.patch(`${paths.endpoints}/db`, { metadata: { labels: skip } })).expect(200);
  await seesAddresses(api, paths, "db", []);
});
