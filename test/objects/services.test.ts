/** Services: addresses and ports, validation, and the server's own service. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import {
  Api,
  domains,
  eventually,
  openServer,
  suite,
  temporaryFolder,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { absent, type Fields, present } from "../view.ts";

const inBothDomains = suite({
  serviceClusterIpRange: ["10.0.0.0/24", "fd00:10::/112"],
  serviceNodePortRange: { first: 30_000, size: 100 },
});

const service = (name: string, spec: Fields): object => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

const servicesOf = async (api: Api): Promise<string> =>
  `/api/v1/namespaces/${(await api.createNamespace()).ns}/services`;

interface ServiceBody {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly clusterIP?: string;
    readonly clusterIPs?: readonly string[];
    readonly healthCheckNodePort?: number;
    readonly ports: readonly { readonly nodePort?: number }[];
  };
}

const bodyOf = (answer: Answer): ServiceBody => answer.expect([200, 201]).value as ServiceBody;

/** Creates a service, expects that it is accepted, and deletes it again. */
async function gets(api: Api, services: string, spec: Fields, fields: Fields): Promise<void> {
  const name = api.unique("s");
  (await api.post(services, service(name, spec))).expect(201, fields);
  (await api.delete(`${services}/${name}`)).expect(200);
}

/** Creates a service and expects one finding. */
async function expectRefusal(api: Api, services: string, spec: Fields, field: string, message: string): Promise<void> {
  (await api.post(services, service("bad", spec))).expectFailure(422, "Invalid", undefined, {
    [`details.causes[field=${field}].message`]: message,
  });
}

inBothDomains("a service gets an address, families and ports by its type", async (api) => {
  const services = await servicesOf(api);
  const inRange = (value: unknown): boolean => typeof value === "string" && value.startsWith("10.0.0.");
  await gets(
    api,
    services,
    {},
    {
      "spec.clusterIP": inRange,
      "spec.clusterIPs[0]": inRange,
      "spec.ipFamilies": ["IPv4"],
      "spec.ipFamilyPolicy": "SingleStack",
      "spec.ports[0].nodePort": absent,
    },
  );
  await gets(api, services, { type: "NodePort" }, { "spec.ports[0].nodePort": present });
  await gets(
    api,
    services,
    { type: "LoadBalancer", externalTrafficPolicy: "Local" },
    { "spec.healthCheckNodePort": present, "spec.ports[0].nodePort": present },
  );
  await gets(
    api,
    services,
    { type: "LoadBalancer", allocateLoadBalancerNodePorts: false },
    { "spec.ports[0].nodePort": absent, "spec.healthCheckNodePort": absent },
  );
  await gets(
    api,
    services,
    { ipFamilyPolicy: "PreferDualStack" },
    { "spec.ipFamilies": ["IPv4", "IPv6"], "spec.clusterIPs[1]": (ip: unknown) => String(ip).startsWith("fd00:10::") },
  );
  await gets(api, services, { ipFamilies: ["IPv6"] }, { "spec.clusterIP": (ip: unknown) => String(ip).includes(":") });
});

inBothDomains("an empty policy of families is none that there is", async (api) => {
  const services = await servicesOf(api);
  const text = /spec\.ipFamilyPolicy: Unsupported value: "": supported values: "PreferDualStack"/;
  (await api.post(services, service("one", { ipFamilyPolicy: "" }))).expectFailure(422, "Invalid", text);
  (await api.post(services, service("one", {}))).expect(201);
  (await api.patch(`${services}/one`, { spec: { ipFamilyPolicy: "" } })).expectFailure(422, "Invalid", text);
});

