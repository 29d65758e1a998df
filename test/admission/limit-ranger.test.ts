/** Limit ranges: defaults for containers, and refusals. */
import { suite } from "../harness.ts";
import { claim, pod } from "../objects.ts";

const inBothDomains = suite();

const limits = (name: string, ...items: readonly object[]) => ({
  apiVersion: "v1",
  kind: "LimitRange",
  metadata: { name },
  spec: { limits: items },
});

const podWithResources = (name: string, resources: object, more: object = {}) =>
  pod(name, { containers: [{ name: "c", image: "i", resources }], ...more });

inBothDomains(
  "containers get the requests and limits they do not have, and the pod says which [DRY-05]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const pods = `/api/v1/namespaces/${ns}/pods`;
    const item = {
      type: "Container",
      default: { cpu: "500m", memory: "256Mi" },
      defaultRequest: { cpu: "100m" },
    };
    (await api.post(`/api/v1/namespaces/${ns}/limitranges`, limits("l", item))).expect(201);
    const answer = await api.post(pods, pod("plain", { initContainers: [{ name: "i", image: "i" }] }));
    const resources = { limits: { cpu: "500m", memory: "256Mi" }, requests: { cpu: "100m", memory: "256Mi" } };
    answer.expect(201, {
      "spec.containers.0.resources": resources,
      "spec.initContainers.0.resources": resources,
      [`metadata.annotations[${api.name("kubernetes.io/limit-ranger")}]`]:
        "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c; cpu, memory request for init container i; cpu, memory limit for init container i",
    });
    const own = { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } };
    (await api.post(pods, podWithResources("own", own))).expect(201, {
      "spec.containers.0.resources": own,
      [`metadata.annotations[${api.name("kubernetes.io/limit-ranger")}]`]: (value: unknown) => value === undefined,
    });
    (await api.post(`${pods}?dryRun=All`, pod("dry"))).expect(201, { "spec.containers.0.resources": resources });
  },
);

inBothDomains("containers that ask for too little, too much or too far apart are refused [ERR-10]", async (api) => {
  const { ns } = await api.createNamespace();
  const pods = `/api/v1/namespaces/${ns}/pods`;
  const item = { type: "Container", min: { cpu: "50m" }, max: { cpu: "1" }, maxLimitRequestRatio: { cpu: "4" } };
  (await api.post(`/api/v1/namespaces/${ns}/limitranges`, limits("l", item))).expect(201);
  const expectRefusal = async (resources: object, text: string): Promise<void> => {
    (await api.post(pods, podWithResources("p", resources))).expectFailure(
      403,
      "Forbidden",
      `pods "p" is forbidden: ${text}`,
    );
  };
  await expectRefusal({ limits: { cpu: "2" } }, "maximum cpu usage per Container is 1, but limit is 2");
  await expectRefusal(
    { requests: { cpu: "10m" }, limits: { cpu: "30m" } },
    "minimum cpu usage per Container is 50m, but request is 10m",
  );
  await expectRefusal(
    { requests: { cpu: "100m" }, limits: { cpu: "500m" } },
    "cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000",
  );
  (await api.post(pods, podWithResources("p", { requests: { cpu: "100m" }, limits: { cpu: "400m" } }))).expect(201);
});

inBothDomains(
  "bounds of pods are held against the sum of containers; init containers run one at a time",
  async (api) => {
    const { ns } = await api.createNamespace();
    const pods = `/api/v1/namespaces/${ns}/pods`;
    const item = { type: "Pod", max: { memory: "1Gi" } };
    (await api.post(`/api/v1/namespaces/${ns}/limitranges`, limits("l", item))).expect(201);
    const of = (name: string, memory: string) => ({ name, image: "i", resources: { limits: { memory } } });
    (await api.post(pods, pod("p", { containers: [of("a", "600Mi"), of("b", "600Mi")] }))).expectFailure(
      403,
      "Forbidden",
      'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 1200Mi',
    );
    (await api.post(pods, pod("p"))).expectFailure(
      403,
      "Forbidden",
      'pods "p" is forbidden: maximum memory usage per Pod is 1Gi.  No limit is specified',
    );
    const inits = [of("i", "1Gi"), of("j", "1Gi")];
    (await api.post(pods, pod("p", { containers: [of("a", "600Mi")], initContainers: inits }))).expect(201);
  },
);

inBothDomains("claims are held to the size a limit range says, when they are made and when they grow", async (api) => {
  const { ns, claims } = await api.createNamespace();
  const item = { type: "PersistentVolumeClaim", max: { storage: "2Gi" }, min: { storage: "1Gi" } };
  (await api.post(`/api/v1/namespaces/${ns}/limitranges`, limits("l", item))).expect(201);
  const storageRequest = (storage: string) => ({ resources: { requests: { storage } } });
  (await api.post(claims, claim("big", storageRequest("3Gi")))).expectFailure(
    403,
    "Forbidden",
    'persistentvolumeclaims "big" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi',
  );
  (await api.post(claims, claim("small", storageRequest("1Mi")))).expectFailure(
    403,
    "Forbidden",
    'persistentvolumeclaims "small" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi',
  );
  (await api.post(claims, claim("fits"))).expect(201);
  (await api.patch(`${claims}/fits/status`, { status: { phase: "Bound" } })).expect(200);
  (await api.patch(`${claims}/fits`, { spec: storageRequest("5Gi") })).expectFailure(
    403,
    "Forbidden",
    /maximum storage usage|can be resized/,
  );
});

inBothDomains("limit ranges that contradict themselves are refused", async (api) => {
  const { ns } = await api.createNamespace();
  const path = `/api/v1/namespaces/${ns}/limitranges`;
  const invalid = (amount: string): string => `Invalid value: "${amount}"`;
  const expectRefusal = async (item: object, field: string, message: string): Promise<void> => {
    const answer = (await api.post(path, limits("bad", item))).expectFailure(422, "Invalid");
    answer.has({ [`details.causes[field=${field}].message`]: message });
  };
  await expectRefusal(
    { type: "Container", max: { cpu: "1" }, min: { cpu: "2" } },
    "spec.limits[0].min[cpu]",
    `${invalid("2")}: min value 2 is greater than max value 1`,
  );
  await expectRefusal(
    { type: "Pod", default: { cpu: "1" } },
    "spec.limits[0].default",
    "Forbidden: may not be specified when `type` is 'Pod'",
  );
  await expectRefusal(
    { type: "Container", default: { cpu: "3" }, max: { cpu: "2" } },
    "spec.limits[0].default[cpu]",
    `${invalid("3")}: default value 3 is greater than max value 2`,
  );
});
