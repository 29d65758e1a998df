/** Checks of the profiles that confine processes: AppArmor, seccomp, SELinux. */
import type { SELinuxOptions } from "#api/core/v1.ts";
import type { PodAnnotations } from "#meta/pod-annotations.ts";
import {
  type StandardCheck,
  type CheckedPod,
  type Finding,
  printNames,
  plural,
  podAndContainers,
  quoteTexts,
  sortTexts,
} from "./check.ts";

const confiningTypes: ReadonlySet<string | undefined> = new Set([undefined, "RuntimeDefault", "Localhost"]);

/** Checks the profiles of AppArmor in fields and in annotations. */
export function appArmor({ appArmorPrefix: prefix }: PodAnnotations): StandardCheck {
  const isAllowed = (profile: string): boolean =>
    profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");
  return (pod) => {
    const { isPod, names, values } = settings(pod, "appArmorProfile");
    let annotations = 0;
    for (const key of Object.keys(pod.annotations)) {
      if (!key.startsWith(prefix) || isAllowed(pod.annotations[key]!)) continue;
      annotations++;
      values.add(`${key}="${pod.annotations[key]!}"`);
    }
    const setters = [podAndContainers(isPod, names), annotations === 0 ? "" : plural("annotation", annotations)];
    if (values.size === 0) return undefined;
    const who = setters.filter((text) => text !== "").join(" and ");
    return {
      reason: plural("forbidden AppArmor profile", values.size),
      detail: `${who} must not set AppArmor profile type to ${quoteTexts(sortTexts(values))}`,
    };
  };
}

/** Checks the annotations that came before the fields. Annotations of containers that do not exist do not count. */
export function seccompAnnotations({ seccompOfPod: ofPod, seccompPrefix: prefix }: PodAnnotations): StandardCheck {
  const isAllowed = (profile: string | undefined): boolean =>
    profile === undefined ||
    profile === "runtime/default" ||
    profile === "docker/default" ||
    profile.startsWith("localhost/");
  return ({ annotations, containers }) => {
    const keys = [ofPod, ...containers.map(({ name }) => prefix + name)].filter((key) => !isAllowed(annotations[key]));
    if (keys.length === 0) return undefined;
    const list = sortTexts(new Set(keys.map((key) => `${key}="${annotations[key]!}"`))).join(", ");
    return { reason: "seccompProfile", detail: `${plural("forbidden annotation", keys.length)} ${list}` };
  };
}

export const seccompUnconfined: StandardCheck = (pod) => {
  const { isPod, names, values } = settings(pod, "seccompProfile");
  if (values.size === 0) return undefined;
  const list = quoteTexts(sortTexts(values));
  return {
    reason: "seccompProfile",
    detail: `${podAndContainers(isPod, names)} must not set securityContext.seccompProfile.type to ${list}`,
  };
};

export const seccompRequired: StandardCheck = (pod) => {
  const unconfined = seccompUnconfined(pod);
  if (unconfined !== undefined) return unconfined;
  if (pod.security.seccompProfile !== undefined) return undefined;
  const silent: string[] = [];
  for (const { name, securityContext } of pod.containers) {
    if (securityContext?.seccompProfile === undefined) silent.push(name);
  }
  if (silent.length === 0) return undefined;
  const demand = `must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: "seccompProfile", detail: `pod or ${printNames("container", silent)} ${demand}` };
};

/**
 * Finds the containers with a profile that does not confine, whether the pod itself has one, and the types of these
 * profiles.
 */
function settings(
  { security, containers }: CheckedPod,
  field: "appArmorProfile" | "seccompProfile",
): { readonly isPod: boolean; readonly names: readonly string[]; readonly values: Set<string> } {
  const values = new Set<string>();
  const isUnconfined = (type: string | undefined): boolean => {
    if (confiningTypes.has(type)) return false;
    values.add(type!);
    return true;
  };
  const isPod = isUnconfined(security[field]?.type);
  const names: string[] = [];
  for (const { name, securityContext } of containers) {
    if (isUnconfined(securityContext?.[field]?.type)) names.push(name);
  }
  return { isPod, names, values };
}

/** Checks the options of SELinux. `types` are allowed, and so is none. */
export function seLinux(...types: readonly string[]): StandardCheck {
  const allowed: ReadonlySet<string> = new Set(["", ...types]);
  return (pod) => {
    const forbidden = new Set<string>();
    let hasUser = false;
    let hasRole = false;
    const isForbidden = ({ type = "", user = "", role = "" }: SELinuxOptions): boolean => {
      const isType = !allowed.has(type);
      if (isType) forbidden.add(type);
      hasUser ||= user !== "";
      hasRole ||= role !== "";
      return isType || user !== "" || role !== "";
    };
    const isPod = isForbidden(pod.security.seLinuxOptions ?? {});
    const names: string[] = [];
    for (const { name, securityContext } of pod.containers) {
      if (securityContext?.seLinuxOptions !== undefined && isForbidden(securityContext.seLinuxOptions))
        names.push(name);
    }
    const setters = podAndContainers(isPod, names);
    return setters === "" ? undefined : seLinuxFinding(setters, sortTexts(forbidden), hasUser, hasRole);
  };
}

function seLinuxFinding(setters: string, types: readonly string[], hasUser: boolean, hasRole: boolean): Finding {
  const details = [
    ...(types.length === 0 ? [] : [printNames("type", types)]),
    ...(hasUser ? ["user may not be set"] : []),
    ...(hasRole ? ["role may not be set"] : []),
  ];
  return {
    reason: "seLinuxOptions",
    detail: `${setters} set forbidden securityContext.seLinuxOptions: ${details.join("; ")}`,
  };
}