inBothDomains("headless services and external names get no address", async (api) => {
  const services = await servicesOf(api);
  await gets(
    api,
    services,
    { clusterIP: "None", selector: { a: "b" } },
    { "spec.clusterIPs": ["None"], "spec.ipFamilies": ["IPv4"], "spec.ipFamilyPolicy": "SingleStack" },
  );
  await gets(
    api,
    services,
    { clusterIP: "None" },
    { "spec.ipFamilies": ["IPv4", "IPv6"], "spec.ipFamilyPolicy": "RequireDualStack" },
  );
  await gets(
    api,
    services,
    { type: "ExternalName", externalName: "example.com", internalTrafficPolicy: "Cluster" },
    { "spec.clusterIP": absent, "spec.ipFamilies": absent, "spec.internalTrafficPolicy": absent },
  );
});

inBothDomains("a service that becomes an external name keeps another address that it asks for", async (api) => {
  const services = await servicesOf(api);
  const path = `${services}/s`;
  const external = (fields: Fields): object => service("s", { type: "ExternalName", externalName: "a.b", ...fields });
  const { spec: before } = bodyOf(await api.post(services, service("s", {})));
  const both = { clusterIP: "10.0.0.77", clusterIPs: ["10.0.0.77"] };
  const refusal = /spec.clusterIPs: Forbidden: may not be set for ExternalName services$/;
  (await api.put(path, external(both))).expectFailure(422, "Invalid", refusal);
  (await api.put(`${path}?dryRun=All`, external({ clusterIP: before.clusterIP }))).expect(200, {
    "spec.clusterIP": absent,
  });
  (await api.put(path, external({ clusterIP: "10.0.0.77" }))).expect(200, {
    "spec.clusterIP": "10.0.0.77",
    "spec.clusterIPs": ["10.0.0.77"],
  });
  (await api.get(path)).expect(200, { "spec.clusterIPs": ["10.0.0.77"] });
  // Upstream: such a service takes no change that keeps the address.
  (await api.patch(path, { metadata: { labels: { a: "b" } } })).expectFailure(422, "Invalid", refusal);
  (await api.patch(path, { spec: { clusterIP: "10.0.0.78" } })).expect(200, { "spec.clusterIPs": ["10.0.0.78"] });
  (await api.put(path, external({ clusterIP: "none" }))).expect(200, { "spec.clusterIPs": ["none"] });
  (await api.patch(path, { spec: { clusterIP: null } })).expect(200, {
    "spec.clusterIP": absent,
    "spec.clusterIPs": absent,
  });
  // One that never had an address gets none.
  (await api.put(path, external({ clusterIP: "10.0.0.77" }))).expectFailure(422, "Invalid", refusal);
});

