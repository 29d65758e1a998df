/**
 * Each check of the Pod Security Standards: the findings of each version in a pod. They are those of kube-apiserver
 * 1.32.1.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { runToEnd } from "#std/cooperative.ts";
import { toCheckedPod, findingText } from "./check.ts";
import { type SecurityLevel, readVersion } from "./policy.ts";
import { Standards } from "./standards.ts";

const standards = new Standards(kubernetesDomain);
const versions = [...Array.from({ length: 33 }, (_, minor) => `v1.${minor}`), "v1.99", "latest"];

interface Given {
  readonly spec?: object;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly relaxed?: boolean;
}

function evaluate(
  level: SecurityLevel,
  version: string,
  { spec = {}, annotations = {}, relaxed = false }: Given,
): string {
  const pod = toCheckedPod({ annotations }, { containers: [secure()], ...spec } as PodSpec, relaxed);
  const standard = { level, version, minor: readVersion(version)! };
  return runToEnd(standards.evaluate(standard, pod)).map(findingText).join(", ");
}

/** Returns the findings by the versions that have them, as `v1.0..v1.7`. */
function byVersion(level: SecurityLevel, given: Given): Readonly<Record<string, string>> {
  const ranges: { from: string; to: string; text: string }[] = [];
  for (const version of versions) {
    const text = evaluate(level, version, given);
    const last = ranges.at(-1);
    if (last?.text === text) last.to = version;
    else ranges.push({ from: version, to: version, text });
  }
  return Object.fromEntries(ranges.map(({ from, to, text }) => [`${from}..${to}`, text]));
}

/** A container that violates nothing, with changes. */
const secure = (name = "a", changes: object = {}, fields: object = {}): object => ({
  name,
  image: "i",
  securityContext: {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
    ...changes,
  },
  ...fields,
});

const all = "v1.0..latest";
const containers = (...changes: readonly object[]): object => ({
  containers: changes.map((change, at) => secure("abc"[at], change)),
});

type Found = string | Readonly<Record<string, string>>;

/** Compares the findings of a level; a text is expected in all versions, and an absent one means no findings. */
function check(name: string, given: Given, expected: { readonly baseline?: Found; readonly restricted?: Found }): void {
  test(name, () => {
    for (const level of ["baseline", "restricted"] as const) {
      const wanted = expected[level] ?? "";
      assert.deepEqual(byVersion(level, given), typeof wanted === "string" ? { [all]: wanted } : wanted, level);
    }
    assert.deepEqual(byVersion("privileged", given), { [all]: "" });
  });
}

/** Expects the same in both levels. */
const both = (text: Found): { readonly baseline: Found; readonly restricted: Found } => ({
  baseline: text,
  restricted: text,
});

check("a pod with all settings violates nothing", {}, {});

const escalation = (who: string): string =>
  `allowPrivilegeEscalation != false (${who} must set securityContext.allowPrivilegeEscalation=false)`;
const capabilities = (who: string): string =>
  `unrestricted capabilities (${who} must set securityContext.capabilities.drop=["ALL"])`;
const nonRoot = (who: string): string =>
  `runAsNonRoot != true (pod or ${who} must set securityContext.runAsNonRoot=true)`;
const seccomp = (who: string): string =>
  `seccompProfile (pod or ${who} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")`;

const bare = [{ name: "a", image: "i" }];
const one = 'container "a"';

check(
  "a pod without settings",
  { spec: { containers: bare } },
  {
    restricted: {
      "v1.0..v1.7": nonRoot(one),
      "v1.8..v1.18": `${escalation(one)}, ${nonRoot(one)}`,
      "v1.19..v1.21": `${escalation(one)}, ${nonRoot(one)}, ${seccomp(one)}`,
      "v1.22..latest": `${escalation(one)}, ${capabilities(one)}, ${nonRoot(one)}, ${seccomp(one)}`,
    },
  },
);

