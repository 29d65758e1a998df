/** Validation of pods, with the messages of kube-apiserver 1.32.1. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod, PodSpec } from "#api/core/v1.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { podRules } from "./pod-validation/rules.ts";
import { defaultPod } from "./pod-spec.ts";
import { validatePodStatus } from "./pod-status.ts";
import { validateNewPod, validatePod, validatePodTemplateSpec } from "./pod-validation.ts";

const gated = (...gates: readonly string[]) =>
  podRules({ domain: kubernetesDomain, gate: (name) => gates.includes(name), allowsPrivileged: true });
const rulesOf = gated("RelaxedEnvironmentVariableValidation");
const rules = rulesOf({ metadata: {}, spec: { containers: null } });

const container = { name: "a", image: "x:1", resources: {} };
const createSpec = (spec: object): PodSpec =>
  defaultPod({ containers: [container], ...spec }, { resizePolicy: false, podResources: false });

function check(spec: object, ...findings: string[]): void {
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: createSpec(spec), status: {} };
  const errors = [...validatePod(pod, rules), ...validateNewPod(pod, kubernetesDomain)].map(printFieldError);
  assert.deepEqual(errors, findings, JSON.stringify(spec));
}

/** Checks the findings about one container, below its path. */
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
  const devices = [
    { name: "", devicePath: "/a" },
    { name: "", devicePath: "/b" },
  ];
  checkContainer(
    { volumeDevices: devices },
    "volumeDevices[0].name: Required value",
    'volumeDevices[0].name: Not found: ""',
    "volumeDevices[1].name: Required value",
    'volumeDevices[1].name: Not found: ""',
  );
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
  const spec = createSpec({
    containers: [{ ...container, image: " x" }],
    ephemeralContainers: [{ ...container, name: "e" }],
  });
  const template = { metadata: { labels: { "a b": "c" } }, spec };
  const errors = validatePodTemplateSpec(template, FieldPath.of("spec", "template"), rules);
  assert.deepEqual(
    errors.map(({ field }) => field),
    ["spec.template.labels", "spec.template.spec.ephemeralContainers"],
  );
});

test("a pod has at most one address of each family", () => {
  const status = {
    podIPs: [{ ip: "1.2.3.4" }, { ip: "1.2.3.5" }],
    hostIP: "::1",
    hostIPs: [{ ip: "::2" }, { ip: "1.1.1.1" }],
  };
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: createSpec({}), status };
  assert.deepEqual(validatePodStatus(pod, pod).map(printFieldError), [
    'status.podIPs: Invalid value: [{"ip":"1.2.3.4"},{"ip":"1.2.3.5"}]: may specify no more than one IP for each IP family',
    'status.hostIPs[0].ip: Invalid value: "::2": must be equal to `hostIP`',
  ]);
});