inBothDomains("families that an update omits are chosen anew where no address tells them", async (api) => {
  const services = await servicesOf(api);
  const headless = { clusterIP: "None", ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" };
  (await api.post(services, service("headless", headless))).expect(201, { "spec.ipFamilies": ["IPv6"] });
  const omit = { spec: { ipFamilies: null } };
  (await api.patch(`${services}/headless`, omit, patchTypes.merge)).expect(200, {
    "spec.ipFamilies": ["IPv4"],
    "spec.ipFamilyPolicy": "SingleStack",
  });
  (await api.post(services, service("addressed", { ipFamilies: ["IPv6"] }))).expect(201);
  (await api.patch(`${services}/addressed`, omit, patchTypes.merge)).expect(200, { "spec.ipFamilies": ["IPv6"] });
});

inBothDomains("a service with an unknown type is checked with the addresses that it had", async (api) => {
  const services = await servicesOf(api);
  (await api.post(services, service("headless", { clusterIP: "None" }))).expect(201);
  const unknown = { spec: { type: "Limited", ports: [], clusterIP: null, clusterIPs: null } };
  (await api.patch(`${services}/headless`, unknown, patchTypes.merge)).expectFailure(422, "Invalid", undefined, {
    "details.causes.length": 1,
    "details.causes[0].field": "spec.type",
  });
});

inBothDomains("who sends a policy that an external name drops owns it, and so does who had it before", async (api) => {
  const services = await servicesOf(api);
  const external = { type: "ExternalName", externalName: "example.com" };
  const owned = { "spec.internalTrafficPolicy": absent, "metadata.managedFields.length": 1 };
  const owns = async (path: string): Promise<boolean> =>
    JSON.stringify((await api.get(path)).value).includes('"f:internalTrafficPolicy":{}');
  const asked = { ...external, internalTrafficPolicy: "Local" };
  (await api.post(services, service("asked", asked))).expect(201, owned);
  assert.ok(await owns(`${services}/asked`));
  (await api.post(services, service("changed", {}))).expect(201, { "spec.internalTrafficPolicy": "Cluster" });
  const change = { spec: { ...external, clusterIP: null } };
  (await api.patch(`${services}/changed`, change, patchTypes.merge)).expect(200, owned);
  assert.ok(await owns(`${services}/changed`));
  (await api.post(services, service("without", external))).expect(201, owned);
  assert.ok(!(await owns(`${services}/without`)));
});

inBothDomains(
  "what is taken or out of range is refused in upstream's words, and free again after a delete",
  async (api) => {
    const services = await servicesOf(api);
    const asks = { type: "NodePort", clusterIP: "10.0.0.9", ports: [{ port: 80, nodePort: 30_009 }] };
    (await api.post(services, service("first", asks))).expect(201);
    const takenFinding = (ip: string, why: string): string =>
      `Invalid value: []string{"${ip}"}: failed to allocate IP ${ip}: ${why}`;
    await expectRefusal(
      api,
      services,
      { clusterIP: "10.0.0.9" },
      "spec.clusterIPs",
      takenFinding("10.0.0.9", "provided IP is already allocated"),
    );
    for (const ip of ["10.0.1.1", "10.0.0.0", "10.0.0.255"]) {
      const why = `the provided IP (${ip}) is not in the valid range. The range of valid IPs is 10.0.0.0/24`;
      await expectRefusal(api, services, { clusterIP: ip }, "spec.clusterIPs", takenFinding(ip, why));
    }
    const nodePort = "spec.ports[0].nodePort";
    const ofPort = (port: number): Fields => ({ type: "NodePort", ports: [{ port: 80, nodePort: port }] });
    await expectRefusal(
      api,
      services,
      ofPort(30_009),
      nodePort,
      "Invalid value: 30009: provided port is already allocated",
    );
    await expectRefusal(
      api,
      services,
      ofPort(80),
      nodePort,
      "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30099",
    );
    (await api.delete(`${services}/first`)).expect(200);
    await gets(api, services, asks, { "spec.clusterIP": "10.0.0.9", "spec.ports[0].nodePort": 30_009 });
  },
);

inBothDomains("a dry run holds nothing", async (api) => {
  const services = await servicesOf(api);
  const asks = { type: "NodePort", clusterIP: "10.0.0.12", ports: [{ port: 80, nodePort: 30_012 }] };
  for (let i = 0; i < 2; i++) {
    (await api.post(`${services}?dryRun=All`, service("dry", asks))).expect(201, { "spec.clusterIP": "10.0.0.12" });
  }
  await gets(api, services, asks, { "spec.clusterIP": "10.0.0.12" });
});

inBothDomains("an update keeps what it leaves out, and may not change the address", async (api) => {
  const services = await servicesOf(api);
  const body = bodyOf(await api.post(services, service("one", { type: "NodePort" })));
  const nodePort = body.spec.ports[0]!.nodePort!;
  const { clusterIP } = body.spec;
  const path = `${services}/one`;
  (await api.put(path, service("one", { type: "NodePort" }))).expect(200, {
    "spec.clusterIP": clusterIP,
    "spec.ports[0].nodePort": nodePort,
  });
  (await api.patch(path, { spec: { clusterIP: "10.0.0.14", clusterIPs: ["10.0.0.14"] } })).expectFailure(
    422,
    "Invalid",
    /spec\.clusterIPs\[0\]: Invalid value: \[\]string\{"10\.0\.0\.14"\}: may not change once set/,
  );
  // `helm upgrade --set service.type=…` sends this when the type is misspelled: the answer is only about the type.
  (await api.patch(path, { spec: { type: "Nonsense" } })).expectFailure(
    422,
    "Invalid",
    /^Service "one" is invalid: spec\.type: Unsupported value: "Nonsense"/,
  );
  (await api.patch(path, { spec: { type: "ClusterIP" } })).expect(200, { "spec.ports[0].nodePort": absent });
  await gets(
    api,
    services,
    { type: "NodePort", ports: [{ port: 80, nodePort }] },
    { "spec.ports[0].nodePort": nodePort },
  );
  (await api.patch(path, { spec: { type: "ExternalName", externalName: "example.com" } })).expect(200, {
    "spec.clusterIP": absent,
    "spec.clusterIPs": absent,
    "spec.ipFamilies": absent,
  });
  await gets(api, services, { clusterIP }, { "spec.clusterIP": clusterIP });
});

const ports = [
  { name: "a", port: 80 },
  { name: "b", port: 81 },
];

inBothDomains("a type without node ports clears those there were, whatever comes, goes or changes", async (api) => {
  const services = await servicesOf(api);
  const types = [{ type: "ClusterIP" }, { type: "ExternalName", externalName: "example.com" }];
  const others = [
    [...ports, { name: "c", port: 82 }],
    [{ name: "a", port: 80 }],
    [{ name: "h", port: 8080 }],
    [{ name: "x", port: 80 }, ports[1]],
  ];
  for (const from of ["NodePort", "LoadBalancer"]) {
    for (const to of types) {
      for (const wanted of others) {
        for (const how of ["put", "merge", "strategic", "apply"] as const) {
          const name = api.unique("s");
          const path = `${services}/${name}`;
          const body = bodyOf(await api.post(services, service(name, { type: from, ports })));
          const given = body.spec.ports[0]!.nodePort;
          // The first port keeps its node port in one of the possible ways.
          const kept = wanted.map((port, i) => (i === 0 && how !== "strategic" ? { ...port, nodePort: given } : port));
          const next = service(name, { ...to, ports: kept });
          const answer =
            how === "put"
              ? await api.put(path, next)
              : how === "apply"
                ? await api.patch(`${path}?fieldManager=m&force=true`, next, patchTypes.apply)
                : await api.patch(path, { spec: { ...to, ports: kept } }, patchTypes[how]);
          answer.expect(200);
          assert.ok(
            bodyOf(answer).spec.ports.every(({ nodePort }) => nodePort === undefined),
            answer.title,
          );
          (await api.delete(path)).expect(200);
        }
      }
    }
  }
  // A new node port was requested.
  const name = api.unique("s");
  (await api.post(services, service(name, { type: "NodePort", ports }))).expect(201);
  const asks = { type: "ClusterIP", ports: [{ name: "a", port: 80, nodePort: 29_999 }] };
  (await api.put(`${services}/${name}`, service(name, asks))).expectFailure(
    422,
    "Invalid",
    /spec\.ports\[0\]\.nodePort: Forbidden: may not be used when `type` is 'ClusterIP'$/,
  );
});

inBothDomains(
  "what a service may not have is told before anything is allocated, and never as a failure",
  async (api) => {
    const services = await servicesOf(api);
    const local = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
    for (const port of [70_000, -1]) {
      const range = `Invalid value: ${port}: must be between 1 and 65535, inclusive`;
      const asks = { ...local, healthCheckNodePort: port };
      await expectRefusal(api, services, asks, "spec.healthCheckNodePort", range);
      (await api.post(`${services}?dryRun=All`, service("dry", asks))).expectFailure(
        422,
        "Invalid",
        new RegExp(`${range}$`),
      );
    }
    const outside = "provided port is not in the valid range. The range of valid ports is 30000-30099";
    const asks = { ...local, healthCheckNodePort: 20 };
    await expectRefusal(api, services, asks, "spec.healthCheckNodePort", `Invalid value: 20: ${outside}`);
    (
      await api.post(
        services,
        service("one", { type: "NodePort", ports: [{ name: "d", port: 7000, nodePort: 30_005 }] }),
      )
    ).expect(201);
    const taken = { ...local, healthCheckNodePort: 30_005 };
    await expectRefusal(
      api,
      services,
      taken,
      "spec.healthCheckNodePort",
      "Invalid value: 30005: provided port is already allocated",
    );
    // The port of the first apply stays, with its node port.
    const wrong = service("one", { type: "NodePort", ports: [{ name: "d", port: -1 }] });
    (await api.patch(`${services}/one?fieldManager=m&force=true`, wrong, patchTypes.apply)).expectFailure(
      422,
      "Invalid",
      undefined,
      {
        "details.causes[field=spec.ports[1].name].message": 'Duplicate value: "d"',
        "details.causes[field=spec.ports[1].port].message": "Invalid value: -1: must be between 1 and 65535, inclusive",
      },
    );
    const twice = [
      { name: "d", port: 7000, nodePort: 30_005 },
      { name: "e", port: 7001, nodePort: 30_005 },
    ];
    (await api.put(`${services}/one`, service("one", { type: "NodePort", ports: twice }))).expectFailure(
      422,
      "Invalid",
      /spec\.ports\[1\]\.nodePort: Duplicate value: 30005$/,
    );
  },
);

inBothDomains("a dry run may name ports out of range and an address that is taken, as upstream's", async (api) => {
  const services = await servicesOf(api);
  const dry = (spec: Fields): Promise<Answer> => api.post(`${services}?dryRun=All`, service("dry", spec));
  (await dry({ type: "NodePort", ports: [{ port: 80, nodePort: 20 }] })).expect(201, { "spec.ports[0].nodePort": 20 });
  (await api.post(services, service("one", { clusterIP: "10.0.0.15" }))).expect(201);
  (await dry({ clusterIP: "10.0.0.15" })).expect(201, { "spec.clusterIP": "10.0.0.15" });
  (await dry({ clusterIP: "10.9.0.15" })).expectFailure(422, "Invalid", /is not in the valid range/);
});

inBothDomains("a second family comes and goes with the policy", async (api) => {
  const services = await servicesOf(api);
  const { clusterIP } = bodyOf(await api.post(services, service("one", {}))).spec;
  const path = `${services}/one`;
  const both = bodyOf(await api.patch(path, { spec: { ipFamilyPolicy: "RequireDualStack" } })).spec.clusterIPs!;
  assert.equal(both.length, 2);
  assert.equal(both[0], clusterIP);
  (await api.patch(path, { spec: { ipFamilies: ["IPv4"] } })).expectFailure(
    422,
    "Invalid",
    /must be 'SingleStack' to release the secondary IP family/,
  );
  (await api.patch(path, { spec: { ipFamilyPolicy: "SingleStack" } })).expect(200, { "spec.clusterIPs": [clusterIP] });
  await gets(api, services, { ipFamilies: ["IPv6"], clusterIP: both[1] }, { "spec.clusterIPs": [both[1]] });
});

inBothDomains("what cannot be is found in upstream's words", async (api) => {
  const services = await servicesOf(api);
  await expectRefusal(api, services, { ports: [] }, "spec.ports", "Required value");
  await expectRefusal(
    api,
    services,
    { type: "NodePort", clusterIP: "None" },
    "spec.clusterIPs[0]",
    `Invalid value: "None": may not be set to 'None' for NodePort services`,
  );
  await expectRefusal(
    api,
    services,
    { ports: [{ port: 80, nodePort: 30_001 }] },
    "spec.ports[0].nodePort",
    "Forbidden: may not be used when `type` is 'ClusterIP'",
  );
  await expectRefusal(
    api,
    services,
    { ipFamilies: ["IPv4", "IPv6"] },
    "spec.ipFamilyPolicy",
    `Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified`,
  );
  await expectRefusal(
    api,
    services,
    { type: "ExternalName", externalName: "a.example.com", internalTrafficPolicy: "Other" },
    "spec.internalTrafficPolicy",
    `Unsupported value: "Other": supported values: "Cluster", "Local"`,
  );
  await expectRefusal(
    api,
    services,
    { externalIPs: ["127.0.0.1"] },
    "spec.externalIPs[0]",
    `Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`,
  );
});

inBothDomains("the status of a balancer is checked, and goes with the type", async (api) => {
  const services = await servicesOf(api);
  (await api.post(services, service("one", { type: "LoadBalancer" }))).expect(201);
  const status = (ingress: Fields): Promise<Answer> =>
    api.patch(`${services}/one/status`, { status: { loadBalancer: { ingress: [ingress] } } });
  (await status({ ip: "x" })).expectFailure(422, "Invalid", /must be a valid IP address/);
  (await status({ hostname: "1.2.3.4" })).expectFailure(422, "Invalid", /must be a DNS name, not an IP address/);
  (await status({ ip: "1.2.3.4" })).expect(200, { "status.loadBalancer.ingress[0].ipMode": "VIP" });
  (await api.patch(`${services}/one`, { spec: { type: "ClusterIP" } })).expect(200, { "status.loadBalancer": {} });
});

withOwnServer(
  "writers side by side get each number once, and are told when there is none left",
  { serviceClusterIpRange: ["10.0.0.0/27"], serviceNodePortRange: { first: 31_000, size: 64 } },
  async (api) => {
    const services = await servicesOf(api);
    await eventually(async () => (await api.get("/api/v1/namespaces/default/services/kubernetes")).expect(200));
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, i) => api.post(services, service(`s${i}`, { type: "NodePort" }))),
    );
    const bodies = answers.filter(({ status }) => status === 201).map(bodyOf);
    assert.equal(bodies.length, 29, "30 addresses, of which the server's own service has one");
    assert.equal(new Set(bodies.map(({ spec }) => spec.clusterIP)).size, 29);
    assert.equal(new Set(bodies.map(({ spec }) => spec.ports[0]!.nodePort)).size, 29);
    const late = answers.find(({ status }) => status !== 201)!;
    late.expectFailure(500, "InternalError", "Internal error occurred: failed to allocate a serviceIP: range is full");
    (await api.delete(`${services}/${bodies[0]!.metadata.name}`)).expect(200);
    (await api.post(services, service("late", {}))).expect(201, { "spec.clusterIP": bodies[0]!.spec.clusterIP });
  },
);

