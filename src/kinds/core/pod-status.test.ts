/** The findings of kube-apiserver 1.32.1 about the status of pods, and the parts that it stores. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const pods = kindUnderTest({ group: "", version: "v1", kind: "Pod" });
const pod = (status: object, spec: object = {}): Unstructured => ({
  metadata: { name: "p" },
  spec: { containers: [{ name: "a", image: "x:1" }], ...spec },
  status,
});
const stored = pod({ phase: "Pending", qosClass: "BestEffort" });
/** Returns the findings about a write of the status of a pod with this spec. */
const refuse = (status: object, spec: object = {}): string[] =>
  pods.refuseUpdate(pod(status), pod({ phase: "Pending", qosClass: "BestEffort" }, spec), "status");

test("the class of service stays", () => {
  const { status } = pods.update(pod({ phase: "Running" }), stored, "status") as { status?: object };
  assert.deepEqual(status, { phase: "Running", qosClass: "BestEffort" });
  assert.deepEqual(refuse({ phase: "Running" }), []);
  assert.deepEqual(refuse({ qosClass: "Burstable" }), [
    'status.qosClass: Invalid value: "Burstable": field is immutable',
  ]);
});

test("types of conditions are names, and claims those of the spec", () => {
  assert.deepEqual(refuse({ conditions: [{ type: "example.com/ready", status: "True" }] }), []);
  assert.match(refuse({ conditions: [{ type: "", status: "True" }] })[0]!, /^metadata\.conditions\[0\]\.Type: /);
  assert.deepEqual(refuse({ resourceClaimStatuses: [{ name: "b" }] }), [
    'status.resourceClaimStatuses[0].name: Invalid value: "b": must match the name of an entry in `spec.resourceClaims`',
  ]);
});

test("each claim has one status, whose claim has a name", () => {
  const errors = refuse({ resourceClaimStatuses: [{ name: "b", resourceClaimName: "" }, { name: "b" }] });
  assert.match(
    errors[0]!,
    /^status\.resourceClaimStatuses\[0\]\.name: Invalid value: "": a lowercase RFC 1123 subdomain/,
  );
  assert.ok(errors.includes('status.resourceClaimStatuses[1].name: Duplicate value: "b"'), errors.join("\n"));
});

test("several addresses are only compared when each is one", () => {
  const errors = refuse({ podIP: "nonsense", podIPs: [{ ip: "nonsense" }, { ip: "fd00::1" }] });
  assert.ok(
    errors.includes("status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[0]: nonsense"),
    errors.join("\n"),
  );
});

test("a negative period of grace is one second", () => {
  const object = pods.create(pod({}, { terminationGracePeriodSeconds: -5 })) as { spec?: object };
  assert.equal((object.spec as { terminationGracePeriodSeconds?: number }).terminationGracePeriodSeconds, 1);
});

const runningState = (fields: object): object => ({
  name: "a",
  image: "x",
  imageID: "",
  ready: true,
  restartCount: 0,
  ...fields,
});

test("devices that containers were allocated have a health, and are those the spec asks for", () => {
  const requests = { "example.com/gpu": "1" };
  const spec = { containers: [{ name: "a", image: "x:1", resources: { requests, limits: requests } }] };
  const validateResources = (...allocatedResourcesStatus: readonly object[]): string[] =>
    refuse({ containerStatuses: [runningState({ allocatedResourcesStatus })] }, spec);
  const at = "status.containerStatuses[0].allocatedResourcesStatus";
  assert.deepEqual(
    validateResources({ name: "example.com/gpu", resources: [{ resourceID: "1", health: "Healthy" }] }),
    [],
  );
  assert.deepEqual(validateResources({ name: "other" }, { name: "claim:r" }), [
    `${at}[0].name: Invalid value: other: must match one of the container's resource requests`,
    `${at}[1].name: Invalid value: claim:r: must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty`,
  ]);
  const twice = [
    { resourceID: "1", health: "Good" },
    { resourceID: "1", health: "Unknown" },
  ];
  assert.deepEqual(validateResources({ name: "example.com/gpu", resources: twice }), [
    `${at}[0].resources[0].health: Unsupported value: "Good": supported values: "Healthy", "Unhealthy", "Unknown"`,
    `${at}[0].resources[1].resourceID: Duplicate value: "1"`,
  ]);
  const ephemeralContainerStatuses = [runningState({ name: "e", allocatedResourcesStatus: [{ name: "other" }] })];
  assert.deepEqual(refuse({ ephemeralContainerStatuses }), [
    "status.ephemeralContainerStatuses[0].allocatedResourcesStatus: Forbidden: must not be specified in container status",
  ]);
});

test("ids of a container's users have bounds, and Windows has none", () => {
  const user = { linux: { uid: -1, gid: 5, supplementalGroups: [1, 2147483648] } };
  assert.deepEqual(refuse({ initContainerStatuses: [runningState({ user })] }), [
    "status.initContainerStatuses[0].linux.uid: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    "status.initContainerStatuses[0].linux.supplementalGroups[1]: Invalid value: 2147483648: must be between 0 and 2147483647, inclusive",
  ]);
  assert.deepEqual(refuse({ containerStatuses: [runningState({ user })] }, { os: { name: "windows" } }), [
    "status.containerStatuses[0].linux: Forbidden: cannot be set for a windows pod",
  ]);
});

test("amounts in the status are kept in thousandths", () => {
  const amounts = { cpu: "1n" };
  const containerStatuses = [runningState({ allocatedResources: amounts, resources: { limits: amounts } })];
  const { status } = pods.update(pod({ containerStatuses }), stored, "status") as { status?: Record<string, unknown> };
  const [first] = status!["containerStatuses"] as readonly Record<string, unknown>[];
  assert.deepEqual([first!["allocatedResources"], first!["resources"]], [{ cpu: "1m" }, { limits: { cpu: "1m" } }]);
});

test("a container that has ended for good does not run again", () => {
  const state = (name: string, of: object) => ({
    name,
    ready: false,
    restartCount: 0,
    image: "",
    imageID: "",
    state: of,
  });
  const ended = (exitCode: number) => ({ terminated: { exitCode } });
  const before = pod(
    {
      qosClass: "BestEffort",
      containerStatuses: [state("a", ended(0)), state("b", ended(1))],
      initContainerStatuses: [state("i", ended(0)), state("r", ended(0))],
      ephemeralContainerStatuses: [state("e", ended(1))],
    },
    { restartPolicy: "OnFailure", initContainers: [{ name: "r", image: "x:1", restartPolicy: "Always" }] },
  );
  const now = {
    containerStatuses: [state("b", {}), state("a", { running: {} })],
    initContainerStatuses: [state("i", {}), state("r", {})],
    ephemeralContainerStatuses: [state("e", { waiting: {} })],
  };
  const again = "state: Forbidden: may not be transitioned to non-terminated state";
  assert.deepEqual(pods.refuseUpdate(pod(now), before, "status"), [
    `status.containerStatuses[0].${again}`,
    `status.initContainerStatuses[0].${again}`,
    `status.ephemeralContainerStatuses[0].${again}`,
  ]);
  assert.deepEqual(pods.refuseUpdate(pod({}), before, "status"), []);
  const twice = { containerStatuses: [state("a", {}), state("a", {})] };
  assert.equal(pods.refuseUpdate(pod(twice), before, "status").length, 1);
});
