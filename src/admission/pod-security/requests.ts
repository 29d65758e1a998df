/** Tells which writes concern pods, and finds the pod template of a controller. */
import type { Pod, PodTemplateSpec } from "#api/core/v1.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { AnyContainer } from "#api/core/containers.ts";

/** Subresources of pods whose writes change nothing that the standards are about. */
export const harmlessSubresources: ReadonlySet<string> = new Set(
  "attach binding eviction exec log portforward proxy status".split(" "),
);

interface Controller {
  readonly group: string;
  readonly template: (object: ApiObject) => PodTemplateSpec | undefined;
}

interface WithTemplate extends ApiObject {
  readonly template?: PodTemplateSpec;
}

interface WithSpec extends ApiObject {
  readonly spec?: { readonly template?: PodTemplateSpec };
}

interface WithJobTemplate extends ApiObject {
  readonly spec?: { readonly jobTemplate?: WithSpec };
}

const inSpec = (object: ApiObject): PodTemplateSpec | undefined => (object as WithSpec).spec?.template; // of the resource

/** The controllers with a pod template, by resource. */
export const controllers: ReadonlyMap<string, Controller> = new Map<string, Controller>([
  ["podtemplates", { group: "", template: (object) => (object as WithTemplate).template }], // of the resource
  ["replicationcontrollers", { group: "", template: inSpec }],
  ["replicasets", { group: "apps", template: inSpec }],
  ["deployments", { group: "apps", template: inSpec }],
  ["statefulsets", { group: "apps", template: inSpec }],
  ["daemonsets", { group: "apps", template: inSpec }],
  ["jobs", { group: "batch", template: inSpec }],
  ["cronjobs", { group: "batch", template: (object) => (object as WithJobTemplate).spec?.jobTemplate?.spec?.template }], // of the resource
]);

/** Whether an update may make a pod violate a standard: it changes images, or adds containers. */
export function isSignificant({ spec }: Pod, { spec: old }: Pod): boolean {
  return (
    differ(spec.containers, old.containers) ||
    differ(spec.initContainers, old.initContainers) ||
    differ(spec.ephemeralContainers, old.ephemeralContainers)
  );
}

function differ(
  containers: readonly AnyContainer[] | null | undefined,
  old: readonly AnyContainer[] | null | undefined,
): boolean {
  if ((containers?.length ?? 0) !== (old?.length ?? 0)) return true;
  return containers?.some(({ image }, at) => image !== old![at]!.image) === true;
}