check(
  "a pod of Windows without settings",
  { spec: { containers: bare, os: { name: "windows" } } },
  {
    restricted: {
      "v1.0..v1.7": nonRoot(one),
      "v1.8..v1.18": `${escalation(one)}, ${nonRoot(one)}`,
      "v1.19..v1.21": `${escalation(one)}, ${nonRoot(one)}, ${seccomp(one)}`,
      "v1.22..v1.24": `${escalation(one)}, ${capabilities(one)}, ${nonRoot(one)}, ${seccomp(one)}`,
      "v1.25..latest": nonRoot(one),
    },
  },
);

const three = 'containers "i", "a", "e"';
check(
  "containers of all kinds, initial ones first",
  {
    spec: {
      containers: bare,
      initContainers: [{ name: "i", image: "i" }],
      ephemeralContainers: [{ name: "e", image: "i" }],
    },
  },
  {
    restricted: {
      "v1.0..v1.7": nonRoot(three),
      "v1.8..v1.18": `${escalation(three)}, ${nonRoot(three)}`,
      "v1.19..v1.21": `${escalation(three)}, ${nonRoot(three)}, ${seccomp(three)}`,
      "v1.22..latest": `${escalation(three)}, ${capabilities(three)}, ${nonRoot(three)}, ${seccomp(three)}`,
    },
  },
);

check(
  "host namespaces",
  { spec: { hostNetwork: true, hostPID: true, hostIPC: true } },
  both("host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"),
);
check("one host namespace", { spec: { hostPID: true, hostIPC: false } }, both("host namespaces (hostPID=true)"));

const ports = (...hostPorts: readonly number[]): object => ({ ports: hostPorts.map((hostPort) => ({ hostPort })) });
check(
  "a host port",
  { spec: { containers: [secure("a", {}, ports(80, 0))] } },
  both('hostPort (container "a" uses hostPort 80)'),
);
check(
  "host ports of several containers, in the order of texts",
  { spec: { containers: [secure("a", {}, ports(8080, 9)), secure("b", {}, ports(1000, 9)), secure("c")] } },
  both('hostPort (containers "a", "b" use hostPorts 1000, 8080, 9)'),
);

check(
  "processes of the host",
  { spec: containers({ windowsOptions: { hostProcess: true } }, { windowsOptions: { hostProcess: false } }) },
  both('hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)'),
);
check(
  "processes of the host by the pod, too",
  {
    spec: {
      securityContext: { windowsOptions: { hostProcess: true } },
      ...containers({ windowsOptions: { hostProcess: true } }, { windowsOptions: { hostProcess: true } }),
    },
  },
  both('hostProcess (pod and containers "a", "b" must not set securityContext.windowsOptions.hostProcess=true)'),
);

check(
  "privileged containers",
  { spec: containers({ privileged: true }, { privileged: false }) },
  both('privileged (container "a" must not set securityContext.privileged=true)'),
);
check(
  "escalation",
  { spec: containers({ allowPrivilegeEscalation: true }, { allowPrivilegeEscalation: undefined }) },
  { restricted: { "v1.0..v1.7": "", "v1.8..latest": escalation('containers "a", "b"') } },
);

const defaults =
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  );
const remaining = defaults.filter((name) => name !== "NET_BIND_SERVICE");
const notToInclude = (who: string, names: readonly string[]): string =>
  `${who} must not include "${names.join('", "')}" in securityContext.capabilities.add`;
check(
  "default capabilities",
  { spec: containers({ capabilities: { add: defaults, drop: ["ALL"] } }) },
  { restricted: { "v1.0..v1.21": "", "v1.22..latest": `unrestricted capabilities (${notToInclude(one, remaining)})` } },
);
const odd = ["ALL", "CAP_CHOWN", "NET_RAW", "chown", "\u{ff01}", "\u{1f600}"];
check(
  "other capabilities, in the order of code points",
  {
    spec: containers(
      { capabilities: { add: odd.toReversed() } },
      { capabilities: { add: ["NET_RAW", "KILL"], drop: ["all"] } },
    ),
  },
  {
    baseline: `non-default capabilities (${notToInclude('containers "a", "b"', odd)})`,
    restricted: {
      "v1.0..v1.21": `non-default capabilities (${notToInclude('containers "a", "b"', odd)})`,
      "v1.22..latest":
        'unrestricted capabilities (containers "a", "b" must set securityContext.capabilities.drop=["ALL"]; ' +
        `${notToInclude('containers "a", "b"', [...odd.slice(0, 2), "KILL", ...odd.slice(2)])})`,
    },
  },
);

