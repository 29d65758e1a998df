/**
 * Objects in portable form: without fields that a server sets, in an order in which they can be created. Group names
 * are Kubernetes' without the API domain, which differs between servers.
 */
import { type Unstructured, withoutOrigin } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import type { DiscoveredResource } from "./discovery.ts";

/** Resources that are not exported: each server has its own. As `resource` or `resource.group`'s first part. */
const notCarried = new Set([
  "events",
  "events.events",
  "leases.coordination",
  "componentstatuses",
  "certificatesigningrequests.certificates",
  "leasecandidates.coordination",
  "storageversions.internal",
  "ipaddresses.networking",
]);

/** The order in which kinds are made; those that are not named come after `custom resources`, before workloads. */
const order: readonly string[] = [
  "customresourcedefinitions.apiextensions",
  "namespaces",
  "priorityclasses.scheduling",
  "runtimeclasses.node",
  "storageclasses.storage",
  "volumeattributesclasses.storage",
  "csidrivers.storage",
  "ingressclasses.networking",
  "deviceclasses.resource",
  "nodes",
  "clusterroles.rbac",
  "roles.rbac",
  "serviceaccounts",
  "clusterrolebindings.rbac",
  "rolebindings.rbac",
  "secrets",
  "configmaps",
  "persistentvolumes",
  "persistentvolumeclaims",
  "services",
];

/** Kinds that come after all others: what owns comes before what is owned, and what hinders writes comes last. */
const lastOrder: readonly string[] = [
  "daemonsets.apps",
  "deployments.apps",
  "statefulsets.apps",
  "cronjobs.batch",
  "replicasets.apps",
  "replicationcontrollers",
  "controllerrevisions.apps",
  "jobs.batch",
  "pods",
  "endpoints",
  "endpointslices.discovery",
  "horizontalpodautoscalers.autoscaling",
  "poddisruptionbudgets.policy",
  "limitranges",
  "resourcequotas",
  "apiservices.apiregistration",
  "validatingadmissionpolicies.admissionregistration",
  "validatingadmissionpolicybindings.admissionregistration",
  "mutatingadmissionpolicies.admissionregistration",
  "mutatingadmissionpolicybindings.admissionregistration",
  "mutatingwebhookconfigurations.admissionregistration",
  "validatingwebhookconfigurations.admissionregistration",
];

/** `resource`, or with the first part of the group. Groups of users have other first parts, or more of them. */
function shortName({ group, resource }: Pick<DiscoveredResource, "group" | "resource">): string {
  return group === "" ? resource : `${resource}.${group.split(".")[0] ?? ""}`;
}

/** Returns the resources that are exported when none is named, in the order in which they can be made. */
export function carriedResources(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const seen = new Set<string>();
  const carried = resources.filter((one) => {
    const name = `${one.resource}.${one.group}`;
    const isNew = !seen.has(name);
    seen.add(name);
    return isNew && !notCarried.has(shortName(one)) && ["list", "create"].every((verb) => one.verbs.includes(verb));
  });
  return inOrder(carried);
}

/** Sorts resources into the order in which they can be made. */
export function inOrder(resources: readonly DiscoveredResource[]): DiscoveredResource[] {
  const rankOf = (one: DiscoveredResource): number => {
    const name = shortName(one);
    const early = order.indexOf(name);
    if (early >= 0) return early;
    const late = lastOrder.indexOf(name);
    return late < 0 ? order.length : order.length + 1 + late;
  };
  return [...resources].sort((a, b) => rankOf(a) - rankOf(b));
}

type Fields = Readonly<Record<string, unknown>>;

/** The object without what its server gave it; `undefined` for one that the other server makes by itself, or must not have. */
export function portable(
  object: Unstructured,
  resource: DiscoveredResource,
  keepsStatus: boolean,
): Unstructured | undefined {
  const { metadata, status, ...rest } = object;
  const name = shortName(resource);
  if (metadata.deletionTimestamp !== undefined || isMadeByServer(object, name)) return undefined;
  const portableObject = {
    ...rest,
    metadata: withoutOrigin(metadata),
    ...(keepsStatus && status !== undefined ? { status } : {}),
  };
  return specOf[name]?.(portableObject) ?? portableObject;
}

function isMadeByServer(object: Unstructured, name: string): boolean {
  const { labels = {}, annotations = {} } = object.metadata;
  const has = (fields: Readonly<Record<string, string>>, suffix: string): boolean =>
    Object.keys(fields).some((key) => key.endsWith(suffix));
  switch (name) {
    // The certificates of the server that was exported, in each of its namespaces.
    case "configmaps":
      return object.metadata.name === "kube-root-ca.crt";
    case "secrets":
      return typeof object["type"] === "string" && object["type"].endsWith("/service-account-token");
    case "endpointslices.discovery":
      return Object.entries(labels).some(
        ([key, value]) =>
          key.endsWith("/managed-by") && value.startsWith("endpointslice") && value.includes("controller"),
      );
    case "endpoints":
      return has(annotations, "/last-change-trigger-time");
    case "apiservices.apiregistration":
      return !isObject(object["spec"]) || !isObject(object["spec"]["service"]);
    default:
      return false;
  }
}

const without = (fields: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

/** Changes the spec, where there is one. */
const withSpec =
  (change: (spec: Fields) => Fields) =>
  (object: Unstructured): Unstructured =>
    isObject(object["spec"]) ? { ...object, spec: change(object["spec"]) } : object;

/** Objects of these kinds are given this beyond metadata and status. */
const specOf: Readonly<Record<string, (object: Unstructured) => Unstructured>> = {
  // Addresses are of the other server's range. No address at all is asked for, and stays.
  services: withSpec((spec) => (spec["clusterIP"] === "None" ? spec : without(spec, "clusterIP", "clusterIPs"))),
  // The claim gets another uid there.
  persistentvolumes: withSpec((spec) =>
    isObject(spec["claimRef"]) ? { ...spec, claimRef: without(spec["claimRef"], "uid", "resourceVersion") } : spec,
  ),
  "jobs.batch": withSpec((spec) => (spec["manualSelector"] === true ? spec : withoutJobSelector(spec))),
};

/** Jobs select their pods by their own uid, which the server writes. */
function withoutJobSelector(spec: Fields): Fields {
  const { template } = spec;
  const portableSpec = without(spec, "selector");
  if (!isObject(template) || !isObject(template["metadata"])) return portableSpec;
  const { labels } = template["metadata"];
  if (!isObject(labels)) return portableSpec;
  const own = Object.keys(labels).filter((key) => /(?:^|\/)(?:controller-uid|job-name)$/.test(key));
  return {
    ...portableSpec,
    template: { ...template, metadata: { ...template["metadata"], labels: without(labels, ...own) } },
  };
}
