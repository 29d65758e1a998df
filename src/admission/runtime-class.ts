/**
 * RuntimeClass: adds the overhead and the scheduling rules of their class to new pods. Source of rules and texts: the
 * answers of kube-apiserver.
 */
import type { Pod } from "#api/core/v1.ts";
import type { RuntimeClass, Scheduling } from "#api/node/v1.ts";
import { goQuote } from "#meta/field-error.ts";
import { compareQuantities, type Quantity } from "#meta/quantity.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";
import { quantitiesOf } from "./quantities.ts";
import { mergeTolerations } from "./tolerations.ts";

interface RuntimeClassOptions {
  /** Returns the class from memory; `undefined` when there is none. */
  getClass(name: string): RuntimeClass | undefined;
}

type Overhead = Readonly<Record<string, string>>;

export function runtimeClass({ getClass }: RuntimeClassOptions): AdmissionPlugin {
  const find = (
    attributes: AdmissionAttributes,
  ): { readonly pod: Pod; readonly classObject?: RuntimeClass } | undefined => {
    const { resource, subresource } = attributes;
    if (!isPods(resource) || subresource !== "") return undefined;
    const pod = attributes.object as Pod; // of the resource
    // Validation refuses an empty name.
    const { runtimeClassName: name = "" } = pod.spec;
    if (name === "") return { pod };
    const classObject = getClass(name);
    if (classObject === undefined) throw refusal(attributes, `pod rejected: RuntimeClass ${goQuote(name)} not found`);
    return { pod, classObject };
  };
  return {
    name: "RuntimeClass",
    operations: ["CREATE"],
    admit(attributes) {
      const { pod, classObject } = find(attributes) ?? {};
      if (pod === undefined || classObject === undefined) return undefined;
      const loaded = withOverhead(attributes, pod, classObject.overhead?.podFixed);
      const scheduled =
        classObject.scheduling === undefined ? loaded : withScheduling(attributes, loaded, classObject.scheduling);
      return scheduled === pod ? undefined : scheduled;
    },
    validate(attributes) {
      const { pod, classObject } = find(attributes) ?? {};
      const overhead = pod?.spec.overhead;
      if (classObject?.overhead !== undefined) {
        if (!isSame(overhead ?? {}, classObject.overhead.podFixed ?? {})) throw otherOverhead(attributes);
      } else if (overhead !== undefined) {
        throw refusal(attributes, "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead");
      }
    },
  };
}

const otherOverhead = (attributes: AdmissionAttributes): Error =>
  refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");

function withOverhead(attributes: AdmissionAttributes, pod: Pod, overhead: Overhead | undefined): Pod {
  const podOverhead = pod.spec.overhead ?? {};
  if (Object.keys(podOverhead).length === 0)
    return overhead === undefined ? pod : { ...pod, spec: { ...pod.spec, overhead } };
  if (overhead !== undefined && !isSame(podOverhead, overhead)) throw otherOverhead(attributes);
  return pod;
}

/** Whether two overheads have the same values: `0.1` is `100m`. */
function isSame(one: Overhead, other: Overhead): boolean {
  const others = quantitiesOf(other);
  const ones = quantitiesOf(one);
  const equals = (quantity: Quantity, same: Quantity | undefined): boolean =>
    same !== undefined && compareQuantities(quantity, same) === 0;
  return ones.size === others.size && [...ones].every(([name, quantity]) => equals(quantity, others.get(name)));
}

function withScheduling(attributes: AdmissionAttributes, pod: Pod, { nodeSelector, tolerations }: Scheduling): Pod {
  const wanted = Object.entries(nodeSelector ?? {});
  const podNodeSelector = pod.spec.nodeSelector ?? {};
  for (const [key, value] of wanted) {
    if (podNodeSelector[key] === undefined || podNodeSelector[key] === value) continue;
    const conflict = `runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${podNodeSelector[key]}`;
    throw refusal(attributes, `conflict: ${conflict}`);
  }
  const allTolerations = mergeTolerations(pod.spec.tolerations ?? [], tolerations ?? []);
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(wanted.length === 0 ? {} : { nodeSelector: { ...podNodeSelector, ...nodeSelector } }),
      ...(allTolerations.length === 0 ? {} : { tolerations: allTolerations }),
    },
  };
}