for (const [name, spec, detail] of [
  ["of the pod suffices", { securityContext: { runAsNonRoot: true }, ...containers({ runAsNonRoot: undefined }) }, ""],
  [
    "false of the pod",
    { securityContext: { runAsNonRoot: false } },
    "pod must not set securityContext.runAsNonRoot=false",
  ],
  [
    "false of pod and container",
    { securityContext: { runAsNonRoot: false }, ...containers({ runAsNonRoot: false }) },
    'pod and container "a" must not set securityContext.runAsNonRoot=false',
  ],
  [
    "false of a container, and none",
    containers({ runAsNonRoot: undefined }, { runAsNonRoot: false }),
    'container "b" must not set securityContext.runAsNonRoot=false',
  ],
  [
    "none of one container",
    containers({ runAsNonRoot: undefined }, {}),
    'pod or container "a" must set securityContext.runAsNonRoot=true',
  ],
] as const) {
  check(`runAsNonRoot: ${name}`, { spec }, detail === "" ? {} : { restricted: `runAsNonRoot != true (${detail})` });
}

for (const [spec, who] of [
  [{ securityContext: { runAsUser: 0 } }, "pod"],
  [{ securityContext: { runAsUser: 1 }, ...containers({ runAsUser: 0 }, { runAsUser: 0 }) }, 'containers "a", "b"'],
  [{ securityContext: { runAsUser: 0 }, ...containers({ runAsUser: 0 }, { runAsUser: 1 }) }, 'pod and container "a"'],
] as const) {
  check(
    `user 0 of ${who}`,
    { spec },
    { restricted: { "v1.0..v1.22": "", "v1.23..latest": `runAsUser=0 (${who} must not set runAsUser=0)` } },
  );
}

const root = {
  securityContext: { runAsUser: 0, runAsNonRoot: false },
  ...containers({ procMount: "Unmasked", runAsNonRoot: undefined }, { procMount: "Default" }),
};
const unmasked = 'procMount (container "a" must not set securityContext.procMount to "Unmasked")';
const asRoot = "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false)";
const strict = {
  baseline: unmasked,
  restricted: {
    "v1.0..v1.22": `${unmasked}, ${asRoot}`,
    "v1.23..latest": `${unmasked}, ${asRoot}, runAsUser=0 (pod must not set runAsUser=0)`,
  },
};
check("root, and all of /proc", { spec: { ...root, hostUsers: false } }, strict);
check("root of the node, where other users are free", { spec: { ...root, hostUsers: true }, relaxed: true }, strict);
check("root of a user namespace, where it is free", { spec: { ...root, hostUsers: false }, relaxed: true }, {});

check(
  "allowed types of SELinux",
  { spec: containers({ seLinuxOptions: { type: "container_kvm_t", level: "s0" } }) },
  {},
);
const forbiddenSeLinux = (text: string): string =>
  `seLinuxOptions (${text.replace("set", "set forbidden securityContext.seLinuxOptions:")})`;
check(
  "a type of SELinux that came later",
  { spec: containers({ seLinuxOptions: { type: "container_engine_t" } }) },
  both({ "v1.0..v1.30": forbiddenSeLinux('container "a" set type "container_engine_t"'), "v1.31..latest": "" }),
);
check(
  "types, users and roles of SELinux",
  {
    spec: {
      securityContext: { seLinuxOptions: { type: "z", user: "u" } },
      ...containers(
        { seLinuxOptions: { type: "y" } },
        { seLinuxOptions: { role: "r" } },
        { seLinuxOptions: { user: "" } },
      ),
    },
  },
  both(forbiddenSeLinux('pod and containers "a", "b" set types "y", "z"; user may not be set; role may not be set')),
);

