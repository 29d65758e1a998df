/** Validation of pods, with the texts of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "#api/core/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { defaultPod } from "./pod-spec.ts";
import { validatePodStatus } from "./pod-status.ts";
import { validateNewPod, validatePod, validatePodTemplateSpec } from "./pod-validation.ts";

const container = { name: "a", image: "x:1", resources: {} };
const made = (spec: object): PodSpec => defaultPod({ containers: [container], ...spec }, { resizePolicy: false });

function check(spec: object, ...findings: string[]): void {
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: made(spec), status: {} };
  const found = [...validatePod(pod, kubernetesDomain), ...validateNewPod(pod)].map(printFieldError);
  assert.deepEqual(found, findings, JSON.stringify(spec));
}

/** A check of one container, found below its path. */
const checkContainer = (fields: object, ...findings: string[]): void =>
  check({ containers: [{ ...container, ...fields }] }, ...findings.map((text) => `spec.containers[0].${text}`));

test("a valid pod has no findings", () => {
  check({});
  check({
    volumes: [{ name: "v" }, { name: "c", persistentVolumeClaim: { claimName: "c" } }],
    containers: [
      {
        ...container,
        ports: [{ containerPort: 80, name: "http" }],
        env: [{ name: "A b", valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } }],
        volumeMounts: [{ name: "v", mountPath: "/v", subPath: "a/..b" }],
        livenessProbe: { httpGet: { port: "http" } },
        resources: { limits: { cpu: "1", "hugepages-2Mi": "4Mi" } },
      },
    ],
    tolerations: [{ operator: "Exists" }],
    dnsPolicy: "None",
    dnsConfig: { nameservers: ["1.1.1.1"], searches: ["a."] },
  });
});

test("names of containers are unique over all sorts of containers", () => {
  check({ containers: [] }, "spec.containers: Required value");
  check({ initContainers: [container] }, 'spec.initContainers[0].name: Duplicate value: "a"');
  check(
    { ephemeralContainers: [{ ...container, targetContainerName: "b" }] },
    'spec.ephemeralContainers[0].name: Duplicate value: "a"',
    'spec.ephemeralContainers[0].targetContainerName: Not found: "b"',
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
  );
});

test("ports, environment, mounts, probes and resources of a container are checked", () => {
  const ports = [
    { containerPort: 0, hostPort: 80 },
    { containerPort: 1, hostPort: 80 },
  ];
  checkContainer({ ports }, "ports[0].containerPort: Required value", 'ports[1].hostPort: Duplicate value: "TCP//80"');
  checkContainer(
    { env: [{ name: "A", valueFrom: { fieldRef: { fieldPath: "spec.secret" } } }] },
    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.secret": error converting fieldPath: field label not supported: spec.secret',
  );
  checkContainer({ volumeMounts: [{ name: "v", mountPath: "/v" }] }, 'volumeMounts[0].name: Not found: "v"');
  checkContainer(
    { livenessProbe: { exec: { command: ["a"] }, tcpSocket: { port: 1 }, successThreshold: 2 } },
    "livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
    "livenessProbe.successThreshold: Invalid value: 2: must be 1",
  );
  checkContainer(
    { resources: { limits: { cpu: "1" }, requests: { cpu: "2" } } },
    'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  );
  checkContainer(
    { resources: { limits: { "hugepages-2Mi": "3Mi" }, requests: { "hugepages-2Mi": "3Mi" } } },
    'resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    'resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    "resources: Forbidden: HugePages require cpu or memory",
  );
});

test("volumes have a name and one source, whose paths stay inside", () => {
  check(
    { volumes: [{ name: "v", emptyDir: {}, secret: { secretName: "s" } }] },
    "spec.volumes[0].secret: Forbidden: may not specify more than 1 volume type",
  );
  check(
    { volumes: [{ name: "v", configMap: { name: "c", items: [{ key: "k", path: "../x" }] } }] },
    "spec.volumes[0].configMap.items[0].path: Invalid value: \"../x\": must not contain '..'",
  );
});

test("where and how a pod runs is checked", () => {
  check(
    { tolerations: [{ key: "a", effect: "NoSchedule", tolerationSeconds: 1 }] },
    "spec.tolerations[0].effect: Invalid value: \"NoSchedule\": effect must be 'NoExecute' when `tolerationSeconds` is set",
  );
  const spread = { maxSkew: 1, topologyKey: "z", whenUnsatisfiable: "DoNotSchedule" };
  check(
    { topologySpreadConstraints: [spread, spread] },
    'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{z, DoNotSchedule}"',
  );
  check(
    { os: { name: "windows" }, securityContext: { fsGroup: 1, runAsUser: -1 } },
    "spec.securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    "spec.securityContext.fsGroup: Forbidden: cannot be set for a windows pod",
    "spec.securityContext.runAsUser: Forbidden: cannot be set for a windows pod",
  );
  check(
    { schedulingGates: [{ name: "g" }], nodeName: "n" },
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  );
});

test("a template is checked as a pod, but for blanks around images", () => {
  const spec = made({
    containers: [{ ...container, image: " x" }],
    ephemeralContainers: [{ ...container, name: "e" }],
  });
  const template = { metadata: { labels: { "a b": "c" } }, spec };
  const found = validatePodTemplateSpec(template, FieldPath.of("spec", "template"), kubernetesDomain);
  assert.deepEqual(
    found.map(({ field }) => field),
    ["spec.template.labels", "spec.template.spec.ephemeralContainers"],
  );
});

test("a pod has at most one address of each family", () => {
  const status = {
    podIPs: [{ ip: "1.2.3.4" }, { ip: "1.2.3.5" }],
    hostIP: "::1",
    hostIPs: [{ ip: "::2" }, { ip: "1.1.1.1" }],
  };
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: made({}), status };
  assert.deepEqual(validatePodStatus(pod, pod).map(printFieldError), [
    'status.podIPs: Invalid value: []core.PodIP{core.PodIP{IP:"1.2.3.4"}, core.PodIP{IP:"1.2.3.5"}}: may specify no more than one IP for each IP family',
    'status.hostIPs[0].ip: Invalid value: "::2": must be equal to `hostIP`',
  ]);
});