test("all sources of a projected volume are checked, also those that are one too many", () => {
  const sources = [
    { secret: {}, configMap: { name: "c" }, serviceAccountToken: { path: "../x", expirationSeconds: 1 } },
  ];
  const path = "spec.volumes[0].projected";
  check(
    { serviceAccountName: "default", volumes: [{ name: "v", projected: { sources } }] },
    `${path}.sources[0].secret.name: Required value`,
    `${path}.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes`,
    `${path}.path: Invalid value: "../x": must not contain '..'`,
    `${path}.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
  );
});

test("a projected token is one of the pod's service account", () => {
  const sources = [{ serviceAccountToken: { path: "a" } }, { configMap: { name: "c" } }];
  check(
    { volumes: [{ name: "v", projected: { sources } }] },
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
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
        spec: createSpec({ volumes: [volume(name, metadata)] }),
        status: {},
      },
      rules,
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

test("names of iSCSI have a form, as upstream's patterns have it, and cost no more than their length", async () => {
  const checkIqn = (iqn: string): void =>
    check({ volumes: [{ name: "v", iscsi: { targetPortal: "x", iqn, lun: 1 } }] });
  const expectRefusal = (iqn: string): void =>
    check(
      { volumes: [{ name: "v", iscsi: { targetPortal: "x", iqn, lun: 1 } }] },
      `spec.volumes[0].iscsi.iqn: Invalid value: ${JSON.stringify(iqn)}: must be valid format`,
    );
  const good = "iqn.2001-04.com.example:a";
  const others = ["iqn.2001-04.com:a:b", "iqn.2001-04.com:\u00a0\v\u2028\ufeffä", "iqn.2001-04.a iqn.2001-04.a:b"];
  const long = ["eui.0123456789abcdef", "eui😀0123456789abcdef", "eui\r0123456789abcdef", `naa.${"0".repeat(32)}`];
  for (const name of [good, `iqn${good}`, `iqn, ${good}`, `iqn:${good}`, ...others, ...long]) checkIqn(name);
  const withoutName = ["iqn.2001-04.com.example", "iqn.2001-04.com.example:", "iqn:a"];
  const wrong = ["iqn.2001-04.com_x:a", "iqn.2001-04.com:a b", "iqn.2001-04.com:a,b", "iqn.2001-04.com:a\n"];
  const longer = ["eui.0123456789abcdefa", "eui0eui.0123456789abcdef", "eui\n0123456789abcdef"];
  for (const name of [...withoutName, ...wrong, ...longer]) expectRefusal(name);
  for (const part of ["iqn.2001-04.a", "iqn.2001-04.a:", "a", "a:"])
    await growsInProportion(1500, (count) => expectRefusal(`iqn.${part.repeat(count)},`));
});

test("the name of a driver is measured in bytes", () => {
  const csiVolume = (driver: string) => ({ volumes: [{ name: "v", csi: { driver } }] });
  check(csiVolume("a".repeat(63)));
  const driver = "é".repeat(40);
  check(
    csiVolume(driver),
    "spec.volumes[0].csi.driver: Too long: may not be more than 63 bytes",
    ...dns1123Subdomain(driver).map((text) => `spec.volumes[0].csi.driver: Invalid value: "${driver}": ${text}`),
  );
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
  const withInitiator = (length: number): object => ({
    name: "v",
    iscsi: { ...iscsi, targetPortal: "x".repeat(length), initiatorName: iscsi.iqn },
  });
  check({ volumes: [withInitiator(62)] });
  check(
    { volumes: [withInitiator(63)] },
    'spec.volumes[0].name: Invalid value: "v": Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
  );
  check(
    { volumes: [{ name: "v", quobyte: { registry: "x", volume: "v", tenant: "x".repeat(65) } }] },
    "spec.volumes[0].quobyte.tenant: Required value: must be a UUID and may not exceed a length of 64 characters",
  );
  const sysctl = { name: "kernel.shm_rmid_forced", value: "1" };
  check(
    { securityContext: { sysctls: [sysctl, sysctl] } },
    'spec.securityContext.sysctls[1].name: Duplicate value: "kernel.shm_rmid_forced"',
  );
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p" },
    spec: createSpec({ runtimeClassName: "" }),
    status: {},
  };
  const errors = validatePod(pod, rules).map(printFieldError);
  assert.match(errors[0]!, /^spec\.runtimeClassName: Invalid value: ""/);
  const spread = { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "DoNotSchedule", matchLabelKeys: ["/x"] };
  const path = "spec.topologySpreadConstraints[0].matchLabelKeys";
  check(
    { topologySpreadConstraints: [spread] },
    `${path}: Forbidden: must not be specified when labelSelector is not set`,
    `${path}[0]: Invalid value: "/x": prefix part must be non-empty`,
  );
});

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

test("a claim of a pod is of one object, and containers take what the pod has", () => {
  const resourceClaims = [
    { name: "r", resourceClaimName: "x" },
    { name: "s", resourceClaimTemplateName: "y" },
  ];
  const containerClaiming = (claims: readonly object[]) => ({
    resourceClaims,
    containers: [{ ...container, resources: { claims } }],
  });
  const at = "spec.containers[0].resources.claims";
  check(containerClaiming([{ name: "r", request: "a" }, { name: "r", request: "b" }, { name: "s" }]));
  check(
    { resourceClaims: [{ name: "" }, { name: "x", resourceClaimName: "-" }, { name: "x", resourceClaimName: "y" }] },
    "spec.resourceClaims[0].name: Required value",
    'spec.resourceClaims[0]: Invalid value: {"name":""}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
    `spec.resourceClaims[1].resourceClaimName: Invalid value: "-": ${subdomain}`,
    'spec.resourceClaims[2].name: Duplicate value: "x"',
  );
  check(
    containerClaiming([
      { name: "q" },
      { name: "" },
      { name: "r" },
      { name: "r", request: "a" },
      { name: "r", request: "a" },
    ]),
    `${at}[0]: Not found: "q": must be one of the names in pod.spec.resourceClaims: r, s`,
    `${at}[1]: Required value`,
    `${at}[3]: Duplicate value: "r"`,
    `${at}[4]: Duplicate value: "r"`,
  );
  const parts = ["a", "b", "a"].map((request) => ({ name: "r", request }));
  check(
    containerClaiming([...parts, { name: "r" }, { name: "r" }]),
    `${at}[2]: Duplicate value: "r/a"`,
    `${at}[3]: Duplicate value: "r"`,
    `${at}[4]: Duplicate value: "r"`,
  );
  const slashed = (...claims: readonly (readonly [name: string, request?: string])[]) =>
    containerClaiming(claims.map(([name, request]) => ({ name, ...(request === undefined ? {} : { request }) })));
  const unknown = (i: number, name: string): string =>
    `${at}[${i}]: Not found: "${name}": must be one of the names in pod.spec.resourceClaims: r, s`;
  check(slashed(["r"], ["r/a"]), unknown(1, "r/a"));
  check(slashed(["r/a"], ["r"]), unknown(0, "r/a"), `${at}[1]: Duplicate value: "r"`);
  check(slashed(["r/a"], ["r", "b"], ["r", "a"]), unknown(0, "r/a"), `${at}[2]: Duplicate value: "r/a"`);
  check(slashed(["r", "a"], ["r/a"]), `${at}[1]: Duplicate value: "r/a"`, unknown(1, "r/a"));
  check(slashed(["q/a", "b"], ["q/a"]), unknown(0, "q/a"), unknown(1, "q/a"));
  checkContainer(
    { resources: { claims: [{ name: "r" }] } },
    'resources.claims[0]: Not found: "r": must be one of the names in pod.spec.resourceClaims which is empty',
  );
});

test("resize policies are those of CPU and memory of main containers", () => {
  const resizePolicy = [
    { resourceName: "gpu", restartPolicy: "Sometimes" },
    { resourceName: "cpu", restartPolicy: "" },
    { resourceName: "cpu", restartPolicy: "NotRequired" },
  ];
  checkContainer(
    { resizePolicy },
    'resizePolicy: Unsupported value: gpu: supported values: "cpu", "memory"',
    'resizePolicy: Unsupported value: "Sometimes": supported values: "NotRequired", "RestartContainer"',
    "resizePolicy: Required value",
    "resizePolicy[2]: Duplicate value: cpu",
  );
  const restarts = [{ resourceName: "memory", restartPolicy: "RestartContainer" }];
  check(
    { restartPolicy: "Never", containers: [{ ...container, resizePolicy: restarts }] },
    "spec.containers[0].resizePolicy: Invalid value: \"RestartContainer\": must be 'NotRequired' when `restartPolicy` is 'Never'",
  );
  check(
    { initContainers: [{ ...container, name: "b", resizePolicy: restarts }] },
    'spec.initContainers[0].resizePolicy: Invalid value: [{"resourceName":"memory","restartPolicy":"RestartContainer"}]: must not be set for init containers',
  );
});

test("resources of a pod are CPU and memory, and enough for its containers", () => {
  const of = (resources: object, ...containers: readonly object[]) => ({
    resources,
    containers: containers.map((own, i) => ({ ...container, name: `c${i}`, resources: own })),
  });
  check(of({ requests: { cpu: "2" }, limits: { cpu: "2" } }, { requests: { cpu: "1" } }, { requests: { cpu: "1" } }));
  check(
    of({ requests: { cpu: "1", other: "1", "ephemeral-storage": "1" }, limits: { cpu: "500m" } }, {}),
    'spec.resources.requests: Invalid value: "1": must be less than or equal to cpu limit of 500m',
    "spec.resources.requests[other]: Invalid value: other: must be a standard resource type or fully qualified",
    'spec.resources.requests[ephemeral-storage]: Unsupported value: ephemeral-storage: supported values: "cpu", "memory"',
  );
  check(
    of({ requests: { cpu: "1" } }, { requests: { cpu: "500m" } }, { requests: { cpu: "600m", memory: "1Mi" } }),
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 1100m',
    'spec.resources.requests[memory]: Invalid value: "0": must be greater than or equal to aggregate container requests of 1Mi',
  );
  check(
    of(
      { requests: { memory: "2Gi" }, limits: { memory: "2Gi" } },
      {},
      { limits: { memory: "3Gi" }, requests: { memory: "1Gi" } },
    ),
    'spec.resources.containers[1][memory].limits: Invalid value: "3Gi": must be less than or equal to pod limits of 2Gi',
  );
  check(
    of({ claims: [{ name: "r" }] }, {}),
    "spec.resources.claims: Forbidden: claims cannot be set for Resources at pod-level",
    'spec.resources.claims[0]: Not found: "r": must be one of the names in pod.spec.resourceClaims which is empty',
  );
});

test("users, masks and policies of security contexts are checked", () => {
  const unmasked = { containers: [{ ...container, securityContext: { procMount: "Unmasked" } }] };
  check({ hostUsers: false, ...unmasked });
  check(
    unmasked,
    'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  );
  checkContainer(
    { securityContext: { procMount: "Other" } },
    'securityContext.procMount: Unsupported value: "Other": supported values: "Default", "Unmasked"',
  );
  check(
    { hostUsers: false, hostNetwork: true, hostPID: true, hostIPC: true },
    "spec.hostNetwork: Forbidden: when `pod.Spec.HostUsers` is false",
    "spec.HostPID: Forbidden: when `pod.Spec.HostUsers` is false",
    "spec.HostIPC: Forbidden: when `pod.Spec.HostUsers` is false",
  );
  check({ hostUsers: true, hostPID: true });
  check(
    { securityContext: { supplementalGroupsPolicy: "Some", seLinuxChangePolicy: "" } },
    'spec.securityContext.supplementalGroupsPolicy: Unsupported value: "Some": supported values: "Merge", "Strict"',
    'spec.securityContext.seLinuxChangePolicy: Unsupported value: "": supported values: "Recursive"',
  );
  const policies = { supplementalGroupsPolicy: "Strict", seLinuxChangePolicy: "Recursive" };
  check(
    { os: { name: "windows" }, hostUsers: true, securityContext: policies },
    ...["hostUsers", ...Object.keys(policies).map((name) => `securityContext.${name}`)].map(
      (name) => `spec.${name}: Forbidden: cannot be set for a windows pod`,
    ),
  );
});

test("image volumes have an image, in pods, and are mounted as a whole", () => {
  const image = (source: object, mount: object = {}) => ({
    volumes: [{ name: "v", image: source }],
    containers: [{ ...container, volumeMounts: [{ name: "v", mountPath: "/v", ...mount }] }],
  });
  check(image({ reference: "i" }));
  check(image({}), "spec.volumes[0].image.reference: Required value");
  check(
    { volumes: [{ name: "v", emptyDir: {}, image: {} }] },
    "spec.volumes[0].image: Forbidden: may not specify more than 1 volume type",
  );
  check(
    { volumes: [{ name: "v", image: { reference: "i", pullPolicy: "Now" } }] },
    'spec.volumes[0].image.pullPolicy: Unsupported value: "Now": supported values: "Always", "IfNotPresent", "Never"',
  );
  check(
    image({ reference: "i" }, { subPath: "a" }),
    'spec.containers[0].volumeMounts[0].subPath: Invalid value: "a": not allowed in image volume sources',
  );
  const template = { metadata: {}, spec: createSpec(image({})) };
  assert.deepEqual(validatePodTemplateSpec(template, FieldPath.of("template"), rules), []);
});

test("a projected trust bundle has a name or a signer, and a path of its own", () => {
  const at = "spec.volumes[0].projected";
  const bundles = (...sources: readonly object[]) => ({
    volumes: [{ name: "v", projected: { sources: sources.map((clusterTrustBundle) => ({ clusterTrustBundle })) } }],
  });
  check(bundles({ name: "a:b:c", path: "a" }, { signerName: "example.com/s", labelSelector: {}, path: "b" }));
  check(
    bundles({ path: "" }, { name: "", path: "a" }, { name: "b", labelSelector: {}, path: "a" }),
    `${at}.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
    `${at}.sources[0].clusterTrustBundle.path: Required value`,
    `${at}.sources[1].clusterTrustBundle.name: Required value: must be a valid object name`,
    `${at}.sources[1].clusterTrustBundle.name: Invalid value: "": not a valid clustertrustbundlename: ${subdomain}`,
    `${at}.sources[2].clusterTrustBundle.labelSelector: Invalid value: {}: labelSelector must be unset if name is specified`,
    `${at}: Invalid value: "a": conflicting duplicate paths`,
  );
  check(
    bundles({ signerName: "s", labelSelector: { matchExpressions: [{ key: "a", operator: "X" }] }, path: "../a" }),
    `${at}.sources[0].clusterTrustBundle.signerName: Invalid value: "s": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    `${at}.sources[0].clusterTrustBundle.labelSelector.matchExpressions[0].operator: Invalid value: "X": not a valid selector operator`,
    `${at}.sources[0].clusterTrustBundle.path: Invalid value: "../a": must not contain '..'`,
  );
  const both = { secret: { name: "s" }, clusterTrustBundle: { name: "n", path: "p" } };
  check(
    { volumes: [{ name: "v", projected: { sources: [both] } }] },
    `${at}.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
  );
});

