/**
 * The rules of pods and templates that feature gates and flags change. A rule of a gate allows what a stored object has
 * already. Source: the answers of kube-apiserver, with the gates on and off.
 */
import type { Container, EphemeralContainer, PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { environmentName, printableName } from "#meta/names.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import type { KindEnvironment } from "../../generic.ts";

export interface PodRules {
  readonly domain: ApiDomain;
  /** Whether a container may sleep for no time. */
  readonly allowsZeroSleep: boolean;
  /** Whether search domains may have underscores, or be a single dot. */
  readonly allowsAnySearch: boolean;
  /** Whether names of variables may have all printable characters. */
  readonly allowsAnyVariable: boolean;
  /** Whether classes of volume attributes are checked. */
  readonly hasAttributesClasses: boolean;
  /** Whether a pod may mount its volumes with its label. */
  readonly allowsSELinuxMount: boolean;
  /** Whether the annotation of the deletion cost may have any value. */
  readonly allowsAnyDeletionCost: boolean;
  /** Whether containers may be privileged. */
  readonly allowsPrivileged: boolean;
}

/** A pod, or the template of one. */
type PodParts = Pick<PodTemplateSpec, "metadata" | "spec">;

type PodEnvironment = Pick<KindEnvironment, "domain" | "gate" | "allowsPrivileged">;

/** Returns the function that returns the rules of a write; `old` is the stored pod of an update. */
export function podRules({
  domain,
  gate,
  allowsPrivileged,
}: PodEnvironment): (pod: PodParts, old?: PodParts) => PodRules {
  const { deletionCost } = podAnnotations(domain);
  const always: PodRules = {
    domain,
    allowsZeroSleep: gate("PodLifecycleSleepActionAllowZero"),
    allowsAnySearch: gate("RelaxedDNSSearchValidation"),
    allowsAnyVariable: gate("RelaxedEnvironmentVariableValidation"),
    hasAttributesClasses: gate("VolumeAttributesClass"),
    allowsSELinuxMount: gate("SELinuxMount"),
    allowsAnyDeletionCost: !gate("PodDeletionCost"),
    allowsPrivileged,
  };
  return ({ spec }, old) => {
    if (old === undefined) return always;
    const { dnsConfig, securityContext } = old.spec;
    return {
      ...always,
      // Upstream: the new spec decides.
      allowsZeroSleep: always.allowsZeroSleep || containersOf(spec).some(sleepsForNoTime),
      allowsAnySearch: always.allowsAnySearch || (dnsConfig?.searches ?? []).some(isUnusualSearch),
      allowsAnyVariable: always.allowsAnyVariable || keepsUnusualVariable(spec, old.spec),
      allowsSELinuxMount: always.allowsSELinuxMount || securityContext?.seLinuxChangePolicy !== undefined,
      allowsAnyDeletionCost:
        always.allowsAnyDeletionCost || !isDeletionCost(old.metadata.annotations?.[deletionCost] ?? "0"),
    };
  };
}

/** Whether the value of the annotation of the deletion cost is a number of 32 bits in its plain form. */
export const isDeletionCost = (text: string): boolean =>
  /^(?:0|-?[1-9][0-9]{0,9})$/.test(text) && Number(text) >= -(2 ** 31) && Number(text) < 2 ** 31;

const noTemplate: PodParts = { metadata: {}, spec: { containers: null } };

/** Does the same as `podRules` for objects with a template. An object without its template has the rules of a new one. */
export function templateRules<T>(
  environment: PodEnvironment,
  templateOf: (object: T) => PodTemplateSpec | undefined,
): (object: T, old?: T) => PodRules {
  const rulesOf = podRules(environment);
  return (object, old) => {
    const [template, before] = [templateOf(object), old === undefined ? undefined : templateOf(old)];
    return rulesOf(template ?? noTemplate, template === undefined ? undefined : before);
  };
}

const containersOf = ({
  containers,
  initContainers,
  ephemeralContainers,
}: PodSpec): readonly (Container | EphemeralContainer)[] => [
  ...(containers ?? []),
  ...(initContainers ?? []),
  ...(ephemeralContainers ?? []),
];

const sleepsForNoTime = ({ lifecycle }: Container | EphemeralContainer): boolean =>
  lifecycle?.preStop?.sleep?.seconds === 0;

const isUnusualSearch = (search: string): boolean => search === "." || search.includes("_");

/** Whether the spec still has a name of a variable that only the later rule allows. */
function keepsUnusualVariable(spec: PodSpec, old: PodSpec): boolean {
  const before = new Set(variablesOf(old));
  return variablesOf(spec).some(
    (name) => before.has(name) && environmentName(name).length > 0 && printableName(name).length === 0,
  );
}

const variablesOf = (spec: PodSpec): string[] =>
  containersOf(spec).flatMap(({ env = [], envFrom = [] }) => [
    ...env.map(({ name }) => name),
    ...envFrom.map(({ prefix = "" }) => prefix),
  ]);
