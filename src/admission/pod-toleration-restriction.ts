/**
 * PodTolerationRestriction: pods get the tolerations of their namespace, and may have only those that the namespace
 * allows. Source of rules and texts: the answers of kube-apiserver.
 */
import { parseTolerations } from "#api/core/annotated-tolerations.ts";
import type { Namespace, Pod, Toleration } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { notFound } from "#meta/status-error.ts";
import { type AdmissionPlugin, isPods, pluginFailure } from "./plugin.ts";
import { mergeTolerations, TolerationSet } from "./tolerations.ts";

export interface TolerationSettings {
  /** The tolerations of new pods in namespaces that say nothing about it. */
  readonly initial: readonly Toleration[];
  /** The tolerations that pods in namespaces that say nothing about it may have; empty: all. */
  readonly allowed: readonly Toleration[];
}

interface PodTolerationRestrictionOptions extends TolerationSettings {
  readonly domain: ApiDomain;
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
  /** Whether a pod says nothing about CPU and memory. */
  isBestEffort(pod: Pod): boolean;
}

export function podTolerationRestriction(options: PodTolerationRestrictionOptions): AdmissionPlugin {
  const { rename } = options.domain;
  const defaultsKey = rename("scheduler.alpha.kubernetes.io/defaultTolerations");
  const allowedKey = rename("scheduler.alpha.kubernetes.io/tolerationsWhitelist");
  const underPressure: Toleration = {
    key: rename("node.kubernetes.io/memory-pressure"),
    operator: "Exists",
    effect: "NoSchedule",
  };
  const check = (namespace: string, { tolerations = [] }: Pod["spec"]): void => {
    if (tolerations.length === 0) return;
    const own = listedIn(namespace, allowedKey, options);
    const allowed = own ?? options.allowed;
    if (allowed.length === 0) return;
    const wide = new TolerationSet();
    for (const one of allowed) wide.add(one);
    if (tolerations.every((one) => wide.covers(one))) return;
    const scope = own === undefined ? "cluster" : "namespace";
    throw pluginFailure(
      `pod tolerations (possibly merged with namespace default tolerations) conflict with its ${scope} whitelist`,
    );
  };
  return {
    name: "PodTolerationRestriction",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return undefined;
      const pod = attributes.object as Pod; // of the resource
      const before = pod.spec.tolerations ?? [];
      let tolerations = before;
      if (attributes.operation === "CREATE") {
        const added = listedIn(attributes.namespace, defaultsKey, options) ?? options.initial;
        if (added.length > 0) tolerations = mergeTolerations(before, added);
      }
      if (!options.isBestEffort(pod)) tolerations = mergeTolerations(tolerations, [underPressure]);
      const changed = tolerations === before ? pod : { ...pod, spec: { ...pod.spec, tolerations } };
      check(attributes.namespace, changed.spec);
      return changed === pod ? undefined : changed;
    },
    validate(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return;
      check(attributes.namespace, (attributes.object as Pod).spec); // of the resource
    },
  };
}

/**
 * Returns the tolerations in an annotation of a namespace; `undefined` without the annotation. Throws `StatusError` with
 * code 404 or 500.
 */
function listedIn(
  name: string,
  key: string,
  { getNamespace }: PodTolerationRestrictionOptions,
): readonly Toleration[] | undefined {
  const namespace = getNamespace(name);
  if (namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, name);
  const text = namespace.metadata.annotations?.[key];
  if (text === undefined) return undefined;
  if (text === "") return [];
  const tolerations = parseTolerations(text);
  if (tolerations !== undefined) return tolerations;
  throw pluginFailure(`annotation ${key} of namespace ${name} is not a list of tolerations`);
}
