/**
 * Priority: gives new pods the priority and the preemption policy of their class, or of the default class, and refuses
 * a second default class. Source of rules and texts: the answers of kube-apiserver.
 */
import type { Pod } from "#api/core/v1.ts";
import type { PriorityClass } from "#api/scheduling/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { NamespaceIndex } from "./namespace-index.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

interface PriorityOptions {
  readonly domain: ApiDomain;
  /** The classes, in the empty namespace; up to date with every acknowledged write. */
  readonly classes: Pick<NamespaceIndex<PriorityClass>, "get" | "of">;
}

/** The priority of pods when there is no default class. */
const noClass: Pick<PriorityClass, "value" | "preemptionPolicy"> = {
  value: 0,
  preemptionPolicy: "PreemptLowerPriority",
};

export function priority({ domain, classes }: PriorityOptions): AdmissionPlugin {
  const group = domain.rename("scheduling.k8s.io");
  /** Returns the default class; the one with the lowest value if concurrent writers have made several. */
  const defaultClass = (): PriorityClass | undefined => {
    let lowest: PriorityClass | undefined;
    for (const one of classes.of("") ?? []) {
      if (one.globalDefault === true && (lowest === undefined || one.value < lowest.value)) lowest = one;
    }
    return lowest;
  };
  return {
    name: "Priority",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      const { resource, subresource, operation } = attributes;
      if (!isPods(resource) || subresource !== "") return undefined;
      const pod = attributes.object as Pod; // of the resource
      if (operation === "UPDATE") return withKept(pod, attributes.oldObject as Pod); // of the resource
      const name = pod.spec.priorityClassName ?? "";
      const priorityClass = name === "" ? defaultClass() : classes.get("", name);
      if (name !== "" && priorityClass === undefined) {
        throw refusal(attributes, `no PriorityClass with name ${name} was found`);
      }
      return withClass(attributes, pod, priorityClass);
    },
    validate(attributes) {
      const { resource, subresource } = attributes;
      if (resource.resource !== "priorityclasses" || resource.group !== group || subresource !== "") return;
      const priorityClass = attributes.object as PriorityClass; // of the resource
      if (priorityClass.globalDefault !== true) return;
      const present = defaultClass();
      if (present === undefined) return;
      if (attributes.operation === "UPDATE" && present.metadata.name === priorityClass.metadata.name) return;
      const text = `PriorityClass ${present.metadata.name} is already marked as default. Only one default can exist`;
      throw refusal(attributes, text);
    },
  };
}

/**
 * Keeps the priority on updates: clients that send a pod again may leave out fields that were added at its creation.
 */
function withKept(pod: Pod, { spec: old }: Pod): Pod | undefined {
  const { priority = old.priority, preemptionPolicy = old.preemptionPolicy } = pod.spec;
  if (priority === pod.spec.priority && preemptionPolicy === pod.spec.preemptionPolicy) return undefined;
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(priority === undefined ? {} : { priority }),
      ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    },
  };
}

function withClass(attributes: AdmissionAttributes, pod: Pod, priorityClass: PriorityClass | undefined): Pod {
  const { value, preemptionPolicy: policy } = priorityClass ?? noClass;
  const { priority, preemptionPolicy } = pod.spec;
  const refuse = (what: string, computed: unknown): never => {
    const text = `must not be provided in pod spec; priority admission controller computed ${String(computed)} from the given PriorityClass name`;
    throw refusal(attributes, `${what} ${text}`);
  };
  if (priority !== undefined && priority !== value) refuse(`the integer value of priority (${priority})`, value);
  if (preemptionPolicy !== undefined && policy !== undefined && preemptionPolicy !== policy) {
    refuse(`the string value of PreemptionPolicy (${preemptionPolicy})`, policy);
  }
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(priorityClass === undefined ? {} : { priorityClassName: priorityClass.metadata.name ?? "" }),
      priority: value,
      ...(policy === undefined ? {} : { preemptionPolicy: policy }),
    },
  };
}