/** Returns the findings about a pod with this spec, while these gates are on. `old` is the stored spec of an update. */
function checkGated(gates: readonly string[], spec: object, old?: object): string[] {
  const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: createSpec(spec), status: {} };
  const before = old === undefined ? undefined : { ...pod, spec: createSpec(old) };
  return validatePod(pod, gated(...gates)(pod, before)).map(printFieldError);
}

test("a container may sleep for no time while a gate is on, and in updates", () => {
  const sleeping = (seconds: number) => ({
    containers: [{ ...container, lifecycle: { preStop: { sleep: { seconds } } } }],
  });
  assert.match(checkGated([], sleeping(0))[0]!, /must be greater than 0 and less than terminationGracePeriodSeconds/);
  assert.deepEqual(checkGated([], sleeping(0), sleeping(1)), []);
  const gates = ["PodLifecycleSleepActionAllowZero"];
  assert.deepEqual(checkGated(gates, sleeping(0)), []);
  assert.deepEqual(checkGated(gates, sleeping(31)), [
    "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
  ]);
});

test("search domains may have underscores while a gate is on, and where there were some", () => {
  const searching = (...searches: readonly string[]) => ({ dnsConfig: { searches } });
  assert.equal(checkGated([], searching("_a.b_c", ".")).length, 2);
  assert.deepEqual(checkGated([], searching("_a.b_c", "."), searching("x_y")), []);
  assert.deepEqual(checkGated(["RelaxedDNSSearchValidation"], searching("_a.b_c", ".", "a.")), []);
  assert.match(
    checkGated(["RelaxedDNSSearchValidation"], searching("a_"))[0]!,
    /'_', '-' or '.', and must start and end/,
  );
});