withOwnServer(
  "a taken address is found before a type that does not exist",
  { serviceClusterIpRange: ["10.0.0.0/24"] },
  async (api) => {
    const services = await servicesOf(api);
    (await api.post(services, service("first", { clusterIP: "10.0.0.9" }))).expect(201);
    const refuse = async (clusterIP: string, field: string) =>
      (await api.post(services, service("bad", { type: "Limited", clusterIP }))).expectFailure(
        422,
        "Invalid",
        undefined,
        {
          "details.causes.length": 1,
          "details.causes[0].field": field,
        },
      );
    await refuse("10.0.0.9", "spec.clusterIPs");
    await refuse("10.0.0.10", "spec.type");
    (await api.post(services, service("second", { clusterIP: "10.0.0.10" }))).expect(201);
  },
);

withOwnServer(
  "two addresses for one family, of which the cluster lacks one, are two findings",
  { serviceClusterIpRange: ["10.0.0.0/24"] },
  async (api) => {
    const two = { clusterIP: "10.0.0.9", clusterIPs: ["10.0.0.9", "fd00::1"] };
    (await api.post(await servicesOf(api), service("bad", two))).expectFailure(422, "Invalid", undefined, {
      "details.causes[field=spec.ipFamilyPolicy].message": `Invalid value: "SingleStack": must be 'RequireDualStack' or 'PreferDualStack' when multiple cluster IPs are specified`,
      "details.causes[field=spec.clusterIPs[1]].message": (text: unknown) =>
        String(text).endsWith("IPv6 is not configured on this cluster"),
    });
  },
);

