/** What the `scale` subresource of workloads shows. They all keep it in the same places. */
import type { KindFacts } from "#api/definitions.ts";
import { compileLabelSelector, type LabelSelectorObject } from "#meta/label-selector.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { compileLabels } from "#meta/selector.ts";
import type { ScaleDefinition } from "#registry/resource-definition.ts";
import { noFields, objectField, textsField } from "./edit.ts";

/** Where a kind keeps its numbers; `undefined` when it has no such subresource. */
export function scaleOf(facts: KindFacts): ScaleDefinition | undefined {
  if (!facts.subresources.some(({ name }) => name === "scale")) return undefined;
  return {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    selector: facts.kind === "ReplicationController" ? labelsAsSelector : selectorText,
  };
}

function selectorText(object: Unstructured): string {
  const selector = objectField(objectField(object, "spec") ?? noFields, "selector");
  if (selector === undefined) return "";
  return compileLabelSelector(selector as LabelSelectorObject)?.text ?? ""; // the schema says that it is one
}

/** The oldest workload selects by labels alone. */
function labelsAsSelector(object: Unstructured): string {
  const labels = textsField(objectField(object, "spec") ?? noFields, "selector") ?? {};
  return compileLabels(Object.entries(labels).map(([key, value]) => ({ key, operator: "=", values: [value] }))).text;
}
