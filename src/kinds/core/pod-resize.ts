/**
 * What a write through `resize` does to a pod: it sets CPU and memory of the containers that there are, and nothing
 * else. Source: `podResizeStrategy` and `ValidatePodResize` upstream.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import {
  editField,
  editItems,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import { qosClass } from "./pod-qos.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

/** The pod as it is, with the resources and resize policies of the containers of `from`. */
export function resized(pod: Unstructured, from: Unstructured): Unstructured {
  const given = new Map(listField(specOf(from), "containers").map((one) => [textField(one, "name"), one]));
  const next = editField(pod, "spec", (spec) =>
    editItems(spec, "containers", (container) => {
      const wanted = given.get(textField(container, "name"));
      if (wanted === undefined) return container;
      return ["resources", "resizePolicy"].reduce((into, name) => withField(into, name, wanted[name]), container);
    }),
  );
  if (jsonEquals(resourcesOf(pod), resourcesOf(next))) return next;
  return editField(next, "status", (status) => withField(status, "resize", "Proposed"));
}

const resourcesOf = (pod: Unstructured): readonly unknown[] =>
  listField(specOf(pod), "containers").map((container) => objectField(container, "resources") ?? noFields);

const mutable = ["cpu", "memory"];

/** Findings about the resources of a pod against the present ones; both have the same containers. */
export function validateResize(next: Unstructured, old: Unstructured): FieldError[] {
  const errors: FieldError[] = [];
  const before = qosClass(specOf(old));
  if (qosClass(specOf(next)) !== before) {
    errors.push(invalid("spec", before, "Pod QOS Class may not change as a result of resizing"));
  }
  const olds = listField(specOf(old), "containers");
  let onlyMutable = true;
  for (const [i, container] of listField(specOf(next), "containers").entries()) {
    const resources = objectField(container, "resources") ?? noFields;
    const present = objectField(olds[i] ?? noFields, "resources") ?? noFields;
    for (const part of ["requests", "limits"]) {
      const had = objectField(present, part) ?? noFields;
      const has = objectField(resources, part) ?? noFields;
      if (mutable.some((name) => Object.hasOwn(had, name) && !Object.hasOwn(has, name))) {
        const field = `spec.containers[${i}].resources.${part}`;
        errors.push(forbidden(field, `resource ${part} cannot be removed`));
      }
    }
    onlyMutable &&= jsonEquals(fixedPart(resources), fixedPart(present));
  }
  if (!onlyMutable) errors.push(forbidden("spec", "only cpu and memory resources are mutable"));
  return errors;
}

function fixedPart({ requests, limits, ...rest }: Json): Json {
  const others = (list: unknown): Json => {
    const entries = Object.entries((list ?? noFields) as Json); // the schema says that it is a map
    return Object.fromEntries(entries.filter(([name]) => !mutable.includes(name)));
  };
  return { ...rest, requests: others(requests), limits: others(limits) };
}
