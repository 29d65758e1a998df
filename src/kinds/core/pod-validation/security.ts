/** Validates security contexts of pods and containers, and fields that an operating system does not allow. */
import type {
  AppArmorProfile,
  Container,
  PodSecurityContext,
  PodSpec,
  SeccompProfile,
  SecurityContext,
  Sysctl,
  WindowsSecurityContextOptions,
} from "#api/core/v1.ts";
import { duplicate, forbidden, invalid, required, tooLong } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import {
  checkDescending,
  checkEach,
  checkId,
  checkName,
  checkOneOf,
  checkOptionalOneOf,
  type Errors,
} from "../../checks.ts";
import { checkWindowsUser } from "./windows-user.ts";
import type { PodRules } from "./rules.ts";

const profileTypes = ["Localhost", "RuntimeDefault", "Unconfined"];
const changePolicies = ["Always", "OnRootMismatch"];
const groupPolicies = ["Merge", "Strict"];
const selinuxPolicies = ["MountOption", "Recursive"];
const procMounts = ["Default", "Unmasked"];
const systems = ["linux", "windows"];
const profileBytesMax = 4095;
const credentialBytesMax = 64 * 1024;

/** Checks the security context of a pod; `path` is the path of the spec. */
export function checkPodSecurity(
  spec: PodSpec,
  path: FieldPath,
  { allowsSELinuxMount }: Pick<PodRules, "allowsSELinuxMount">,
  errors: Errors,
): void {
  checkHostUsers(spec, path, errors);
  const { securityContext: context } = spec;
  if (context === undefined) return;
  const at = path.child("securityContext");
  checkId(context.fsGroup, at.child("fsGroup"), errors);
  checkId(context.runAsUser, at.child("runAsUser"), errors);
  checkId(context.runAsGroup, at.child("runAsGroup"), errors);
  checkEach(context.supplementalGroups, checkId, at.child("supplementalGroups"), errors);
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    const detail = "ShareProcessNamespace and HostPID cannot both be enabled";
    errors.push(invalid(at.child("shareProcessNamespace"), true, detail));
  }
  if (context.sysctls !== undefined) checkSysctls(context.sysctls, spec, at.child("sysctls"), errors);
  checkOptionalOneOf(context.fsGroupChangePolicy, changePolicies, at.child("fsGroupChangePolicy"), errors);
  checkSeccomp(context.seccompProfile, at.child("seccompProfile"), errors);
  checkWindowsOptions(context.windowsOptions, at.child("windowsOptions"), errors);
  checkAppArmor(context.appArmorProfile, at.child("appArmorProfile"), errors);
  checkOptionalOneOf(context.supplementalGroupsPolicy, groupPolicies, at.child("supplementalGroupsPolicy"), errors);
  const policies = allowsSELinuxMount ? selinuxPolicies : ["Recursive"];
  checkOptionalOneOf(context.seLinuxChangePolicy, policies, at.child("seLinuxChangePolicy"), errors);
}

function checkSysctls(sysctls: readonly Sysctl[], spec: PodSpec, path: FieldPath, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, sysctl] of sysctls.entries()) {
    const nameAt = path.index(i).child("name");
    if (checkSysctlName(sysctl.name, nameAt, errors) && names.has(sysctl.name)) {
      errors.push(duplicate(nameAt, sysctl.name));
    }
    names.add(sysctl.name);
    checkSysctlScope(sysctl, spec, nameAt, errors);
  }
}

/**
 * Checks that a pod with its own user namespace shares no other namespace of its node. Upstream: messages have other
 * names for two of the fields.
 */
function checkHostUsers({ hostUsers, hostNetwork, hostPID, hostIPC }: PodSpec, path: FieldPath, errors: Errors): void {
  if (hostUsers !== false) return;
  for (const [name, isShared] of Object.entries({ hostNetwork, HostPID: hostPID, HostIPC: hostIPC })) {
    if (isShared === true) errors.push(forbidden(path.child(name), "when `pod.Spec.HostUsers` is false"));
  }
}