const unconfined = { seccompProfile: { type: "Unconfined" } };
const notUnconfined = (who: string): string =>
  `seccompProfile (${who} must not set securityContext.seccompProfile.type to "Unconfined")`;
check(
  "seccomp is unconfined",
  { spec: { securityContext: unconfined, ...containers({}, unconfined, { seccompProfile: undefined }) } },
  both({ "v1.0..v1.18": "", "v1.19..latest": notUnconfined('pod and container "b"') }),
);
check(
  "seccomp of the pod suffices",
  {
    spec: {
      securityContext: { seccompProfile: { type: "Localhost", localhostProfile: "p" } },
      ...containers({ seccompProfile: undefined }),
    },
  },
  {},
);
check(
  "seccomp of one container is missing",
  { spec: containers({ seccompProfile: undefined }, {}) },
  { restricted: { "v1.0..v1.18": "", "v1.19..latest": seccomp(one) } },
);

const seccompOf = "container.seccomp.security.alpha.kubernetes.io/";
const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
check(
  "annotations of seccomp, before there were fields",
  {
    annotations: {
      [`${seccompOf}a`]: "unconfined",
      [`${seccompOf}other`]: "unconfined",
      [seccompPod]: "unconfined",
    },
  },
  both({
    "v1.0..v1.18": `seccompProfile (forbidden annotations ${seccompOf}a="unconfined", ${seccompPod}="unconfined")`,
    "v1.19..latest": "",
  }),
);
for (const profile of ["runtime/default", "docker/default", "localhost/p"]) {
  check(`the annotation of seccomp ${profile}`, { annotations: { [seccompPod]: profile } }, {});
}

const appArmorOf = "container.apparmor.security.beta.kubernetes.io/";
check(
  "AppArmor is unconfined",
  { spec: containers({ appArmorProfile: { type: "Unconfined" } }, { appArmorProfile: { type: "RuntimeDefault" } }) },
  both('forbidden AppArmor profile (container "a" must not set AppArmor profile type to "Unconfined")'),
);
check(
  "AppArmor is unconfined in pod, containers and annotations",
  {
    spec: {
      securityContext: { appArmorProfile: { type: "Unconfined" } },
      ...containers({ appArmorProfile: { type: "Unconfined" } }, { appArmorProfile: { type: "Unconfined" } }),
    },
    annotations: { [`${appArmorOf}b`]: "unconfined", [`${appArmorOf}a`]: "unconfined" },
  },
  both(
    'forbidden AppArmor profiles (pod and containers "a", "b" and annotations must not set AppArmor profile type to ' +
      `"Unconfined", "${appArmorOf}a="unconfined"", "${appArmorOf}b="unconfined"")`,
  ),
);
check(
  "an annotation of AppArmor",
  { annotations: { [`${appArmorOf}a`]: "unconfined", [`${appArmorOf}b`]: "localhost/p", [`${appArmorOf}c`]: "" } },
  both(`forbidden AppArmor profile (annotation must not set AppArmor profile type to "${appArmorOf}a="unconfined"")`),
);

test("annotations have the names of the domain", () => {
  const domain = apiDomain("platform.io");
  const annotations = {
    "container.apparmor.security.beta.platform.io/a": "unconfined",
    "seccomp.security.alpha.platform.io/pod": "unconfined",
    [seccompPod]: "unconfined",
  };
  const pod = toCheckedPod({ annotations }, { containers: [{ name: "a" }] } as unknown as PodSpec, false); // as decoded
  const standard = { level: "baseline", version: "v1.0", minor: 0 } as const;
  assert.deepEqual(runToEnd(new Standards(domain).evaluate(standard, pod)).map(findingText), [
    'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.platform.io/a="unconfined"")',
    'seccompProfile (forbidden annotation seccomp.security.alpha.platform.io/pod="unconfined")',
  ]);
});

