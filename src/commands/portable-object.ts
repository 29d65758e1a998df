/**
 * Objects in portable form: without fields that a server sets, and in an order in which they can be created. Names of
 * groups are compared without the API domain, which differs between servers.
 */
import { type Unstructured, withoutOrigin } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import type { DiscoveredResource } from "./discovery.ts";

/**
 * The resources that are not exported, since each server has its own, as `resource` or `resource.group` with the first
 * part of the group.
 */
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

/** The order in which kinds are created. Kinds that neither list names come between the two lists. */
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

/** The last kinds in the order: owners come before owned objects, and objects that can prevent writes come last. */
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

/**
 * Returns `resource`, or `resource.group` with the first part of the group. Groups of users have other first parts or
 * more parts.
 */
function shortName({ group, resource }: Pick<DiscoveredResource, "group" | "resource">): string {
  return group === "" ? resource : `${resource}.${group.split(".")[0] ?? ""}`;
}

/** Returns the resources that are exported by default, in the order in which they can be created. */
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

/** Sorts resources into the order in which they can be created. */
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

/**
 * Returns the object without fields that its server sets; `undefined` for an object that the other server creates
 * itself, or must not have.
 */
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
    // Each namespace has the certificates of the exported server.
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

/** Makes a function that changes the spec of objects that have one. */
const withSpec =
  (change: (spec: Fields) => Fields) =>
  (object: Unstructured): Unstructured =>
    isObject(object["spec"]) ? { ...object, spec: change(object["spec"]) } : object;

/** The changes of specs by kind. */
const specOf: Readonly<Record<string, (object: Unstructured) => Unstructured>> = {
  // Addresses belong to the range of the other server. A headless service stays headless.
  services: withSpec((spec) => (spec["clusterIP"] === "None" ? spec : without(spec, "clusterIP", "clusterIPs"))),
  // The claim will have another uid.
  persistentvolumes: withSpec((spec) =>
    isObject(spec["claimRef"]) ? { ...spec, claimRef: without(spec["claimRef"], "uid", "resourceVersion") } : spec,
  ),
  "jobs.batch": withSpec((spec) => (spec["manualSelector"] === true ? spec : withoutJobSelector(spec))),
};

/** Returns the spec of a job without its generated selector and labels, which contain the uid of the job. */
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
