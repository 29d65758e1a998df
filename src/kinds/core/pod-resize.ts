/**
 * The subresource `resize`: changes CPU and memory of existing containers and nothing else. Source: `podResizeStrategy`
 * and `ValidatePodResize` upstream.
 */
import type { Pod, ResourceRequirements } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { editField, editItems, withField } from "../edit.ts";
import { qosClass } from "./pod-qos.ts";

/** Returns the pod with the resources and resize policies of the containers of `from`. */
export function resizePod(pod: Pod, from: Pod): Pod {
  const givenByName = new Map((from.spec.containers ?? []).map((container) => [container.name, container]));
  const next = editField(pod, "spec", (spec) =>
    editItems(spec, "containers", (container) => {
      const wanted = givenByName.get(container.name);
      if (wanted === undefined) return container;
      return withField(withField(container, "resources", wanted.resources), "resizePolicy", wanted.resizePolicy);
    }),
  );
  if (jsonEquals(resourcesOf(pod), resourcesOf(next))) return next;
  return editField(next, "status", (status) => withField(status, "resize", "Proposed"));
}

const resourcesOf = ({ spec }: Pod): readonly ResourceRequirements[] =>
  (spec.containers ?? []).map(({ resources }) => resources);

const mutable = ["cpu", "memory"];
const containersPath = FieldPath.of("spec", "containers");

/** Returns findings about the new resources of a pod. Both objects have the same containers. */
export function validateResize(next: Pod, old: Pod): FieldError[] {
  const errors: FieldError[] = [];
  const before = qosClass(old.spec);
  if (qosClass(next.spec) !== before) {
    errors.push(invalid(FieldPath.of("spec"), before, "Pod QOS Class may not change as a result of resizing"));
  }
  const olds = resourcesOf(old);
  let onlyMutable = true;
  for (const [i, resources] of resourcesOf(next).entries()) {
    const present = olds[i] ?? {};
    for (const part of ["requests", "limits"] as const) {
      const had = present[part] ?? {};
      const has = resources[part] ?? {};
      if (mutable.some((name) => Object.hasOwn(had, name) && !Object.hasOwn(has, name))) {
        const path = containersPath.index(i).child("resources", part);
        errors.push(forbidden(path, `resource ${part} cannot be removed`));
      }
    }
    // Upstream: claims of the request are ignored, but those of the stored container are compared.
    const { claims: _claims, ...amounts } = resources;
    onlyMutable &&= jsonEquals(fixedPart(amounts), fixedPart(present));
  }
  if (!onlyMutable) errors.push(forbidden(FieldPath.of("spec"), "only cpu and memory resources are mutable"));
  return errors;
}

function fixedPart({ requests = {}, limits = {}, ...rest }: ResourceRequirements): ResourceRequirements {
  const others = (list: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(list).filter(([name]) => !mutable.includes(name)));
  return { ...rest, requests: others(requests), limits: others(limits) };
}
