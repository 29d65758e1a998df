/** What the `scale` subresource of workloads shows. They all keep it in the same places. */
import type { KindFacts } from "#api/definitions.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ScaleDefinition } from "#registry/resource-definition.ts";
import { noFields, objectField } from "./json-edit.ts";

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

function selectorText(object: Unstructured): string {
  const selector = objectField(objectField(object, "spec") ?? noFields, "selector");
  if (selector === undefined) return "";
  return compileLabelSelector(selector as LabelSelectorObject)?.text ?? ""; // the schema says that it is one
}
