/** Validates containers, init containers and ephemeral containers. */
import { initialContainers } from "#api/core/containers.ts";
import type { Container, ContainerPort, EphemeralContainer, PodSpec } from "#api/core/v1.ts";
import { duplicate, forbidden, invalid, notFound, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, environmentName, portName, printableName } from "#meta/names.ts";
import type { OwnPrefix } from "../resource-names.ts";
import {
  checkRange,
  checkRequired,
  checkRequiredName,
  checkRequiredOneOf,
  checkUnique,
  type Errors,
} from "../../checks.ts";
import { checkEnv, checkEnvFrom } from "./environment.ts";
import { checkDevices, checkMounts, type Volumes } from "./mounts.ts";
import { checkNoResizePolicies, checkResizePolicies } from "./resize-policies.ts";
import { type ClaimNames, checkTakenClaims } from "./resource-claims.ts";
import { checkLifecycle, checkLiveness, checkReadiness } from "./probes.ts";
import { checkResources } from "./resources.ts";
import type { PodRules } from "./rules.ts";
import { checkContainerSecurity } from "./security.ts";

const messagePolicies = ["File", "FallbackToLogsOnError"];
const pullPolicies = ["Always", "IfNotPresent", "Never"];
const protocols = ["SCTP", "TCP", "UDP"];

/** The parts of a pod that the checks of its containers need, with the list of findings. */
interface PodParts {
  readonly spec: PodSpec;
  readonly volumes: Volumes;
  readonly claims: ClaimNames;
  readonly own: OwnPrefix;
  readonly rules: PodRules;
  readonly errors: Errors;
}

/** Checks all containers of a pod; `path` is the path of the spec. */
export function checkContainers(pod: PodParts, path: FieldPath): void {
  const { spec, errors } = pod;
  const names = new Set<string>();
  checkMain(pod, names, path.child("containers"));
  checkInit(pod, names, path.child("initContainers"));
  checkEphemeral(pod, names, path.child("ephemeralContainers"));
  if (spec.hostNetwork === true) checkHostNetwork(spec.containers ?? [], path.child("containers"), errors);
}

function checkMain(pod: PodParts, names: Set<string>, path: FieldPath): void {
  const { spec, errors } = pod;
  const containers = spec.containers ?? [];
  if (containers.length === 0) errors.push(required(path));
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    checkContainer(container, pod, at);
    checkUnique(container.name, names, at.child("name"), errors);
    checkHooks(container, pod, at);
    if (container.restartPolicy !== undefined) {
      errors.push(forbidden(at.child("restartPolicy"), "may not be set for non-init containers"));
    }
  }
  checkHostPorts(containers, path, errors);
}

