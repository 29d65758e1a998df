/** What the `scale` subresource of workloads shows. They all keep it in the same places. */
import type { KindFacts } from "#api/definitions.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { ScaleDefinition } from "#registry/resource-definition.ts";

/** Where a kind keeps its numbers; `undefined` when it has no such subresource. */
export function scaleOf(
  facts: KindFacts,
  selector: (object: Unstructured) => string = selectorText,
): ScaleDefinition | undefined {
  if (!facts.subresources.some(({ name }) => name === "scale")) return undefined;
  return {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    selector,
  };
}

interface Workload extends ApiObject {
  readonly spec: { readonly selector: LabelSelectorObject | null };
}

function selectorText(object: Unstructured): string {
  const { selector } = (object as unknown as Workload).spec; // kinds with `scale` and another one say how it is shown
  return selector === null ? "" : (compileLabelSelector(selector)?.text ?? "");
}