const sysctlForm = String.raw`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`;
const sysctlPart = /^[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?$/;
const sharedByIpc = ["kernel.shm", "kernel.msg", "fs.mqueue."];

/** Checks the name of a sysctl. Returns whether the name is valid. */
function checkSysctlName(name: string, path: FieldPath, errors: Errors): boolean {
  if (name === "") errors.push(required(path));
  else if (name.length > 253 || !name.split(/[./]/).every((part) => sysctlPart.test(part))) {
    errors.push(invalid(path, name, `must have at most 253 characters and match regex ${sysctlForm}`));
  } else return true;
  return false;
}

function checkSysctlScope({ name }: Sysctl, { hostNetwork, hostIPC }: PodSpec, path: FieldPath, errors: Errors): void {
  // The parts of a name are separated by dots or slashes; the first separator decides.
  const plain = /^[^./]*\//.test(name) ? name.replaceAll("/", ".") : name;
  if (hostNetwork === true && plain.startsWith("net.")) {
    errors.push(invalid(path, name, "may not be specified when 'hostNetwork' is true"));
  }
  if (hostIPC === true && (plain === "kernel.sem" || sharedByIpc.some((prefix) => plain.startsWith(prefix)))) {
    errors.push(invalid(path, name, "may not be specified when 'hostIPC' is true"));
  }
}

function checkSeccomp(profile: SeccompProfile | undefined, path: FieldPath, errors: Errors): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const at = path.child("localhostProfile");
  if (type === "") errors.push(required(path.child("type"), "type is required when seccompProfile is set"));
  else checkOneOf(type, profileTypes, path.child("type"), errors);
  if (type === "Localhost") {
    if (localhostProfile === undefined) {
      errors.push(required(at, "must be set when seccomp type is Localhost"));
    } else checkDescending(localhostProfile, at, errors);
  } else if (localhostProfile !== undefined) {
    errors.push(invalid(at, profile, "can only be set when seccomp type is Localhost"));
  }
}

function checkAppArmor(profile: AppArmorProfile | undefined, path: FieldPath, errors: Errors): void {
  if (profile === undefined) return;
  const { type, localhostProfile } = profile;
  const at = path.child("localhostProfile");
  if (type === "Localhost") {
    if (!localhostProfile) errors.push(required(at, "must be set when AppArmor type is Localhost"));
    else {
      if (localhostProfile.trim() !== localhostProfile) {
        errors.push(invalid(at, localhostProfile, "must not be padded with whitespace"));
      }
      if (Buffer.byteLength(localhostProfile) > profileBytesMax) errors.push(tooLong(at, profileBytesMax));
    }
  } else if (type === "RuntimeDefault" || type === "Unconfined") {
    if (localhostProfile !== undefined) {
      errors.push(invalid(at, localhostProfile, "can only be set when AppArmor type is Localhost"));
    }
  } else if (type === "") {
    errors.push(required(path.child("type"), "type is required when appArmorProfile is set"));
  } else checkOneOf(type, profileTypes, path.child("type"), errors);
}

function checkWindowsOptions(
  options: WindowsSecurityContextOptions | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  if (options === undefined) return;
  const { gmsaCredentialSpecName: name, gmsaCredentialSpec: credential, runAsUserName: user } = options;
  if (name !== undefined) checkName(name, dns1123Subdomain, path.child("gmsaCredentialSpecName"), errors);
  if (credential !== undefined) {
    const at = path.child("gmsaCredentialSpec");
    if (credential === "") errors.push(invalid(at, credential, "gmsaCredentialSpec cannot be an empty string"));
    else if (Buffer.byteLength(credential) > credentialBytesMax) {
      const detail = `gmsaCredentialSpec size must be under ${credentialBytesMax / 1024} KiB`;
      errors.push(invalid(at, credential, detail));
    }
  }
  if (user !== undefined) checkWindowsUser(user, path.child("runAsUserName"), errors);
}

export function checkContainerSecurity(
  context: SecurityContext | undefined,
  hostUsers: boolean | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  if (context === undefined) return;
  checkId(context.runAsUser, path.child("runAsUser"), errors);
  checkId(context.runAsGroup, path.child("runAsGroup"), errors);
  checkProcMount(context.procMount, hostUsers, path.child("procMount"), errors);
  checkSeccomp(context.seccompProfile, path.child("seccompProfile"), errors);
  if (context.allowPrivilegeEscalation === false) {
    if (context.privileged === true) {
      const detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
      errors.push(invalid(path, context, detail));
    }
    for (const capability of context.capabilities?.add ?? []) {
      if (capability !== "CAP_SYS_ADMIN") continue;
      const detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
      errors.push(invalid(path, context, detail));
    }
  }
  checkWindowsOptions(context.windowsOptions, path.child("windowsOptions"), errors);
  checkAppArmor(context.appArmorProfile, path.child("appArmorProfile"), errors);
}