for (const domain of domains) {
  test(`${domain}: addresses and ports that services hold are known after a restart`, async () => {
    const settings = {
      storage: "disk",
      dataDir: join(temporaryFolder(), "data"),
      serviceClusterIpRange: ["10.0.0.0/24"],
    } as const;
    const services = "/api/v1/namespaces/default/services";
    for (const isFirst of [true, false]) {
      const server = await openServer(domain, settings);
      const api = new Api(server);
      const answer = await api.post(services, service(isFirst ? "one" : "two", { clusterIP: "10.0.0.20" }));
      if (isFirst) answer.expect(201);
      else answer.expectFailure(422, "Invalid", /10\.0\.0\.20: provided IP is already allocated/);
      api.close();
      await server.close();
    }
  });
}

withOwnServer(
  "the server's own service has the first address and leads to its port; the system's priority classes are there",
  { advertiseAddress: "192.0.2.7", serviceClusterIpRange: ["10.3.0.0/24"] },
  async (api) => {
    const defaultNamespace = "/api/v1/namespaces/default";
    const { port } = api.endpoint;
    await eventually(async () => {
      (await api.get(`${defaultNamespace}/services/kubernetes`)).expect(200, {
        "metadata.labels": { component: "apiserver", provider: "kubernetes" },
        "spec.clusterIP": "10.3.0.1",
        "spec.ports[0].port": 443,
        "spec.ports[0].targetPort": port,
      });
      (await api.get(`${defaultNamespace}/endpoints/kubernetes`)).expect(200, {
        subsets: [{ addresses: [{ ip: "192.0.2.7" }], ports: [{ name: "https", port, protocol: "TCP" }] }],
      });
      (await api.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")).expect(200, {
        "metadata.labels": { "kubernetes.io/service-name": "kubernetes" },
        addressType: "IPv4",
        endpoints: [{ addresses: ["192.0.2.7"], conditions: { ready: true } }],
      });
      const classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
      (await api.get(`${classes}/system-node-critical`)).expect(200, { value: 2_000_001_000 });
      (await api.get(`${classes}/system-cluster-critical`)).expect(200, { value: 2_000_000_000 });
    });
  },
);

