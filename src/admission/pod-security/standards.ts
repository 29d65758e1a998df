/**
 * The Pod Security Standards: the checks of each level in each version. A check that changed has one entry for each of
 * its forms. Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/ and the answers of
 * kube-apiserver.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { type PodAnnotations, podAnnotations } from "#meta/pod-annotations.ts";
import type { Steps } from "#std/cooperative.ts";
import { type StandardCheck, type CheckedPod, exceptWindows, type Finding } from "./check.ts";
import { hostNamespaces, hostPorts, hostProcess } from "./host-checks.ts";
import { procMount, safeSysctls, sysctls } from "./kernel-checks.ts";
import type { Standard } from "./policy.ts";
import { addedCapabilities, restrictedCapabilities, privileged, privilegeEscalation } from "./privilege-checks.ts";
import { appArmor, seccompAnnotations, seccompRequired, seccompUnconfined, seLinux } from "./profile-checks.ts";
import { runAsNonRoot, runAsUser } from "./user-checks.ts";
import { hostPathVolumes, restrictedVolumes } from "./volume-checks.ts";

/** A range of minor versions; the second one is excluded. */
type Versions = readonly [from: number, before: number];

interface Entry {
  readonly check: StandardCheck;
  /** The versions of the level with this check; absent when no version has it. */
  readonly baseline?: Versions;
  readonly restricted?: Versions;
}

/** The last version that is known; later versions have the same checks. */
export const newestMinor = 32;

const always: Versions = [0, Number.POSITIVE_INFINITY];
const since = (minor: number): Versions => [minor, Number.POSITIVE_INFINITY];
const before = (minor: number): Versions => [0, minor];
const inBoth = (check: StandardCheck, versions: Versions): Entry => ({
  check,
  baseline: versions,
  restricted: versions,
});

const reservedPorts = "net.ipv4.ip_local_reserved_ports";
const tcpTimes = ["keepalive_time", "fin_timeout", "keepalive_intvl", "keepalive_probes"].map(
  (name) => `net.ipv4.tcp_${name}`,
);
const tcpMemory = ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];
const containerTypes = ["container_t", "container_init_t", "container_kvm_t"];

/** All checks, in the order of their findings. */
const entries = (annotations: PodAnnotations): readonly Entry[] => [
  inBoth(appArmor(annotations), always),
  { check: addedCapabilities, baseline: always, restricted: before(22) },
  inBoth(hostNamespaces, always),
  { check: hostPathVolumes, baseline: always },
  inBoth(hostPorts, always),
  inBoth(privileged, always),
  inBoth(procMount, always),
  inBoth(seLinux(...containerTypes), before(31)),
  inBoth(seLinux(...containerTypes, "container_engine_t"), since(31)),
  inBoth(seccompAnnotations(annotations), before(19)),
  { check: seccompUnconfined, baseline: since(19) },
  inBoth(sysctls(...safeSysctls), before(27)),
  inBoth(sysctls(...safeSysctls, reservedPorts), [27, 29]),
  inBoth(sysctls(...safeSysctls, reservedPorts, ...tcpTimes), [29, 32]),
  inBoth(sysctls(...safeSysctls, reservedPorts, ...tcpTimes, ...tcpMemory), since(32)),
  inBoth(hostProcess, always),
  { check: privilegeEscalation, restricted: [8, 25] },
  { check: exceptWindows(privilegeEscalation), restricted: since(25) },
  { check: restrictedCapabilities, restricted: [22, 25] },
  { check: exceptWindows(restrictedCapabilities), restricted: since(25) },
  { check: restrictedVolumes, restricted: always },
  { check: runAsNonRoot, restricted: always },
  { check: runAsUser, restricted: since(23) },
  { check: seccompRequired, restricted: [19, 25] },
  { check: exceptWindows(seccompRequired), restricted: since(25) },
];

/** The number of containers of a pod above which other requests have a turn after each check. */
const containersAtOnce = 500;

export class Standards {
  readonly #entries: readonly Entry[];
  /** The checks of a level and version, made when they are first needed. */
  readonly #checks = new Map<string, readonly StandardCheck[]>();

  constructor(domain: ApiDomain) {
    this.#entries = entries(podAnnotations(domain));
  }

  /** Returns the violations of the standard in the pod. */
  *evaluate(standard: Standard, pod: CheckedPod): Steps<readonly Finding[]> {
    const findings: Finding[] = [];
    for (const check of this.#checksOf(standard)) {
      const finding = check(pod);
      if (finding !== undefined) findings.push(finding);
      if (pod.containers.length > containersAtOnce) yield undefined;
    }
    return findings;
  }

  #checksOf({ level, minor }: Standard): readonly StandardCheck[] {
    if (level === "privileged") return [];
    const version = Math.min(minor, newestMinor);
    const key = `${level} ${version}`;
    let checks = this.#checks.get(key);
    if (checks === undefined) {
      const isIn = (versions: Versions | undefined): boolean =>
        versions !== undefined && versions[0] <= version && version < versions[1];
      checks = this.#entries.filter((entry) => isIn(entry[level])).map(({ check }) => check);
      this.#checks.set(key, checks);
    }
    return checks;
  }
}