test("all sources of a projected volume are checked, also those that are one too many", () => {
  const sources = [{ secret: {}, serviceAccountToken: { path: "../x", expirationSeconds: 1 } }];
  const path = "spec.volumes[0].projected";
  check(
    { volumes: [{ name: "v", projected: { sources } }] },
    `${path}.sources[0].secret.name: Required value`,
    `${path}.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
    `${path}.path: Invalid value: "../x": must not contain '..'`,
    `${path}.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
  );
});

test("a volume that gets a claim of its own is named so that the claim can be", () => {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const volume = (name: string, metadata: object = {}): object => ({
    name,
    ephemeral: { volumeClaimTemplate: { metadata, spec } },
  });
  const pod = (name: string, metadata?: object): string[] =>
    validatePod(
      {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "p" },
        spec: made({ volumes: [volume(name, metadata)] }),
        status: {},
      },
      kubernetesDomain,
    ).map(printFieldError);
  assert.deepEqual(pod("data"), []);
  const [ofLabel, ofClaim, ...others] = pod("a_b");
  assert.match(ofLabel!, /^spec\.volumes\[0\]\.name: Invalid value: "a_b": a lowercase RFC 1123 label/);
  assert.match(
    ofClaim!,
    /^spec\.volumes\[0\]\.name: Invalid value: "a_b": PVC name "p-a_b": a lowercase RFC 1123 subdomain/,
  );
  assert.deepEqual(others, []);
  assert.deepEqual(pod("data", { uid: "u" }), [
    "spec.volumes[0].ephemeral.volumeClaimTemplate.metadata.uID: Forbidden: cannot be set",
  ]);
});

test("a secret for iSCSI needs no name; a kernel parameter is set once; a class of the runtime has a name", () => {
  const iscsi = {
    targetPortal: "x",
    iqn: "iqn.2001-04.com.example:storage",
    lun: 1,
    secretRef: {},
    chapAuthSession: true,
  };
  check({ volumes: [{ name: "v", iscsi }] });
  const sysctl = { name: "kernel.shm_rmid_forced", value: "1" };
  check(
    { securityContext: { sysctls: [sysctl, sysctl] } },
    'spec.securityContext.sysctls[1].name: Duplicate value: "kernel.shm_rmid_forced"',
  );
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: made({ runtimeClassName: "" }),
    status: {},
  };
  const found = validatePod(pod, kubernetesDomain).map(printFieldError);
  assert.match(found[0]!, /^spec\.runtimeClassName: Invalid value: ""/);
  const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", matchLabelKeys: ["/x"] };
  const path = "spec.topologySpreadConstraints[0].matchLabelKeys";
  check(
    { topologySpreadConstraints: [spread] },
    `${path}: Forbidden: must not be specified when labelSelector is not set`,
    `${path}[0]: Invalid value: "/x": prefix part must be non-empty`,
  );
});