function checkProcMount(
  type: string | undefined,
  hostUsers: boolean | undefined,
  path: FieldPath,
  errors: Errors,
): void {
  checkOptionalOneOf(type, procMounts, path, errors);
  if (type === "Unmasked" && hostUsers !== false) {
    errors.push(invalid(path, type, "`hostUsers` must be false to use `Unmasked`"));
  }
}

const kindsOfContainers = ["initContainers", "containers", "ephemeralContainers"] as const;

/** Calls `visit` with the security context of every container and its path. */
function eachContext(
  spec: PodSpec,
  path: FieldPath,
  visit: (context: Container["securityContext"], path: () => FieldPath) => void,
): void {
  for (const kind of kindsOfContainers) {
    for (const [i, { securityContext }] of (spec[kind] ?? []).entries()) {
      visit(securityContext, () => path.child(kind).index(i).child("securityContext"));
    }
  }
}

/** Checks Windows host processes: all containers of a pod are host processes, or none. */
export function checkHostProcess(spec: PodSpec, path: FieldPath, errors: Errors): void {
  const ofPod = spec.securityContext?.windowsOptions?.hostProcess;
  let count = 0;
  let ofHost = 0;
  eachContext(spec, path, (context, at) => {
    count++;
    const own = context?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && ofPod !== own) {
      const detail = `pod hostProcess value must be identical if both are specified, was ${ofPod}`;
      errors.push(invalid(at().child("windowsOptions", "hostProcess"), own, detail));
    }
    if (own ?? ofPod ?? false) ofHost++;
  });
  if (ofHost === 0) return;
  if (ofHost !== count) {
    const detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
    errors.push(invalid(path, "", detail));
  }
  if (spec.hostNetwork !== true) {
    const detail = "hostNetwork must be true if pod contains any hostProcess containers";
    errors.push(invalid(path.child("hostNetwork"), false, detail));
  }
}

const notInWindows = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

export function checkSystem(spec: PodSpec, path: FieldPath, errors: Errors): void {
  const { os } = spec;
  if (os === undefined) return;
  if (os.name === "") errors.push(required(path.child("os", "name"), "cannot be empty"));
  else checkOneOf(os.name, systems, path.child("os"), errors);
  if (os.name === "linux") {
    const refuse = (at: FieldPath): void => {
      errors.push(forbidden(at.child("windowsOptions"), "windows options cannot be set for a linux pod"));
    };
    if (spec.securityContext?.windowsOptions !== undefined) refuse(path.child("securityContext"));
    eachContext(spec, path, (context, at) => {
      if (context?.windowsOptions !== undefined) refuse(at());
    });
  }
  if (os.name === "windows") checkWindowsPod(spec, path, errors);
}

function checkWindowsPod(spec: PodSpec, path: FieldPath, errors: Errors): void {
  const { securityContext: context = {} } = spec;
  const refuse = (at: FieldPath): void => {
    errors.push(forbidden(at, "cannot be set for a windows pod"));
  };
  const refuseOfPod = (...names: readonly (keyof PodSecurityContext)[]): void => {
    for (const name of names) if (context[name] !== undefined) refuse(path.child("securityContext", name));
  };
  refuseOfPod("appArmorProfile", "seLinuxOptions");
  if (spec.hostUsers !== undefined) refuse(path.child("hostUsers"));
  if (spec.hostPID === true) refuse(path.child("hostPID"));
  if (spec.hostIPC === true) refuse(path.child("hostIPC"));
  refuseOfPod("seccompProfile", "fsGroup", "fsGroupChangePolicy");
  if ((context.sysctls ?? []).length > 0) refuse(path.child("securityContext", "sysctls"));
  if (spec.shareProcessNamespace !== undefined) refuse(path.child("shareProcessNamespace"));
  refuseOfPod("runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy");
  eachContext(spec, path, (own, at) => {
    if (own === undefined) return;
    for (const name of notInWindows) if (own[name] !== undefined) refuse(at().child(name));
  });
}
