/** The `scale` subresource of workloads; all keep its fields in the same places. */
import type { Deployment, ReplicaSet, StatefulSet } from "#api/apps/v1.ts";
import type { KindFacts } from "#api/definitions.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ScaleDefinition } from "#registry/resource-definition.ts";
import type { KindBehaviour } from "./generic.ts";

/** Where a kind keeps its numbers; `undefined` when it has no such subresource. */
export function scaleOf(
  facts: KindFacts,
  { scaleSelector = selectorText, missingScale }: KindBehaviour,
): ScaleDefinition | undefined {
  if (!facts.subresources.some(({ name }) => name === "scale")) return undefined;
  return {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    selector: scaleSelector,
    ...(missingScale === undefined ? {} : { missing: missingScale }),
  };
}

function selectorText(object: ApiObject): string {
  // Kinds with `scale` and another selector say how it is shown.
  const { selector } = (object as Deployment | ReplicaSet | StatefulSet).spec;
  return selector === null ? "" : (compileLabelSelector(selector)?.text ?? "");
}