function checkInit(pod: PodParts, names: Set<string>, path: FieldPath): void {
  const { spec, errors } = pod;
  for (const [i, container] of (spec.initContainers ?? []).entries()) {
    const at = path.index(i);
    const { restartPolicy, lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
    checkContainer(container, pod, at);
    if (restartPolicy !== undefined && restartPolicy !== "Always") {
      errors.push(notSupported(at.child("restartPolicy"), restartPolicy, ["Always"]));
    }
    // Upstream: an empty name of an init container is compared with the names of regular containers only.
    if (container.name !== "" || names.has("")) checkUnique(container.name, names, at.child("name"), errors);
    checkHostPorts([container], path, errors);
    checkNoResizePolicies(container.resizePolicy, at.child("resizePolicy"), errors);
    if (restartPolicy === "Always") {
      checkHooks(container, pod, at);
      continue;
    }
    for (const [name, value] of Object.entries({ lifecycle, livenessProbe, readinessProbe, startupProbe })) {
      if (value === undefined) continue;
      const detail = "may not be set for init containers without restartPolicy=Always";
      errors.push(forbidden(at.child(name), detail));
    }
  }
}

/** The fields that ephemeral containers must not have, in upstream's order. */
const notInEphemeral = [
  "ports",
  "resources",
  "restartPolicy",
  "resizePolicy",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "lifecycle",
] as const;

function checkEphemeral(pod: PodParts, names: Set<string>, path: FieldPath): void {
  const { spec, errors } = pod;
  const containers = spec.ephemeralContainers ?? [];
  if (containers.length === 0) return;
  for (const { name } of spec.initContainers ?? []) names.add(name);
  const targets = new Set(initialContainers(spec).map(({ name }) => name));
  for (const [i, container] of containers.entries()) {
    const at = path.index(i);
    checkContainer(container, pod, at);
    checkUnique(container.name, names, at.child("name"), errors);
    const { targetContainerName: target = "" } = container;
    if (target !== "" && !targets.has(target)) errors.push(notFound(at.child("targetContainerName"), target));
    checkOnlyEphemeral(container, at, errors);
  }
}

function checkOnlyEphemeral(container: EphemeralContainer, path: FieldPath, errors: Errors): void {
  const refuse = (at: FieldPath): void => {
    errors.push(forbidden(at, "cannot be set for an Ephemeral Container"));
  };
  const { limits, requests } = container.resources;
  for (const name of notInEphemeral) {
    const isSet = name === "resources" ? (limits ?? requests) !== undefined : container[name] !== undefined;
    if (isSet) refuse(path.child(name));
  }
  for (const [i, { subPath, subPathExpr }] of (container.volumeMounts ?? []).entries()) {
    const at = path.child("volumeMounts").index(i);
    if (subPath) refuse(at.child("subPath"));
    if (subPathExpr) refuse(at.child("subPathExpr"));
  }
}

function checkHooks(container: Container, { spec, rules, errors }: PodParts, path: FieldPath): void {
  const { lifecycle, livenessProbe, readinessProbe, startupProbe } = container;
  const sleep = { graceSeconds: spec.terminationGracePeriodSeconds, allowsZero: rules.allowsZeroSleep };
  checkLifecycle(lifecycle, sleep, path.child("lifecycle"), errors);
  checkLiveness(livenessProbe, path.child("livenessProbe"), errors);
  checkReadiness(readinessProbe, path.child("readinessProbe"), errors);
  checkLiveness(startupProbe, path.child("startupProbe"), errors);
}

/** Checks the fields that containers of all kinds share. */
function checkContainer(container: Container | EphemeralContainer, pod: PodParts, path: FieldPath): void {
  const { errors, spec, volumes } = pod;
  const { terminationMessagePolicy, imagePullPolicy } = container;
  checkRequiredName(container.name, dns1123Label, path.child("name"), errors);
  checkRequired(container.image, path.child("image"), errors);
  checkRequiredOneOf(terminationMessagePolicy, messagePolicies, path.child("terminationMessagePolicy"), errors);
  checkPorts(container.ports, path.child("ports"), errors);
  const variableName = pod.rules.allowsAnyVariable ? printableName : environmentName;
  checkEnv(container.env, variableName, path.child("env"), errors);
  checkEnvFrom(container.envFrom, variableName, path.child("envFrom"), errors);
  checkMounts(container, volumes, path.child("volumeMounts"), errors);
  checkDevices(container, volumes, path.child("volumeDevices"), errors);
  checkRequiredOneOf(imagePullPolicy, pullPolicies, path.child("imagePullPolicy"), errors);
  checkResources(container.resources, path.child("resources"), pod.own, errors);
  checkTakenClaims(container.resources.claims, pod.claims, path.child("resources", "claims"), errors);
  checkResizePolicies(container.resizePolicy, spec.restartPolicy, path.child("resizePolicy"), errors);
  const securityPath = path.child("securityContext");
  if (container.securityContext?.privileged === true && !pod.rules.allowsPrivileged) {
    errors.push(forbidden(securityPath.child("privileged"), "disallowed by cluster policy"));
  }
  checkContainerSecurity(container.securityContext, spec.hostUsers, securityPath, errors);
}

function checkPorts(ports: readonly ContainerPort[] = [], path: FieldPath, errors: Errors): void {
  const names = new Set<string>();
  for (const [i, { name = "", containerPort, hostPort = 0, protocol = "" }] of ports.entries()) {
    const at = path.index(i);
    if (name !== "") {
      const messages = portName(name);
      for (const message of messages) errors.push(invalid(at.child("name"), name, message));
      if (messages.length === 0 && names.has(name)) errors.push(duplicate(at.child("name"), name));
      names.add(name);
    }
    if (containerPort === 0) errors.push(required(at.child("containerPort")));
    else checkRange(containerPort, 1, 65535, at.child("containerPort"), errors);
    if (hostPort !== 0) checkRange(hostPort, 1, 65535, at.child("hostPort"), errors);
    checkRequiredOneOf(protocol, protocols, at.child("protocol"), errors);
  }
}

/** Checks that no host port is used twice. */
function checkHostPorts(containers: readonly Container[], path: FieldPath, errors: Errors): void {
  const seen = new Set<string>();
  for (const [i, { ports = [] }] of containers.entries()) {
    for (const [j, { hostPort = 0, hostIP = "", protocol = "" }] of ports.entries()) {
      if (hostPort === 0) continue;
      const text = `${protocol}/${hostIP}/${hostPort}`;
      checkUnique(text, seen, path.index(i).child("ports").index(j).child("hostPort"), errors);
    }
  }
}

function checkHostNetwork(containers: readonly Container[], path: FieldPath, errors: Errors): void {
  for (const [i, { ports = [] }] of containers.entries()) {
    for (const [j, { hostPort = 0, containerPort }] of ports.entries()) {
      if (hostPort === 0 || hostPort === containerPort) continue;
      const at = path.index(i).child("ports").index(j).child("hostPort");
      errors.push(invalid(at, hostPort, "must match `containerPort` when `hostNetwork` is true"));
    }
  }
}

const sorts = ["containers", "initContainers", "ephemeralContainers"] as const;

/**
 * Checks rules that pods must obey and templates need not, so that old templates stay valid. `path` is the path of the
 * spec.
 */
export function checkImages(spec: PodSpec, path: FieldPath, errors: Errors): void {
  for (const sort of sorts) {
    for (const [i, { image = "" }] of (spec[sort] ?? []).entries()) {
      if (image.trim() === image) continue;
      const at = path.child(sort).index(i).child("image");
      errors.push(invalid(at, image, "must not have leading or trailing whitespace"));
    }
  }
}