withOwnServer(
  "endpoints of the server's own service can be left to others",
  { endpointReconcilerType: "none" },
  async (api) => {
    const defaultNamespace = "/api/v1/namespaces/default";
    await eventually(async () => (await api.get(`${defaultNamespace}/services/kubernetes`)).expect(200));
    await eventually(async () =>
      (await api.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical")).expect(200),
    );
    (await api.get(`${defaultNamespace}/endpoints/kubernetes`)).expect(404);
  },
);

withOwnServer(
  "the server's own service has a node port on request, and keeps the type that clients give it",
  { kubernetesServiceNodePort: 30_443 },
  async (api) => {
    const path = "/api/v1/namespaces/default/services/kubernetes";
    await eventually(async () =>
      (await api.get(path)).expect(200, { "spec.type": "NodePort", "spec.ports[0].nodePort": 30_443 }),
    );
    (await api.patch(path, { spec: { type: "ClusterIP" } })).expect(200);
    (await api.get(path)).expect(200, { "spec.type": "ClusterIP", "spec.ports[0].nodePort": absent });
  },
);

for (const domain of domains) {
  test(`${domain}: a client's type of the server's own service stays, and its ports lead to the server again`, async () => {
    await usingObserved(domain, {}, async ({ api, clock }) => {
      const path = "/api/v1/namespaces/default/services/kubernetes";
      await eventually(async () => (await api.get(path)).expect(200));
      const other = { name: "x", port: 444, targetPort: 1 };
      (await api.patch(path, { spec: { type: "NodePort", ports: [other] } })).expect(200);
      await eventually(async () => {
        clock.advance(10_000);
        (await api.get(path)).expect(200, {
          "spec.type": "NodePort",
          "spec.ports.length": 1,
          "spec.ports[0].targetPort": api.endpoint.port,
        });
      });
    });
  });

  test(`${domain}: a node port of the server's own service must be in the range`, async () => {
    await assert.rejects(openServer(domain, { kubernetesServiceNodePort: 1000 }), {
      message: "kubernetes service node port range 30000-32767 doesn't contain 1000",
    });
  });
}