for (const [names, from] of [
  ["kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range", 0],
  ["net.ipv4.ip_unprivileged_port_start", 0],
  ["net.ipv4.ip_local_reserved_ports", 27],
  [
    "net.ipv4.tcp_keepalive_time net.ipv4.tcp_fin_timeout net.ipv4.tcp_keepalive_intvl net.ipv4.tcp_keepalive_probes",
    29,
  ],
  ["net.ipv4.tcp_rmem net.ipv4.tcp_wmem", 32],
] as const) {
  for (const name of names.split(" ")) {
    check(
      `the sysctl ${name} since v1.${from}`,
      { spec: { securityContext: { sysctls: [{ name, value: "1" }] } } },
      from === 0 ? {} : both({ [`v1.0..v1.${from - 1}`]: `forbidden sysctls (${name})`, [`v1.${from}..latest`]: "" }),
    );
  }
}
check(
  "other sysctls, in their own order",
  {
    spec: {
      securityContext: { sysctls: [{ name: "kernel.msgmax" }, { name: "a" }, { name: "net/ipv4/tcp_syncookies" }] },
    },
  },
  both("forbidden sysctls (kernel.msgmax, a, net/ipv4/tcp_syncookies)"),
);

check("a sysctl without a name", { spec: { securityContext: { sysctls: [{ name: "" }] } } }, both("forbidden sysctls"));

for (const type of "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret".split(" ")) {
  check(`a volume of ${type}`, { spec: { volumes: [{ name: "v", [type]: {} }] } }, {});
}
const otherTypes =
  "awsElasticBlockStore azureDisk azureFile cephfs cinder fc flexVolume flocker gcePersistentDisk gitRepo glusterfs " +
  "iscsi nfs photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume";
const uses = (type: string): string => `restricted volume types (volume "v" uses restricted volume type "${type}")`;
for (const type of otherTypes.split(" ")) {
  check(`a volume of ${type}`, { spec: { volumes: [{ name: "v", [type]: {} }] } }, { restricted: uses(type) });
}
check("a volume of an image", { spec: { volumes: [{ name: "v", image: {} }] } }, { restricted: uses("unknown") });
check(
  "volumes of the host and others",
  {
    spec: {
      volumes: [
        { name: "x", nfs: {} },
        { name: "y", hostPath: {} },
        { name: "z", hostPath: {} },
      ],
    },
  },
  {
    baseline: 'hostPath volumes (volumes "y", "z")',
    restricted: 'restricted volume types (volumes "x", "y", "z" use restricted volume types "hostPath", "nfs")',
  },
);

test("findings have one order", () => {
  const spec = {
    hostPID: true,
    volumes: [{ name: "v", hostPath: {} }],
    securityContext: { runAsUser: 0, seLinuxOptions: { type: "x" }, sysctls: [{ name: "a" }], ...unconfined },
    containers: [
      {
        name: "a",
        ports: [{ hostPort: 1 }],
        securityContext: {
          privileged: true,
          procMount: "Unmasked",
          capabilities: { add: ["X"] },
          windowsOptions: { hostProcess: true },
          appArmorProfile: { type: "Unconfined" },
        },
      },
    ],
  };
  const reasons = (level: SecurityLevel): readonly string[] =>
    runToEnd(
      standards.evaluate(
        { level, version: "latest", minor: Number.POSITIVE_INFINITY },
        toCheckedPod({}, spec as unknown as PodSpec, false), // as decoded
      ),
    ).map(({ reason }) => reason);
  const inBoth = ["hostPort", "privileged", "procMount", "seLinuxOptions"];
  assert.deepEqual(reasons("baseline"), [
    "forbidden AppArmor profile",
    "non-default capabilities",
    "host namespaces",
    "hostPath volumes",
    ...inBoth,
    "seccompProfile",
    "forbidden sysctls",
    "hostProcess",
  ]);
  assert.deepEqual(reasons("restricted"), [
    "forbidden AppArmor profile",
    "host namespaces",
    ...inBoth,
    "forbidden sysctls",
    "hostProcess",
    "allowPrivilegeEscalation != false",
    "unrestricted capabilities",
    "restricted volume types",
    "runAsNonRoot != true",
    "runAsUser=0",
    "seccompProfile",
  ]);
});
