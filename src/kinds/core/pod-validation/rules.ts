/**
 * The rules of pods and templates that feature gates change. What a stored object has already stays allowed. Source:
 * the answers of kube-apiserver, with the gates on and off.
 */
import type { Container, EphemeralContainer, PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { environmentName, printableName } from "#meta/names.ts";
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
}

/** Returns the function that returns the rules of a write; `old` is the stored spec of an update. */
export function podRules({
  domain,
  gate,
}: Pick<KindEnvironment, "domain" | "gate">): (spec: PodSpec, old?: PodSpec) => PodRules {
  const always: PodRules = {
    domain,
    allowsZeroSleep: gate("PodLifecycleSleepActionAllowZero"),
    allowsAnySearch: gate("RelaxedDNSSearchValidation"),
    allowsAnyVariable: gate("RelaxedEnvironmentVariableValidation"),
    hasAttributesClasses: gate("VolumeAttributesClass"),
  };
  return (spec, old) =>
    old === undefined
      ? always
      : {
          ...always,
          // Upstream: the new spec decides.
          allowsZeroSleep: always.allowsZeroSleep || containersOf(spec).some(sleepsForNoTime),
          allowsAnySearch: always.allowsAnySearch || (old.dnsConfig?.searches ?? []).some(isUnusualSearch),
          allowsAnyVariable: always.allowsAnyVariable || keepsUnusualVariable(spec, old),
        };
}

/** Does the same as `podRules` for objects with a template. An object without its template has the rules of a new one. */
export function templateRules<T>(
  environment: Pick<KindEnvironment, "domain" | "gate">,
  templateOf: (object: T) => PodTemplateSpec | undefined,
): (object: T, old?: T) => PodRules {
  const rulesOf = podRules(environment);
  return (object, old) => {
    const [spec, before] = [templateOf(object)?.spec, old === undefined ? undefined : templateOf(old)?.spec];
    return rulesOf(spec ?? { containers: null }, spec === undefined ? undefined : before);
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