test("volumes are mounted with a label while a gate is on, and where a policy was set", () => {
  const spec = (seLinuxChangePolicy: string) => ({ securityContext: { seLinuxChangePolicy } });
  assert.deepEqual(checkGated([], spec("MountOption")), [
    'spec.securityContext.seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"',
  ]);
  assert.deepEqual(checkGated([], spec("MountOption"), spec("Recursive")), []);
  assert.deepEqual(checkGated(["SELinuxMount"], spec("MountOption")), []);
});

test("names of variables are stricter while a gate is off, except those that were there", () => {
  const named = (name: string) => ({ containers: [{ ...container, env: [{ name }] }] });
  assert.match(checkGated([], named("a b"))[0]!, /must consist of alphabetic characters, digits, '_', '-', or '.'/);
  assert.match(checkGated([], named("..a"))[0]!, /must not start with '..'$/);
  assert.deepEqual(checkGated([], named("a b"), named("a b")), []);
  assert.equal(checkGated([], named("a b"), named("c d")).length, 1);
});

test("classes of ephemeral volumes are checked while a gate is on", () => {
  const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  const spec = { ...claim, volumeAttributesClassName: "Bad_" };
  const volumes = [{ name: "v", ephemeral: { volumeClaimTemplate: { metadata: { creationTimestamp: null }, spec } } }];
  assert.deepEqual(checkGated([], { volumes }), []);
  assert.match(
    checkGated(["VolumeAttributesClass"], { volumes })[0]!,
    /^spec\.volumes\[0\]\.ephemeral\.volumeClaimTemplate\.spec\.volumeAttributesClassName: Invalid value: "Bad_"/,
  );
  // The first source alone is checked.
  const several = volumes.map((volume) => ({ ...volume, emptyDir: {} }));
  assert.deepEqual(checkGated(["VolumeAttributesClass"], { volumes: several }), [
    "spec.volumes[0].ephemeral: Forbidden: may not specify more than 1 volume type",
  ]);
});

test("the old annotation of tolerations is checked", () => {
  const name = "scheduler.alpha.kubernetes.io/tolerations";
  const refuse = (text: string): string[] => {
    const metadata = { name: "p", annotations: { [name]: text } };
    const pod: Pod = { apiVersion: "v1", kind: "Pod", metadata, spec: createSpec({}), status: {} };
    return validatePod(pod, rules).map(printFieldError);
  };
  assert.deepEqual(refuse(""), []);
  assert.deepEqual(refuse('[{"Key":"a","operator":"Exists","other":1}]'), []);
  assert.deepEqual(refuse('[{"key":"a","effect":"Other"}]'), [
    `metadata.annotations.${name}[0].effect: Unsupported value: "Other": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`,
  ]);
  for (const wrong of [
    "x",
    "{}",
    "[1]",
    '[{"key":1}]',
    '[{"tolerationSeconds":1.5}]',
    '[{"tolerationSeconds":1e19}]',
  ]) {
    assert.match(refuse(wrong)[0]!, new RegExp(`^metadata\\.annotations: Invalid value: "${name}": `), wrong);
  }
});
