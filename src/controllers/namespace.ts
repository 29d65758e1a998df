/**
 * Finalizes namespaces: deletes all objects of every namespaced resource in discovery, reports remaining ones as
 * conditions, and removes the finalizer when none are left. Source of condition types, reasons and messages: upstream's
 * namespace controller.
 */
import type { Namespace, NamespaceCondition } from "#api/core/v1.ts";
import { ignoreNotFound, itemsOf, jsonBody, type ObjectList } from "#client/rest-client.ts";
import type { RetryPauses } from "#client/work-queue.ts";
import { aggregate } from "#meta/field-error.ts";
import { apiPathOf, type GroupVersionResource } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import { isObject } from "#std/is-object.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { metadataTypes } from "./metadata-types.ts";
import { inPages } from "./pages.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { reconcile } from "./reconcile.ts";

/** The finalizer that this controller removes. */
const finalizer = "kubernetes";
/** Pauses before remaining content is checked again, since its deletion causes no event here. */
const pauses: RetryPauses = { minMs: 250, maxMs: 8000 };
/** Dependents are in the namespace as well, so no deletion needs to wait for them or to orphan them. */
const background = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };

/** The result of emptying a namespace. */
interface Findings {
  /** The number of remaining objects, by resource. */
  readonly remaining: ReadonlyMap<string, number>;
  /** The number of remaining objects, by the finalizer that keeps them. */
  readonly byFinalizer: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
  /** Group versions whose resources are not known, because their server does not answer. */
  readonly undiscovered: readonly string[];
}

const namespaces = "/api/v1/namespaces";

export const namespaceController: Controller = (environment) =>
  reconcile<Namespace>(environment, {
    name: "namespace",
    path: namespaces,
    what: "namespaces",
    logKey: "namespace",
    failure: "could not finish a namespace; trying again",
    workersMax: 8,
    pauses,
    matters: ({ metadata }) => metadata.deletionTimestamp !== undefined,
    work: (namespace) => finalize(environment, namespace),
  });

/** Empties and finalizes a namespace. Returns `"again"` while objects remain. */
async function finalize(environment: ControllerEnvironment, namespace: Namespace): Promise<"again" | undefined> {
  const { client } = environment;
  const path = objectPath(namespaces, namespace.metadata);
  const finalizers = namespace.spec.finalizers ?? [];
  if (!finalizers.includes(finalizer)) return undefined;
  const findings = await empty(environment, namespace.metadata.name ?? "");
  await report(environment, path, namespace, findings);
  if (!isEmpty(findings)) return "again";
  const current = await ignoreNotFound(client.get<Namespace>(path));
  if (current === undefined) return undefined;
  const rest = (current.spec.finalizers ?? []).filter((text) => text !== finalizer);
  await ignoreNotFound(
    client.update<Namespace>(`${path}/finalize`, { ...current, spec: { ...current.spec, finalizers: rest } }),
  );
  return undefined;
}

const isEmpty = ({ remaining, failures, undiscovered }: Findings): boolean =>
  remaining.size === 0 && failures.length === 0 && undiscovered.length === 0;

async function empty(environment: ControllerEnvironment, namespace: string): Promise<Findings> {
  const remaining = new Map<string, number>();
  const byFinalizer = new Map<string, number>();
  const failures: string[] = [];
  const { served, undiscovered } = await deletable(environment);
  const { client, domain } = environment;
  // The objects themselves may be any number of bytes.
  const accept = metadataTypes(domain).list;
  for (const resource of served) {
    const path = inNamespace(`${apiPathOf(resource)}/${resource.resource}`, namespace);
    try {
      const before = await client.call<ObjectList>({ method: "GET", path: `${path}?limit=1`, accept });
      if (itemsOf(before).length === 0) continue;
      await client.bytes({ method: "DELETE", path, accept, ...jsonBody(background) });
      for await (const object of inPages(client, path, { accept })) count(object, resource, remaining, byFinalizer);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  return { remaining, byFinalizer, failures, undiscovered };
}

function count(
  { metadata }: ApiObject,
  resource: GroupVersionResource,
  remaining: Map<string, number>,
  byFinalizer: Map<string, number>,
): void {
  const name = qualifiedName(resource);
  remaining.set(name, (remaining.get(name) ?? 0) + 1);
  for (const text of metadata.finalizers ?? []) byFinalizer.set(text, (byFinalizer.get(text) ?? 0) + 1);
}

const qualifiedName = (of: GroupVersionResource): string => `${of.resource}.${of.group}`;

interface Deletable {
  readonly served: readonly GroupVersionResource[];
  readonly undiscovered: readonly string[];
}

/**
 * Returns one version of every namespaced resource whose objects can be listed and deleted. If another server does not
 * answer, only its own resources are unknown.
 */
async function deletable(environment: ControllerEnvironment): Promise<Deletable> {
  const { client } = environment;
  interface Groups {
    readonly groups: readonly {
      readonly name: string;
      readonly preferredVersion: { readonly version: string };
      readonly versions: readonly { readonly version: string }[];
    }[];
  }
  const { groups } = await client.call<Groups>({ method: "GET", path: "/apis" });
  const versions = [
    { group: "", version: "v1" },
    ...groups.flatMap(({ name, preferredVersion, versions }) => [
      { group: name, version: preferredVersion.version },
      ...versions
        .filter(({ version }) => version !== preferredVersion.version)
        .map(({ version }) => ({ group: name, version })),
    ]),
  ];
  const seen = new Set<string>();
  const served: GroupVersionResource[] = [];
  const undiscovered: string[] = [];
  for (const { group, version } of versions) {
    const path = apiPathOf({ group, version });
    let names: readonly string[];
    try {
      names = emptiedResources(await client.call<unknown>({ method: "GET", path }));
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      undiscovered.push(`${group}/${version}`);
      continue;
    }
    for (const name of names) {
      const id = `${group}/${name}`;
      if (seen.has(id)) continue;
      seen.add(id);
      served.push({ group, version, resource: name });
    }
  }
  return { served, undiscovered };
}

/** The maximum number of resources of a group version that are emptied. */
const resourcesMax = 2000;

/**
 * Returns the namespaced resources of a discovery document whose objects can be listed and deleted. Another server may
 * answer anything: invalid entries are left out. Throws `serviceUnavailable` when it is no document, or names too many.
 */
function emptiedResources(document: unknown): readonly string[] {
  const { resources } = isObject(document) ? document : {};
  if (!Array.isArray(resources) || resources.length > resourcesMax)
    throw serviceUnavailable("the resources of a group version cannot be read");
  return resources.flatMap((one: unknown) => {
    const { name, namespaced, verbs } = isObject(one) ? one : {};
    if (typeof name !== "string" || namespaced !== true || !Array.isArray(verbs)) return [];
    return verbs.includes("list") && verbs.includes("deletecollection") ? [name] : [];
  });
}

const isUnavailable = (error: unknown): boolean => error instanceof StatusError && error.status.code === 503;

/** Writes the conditions when they differ from those of the namespace. */
async function report(
  environment: ControllerEnvironment,
  path: string,
  namespace: Namespace,
  findings: Findings,
): Promise<void> {
  const before = namespace.status.conditions ?? [];
  const now = timestampOf(environment.clock.now());
  const next = conditionsOf(findings).map((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? old.lastTransitionTime : now;
    return { ...condition, lastTransitionTime };
  });
  const isSame =
    next.length === before.length &&
    next.every((condition) =>
      before.some(
        (old) => old.type === condition.type && old.message === condition.message && old.status === condition.status,
      ),
    );
  if (isSame || isEmpty(findings)) return;
  const status = { ...namespace.status, conditions: next };
  await ignoreNotFound(environment.client.update<Namespace>(`${path}/status`, { ...namespace, status }));
}

function conditionsOf(findings: Findings): Omit<NamespaceCondition, "lastTransitionTime">[] {
  const { remaining, byFinalizer, failures, undiscovered } = findings;
  const list = (counts: ReadonlyMap<string, number>, unit: string): string =>
    [...counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([text, number]) => `${text} ${unit} ${number} resource instances`)
      .join(", ");
  type Words = readonly [reason: string, message: string];
  const condition = (type: string, good: Words, bad?: Words): Omit<NamespaceCondition, "lastTransitionTime"> => {
    const [reason, message] = bad ?? good;
    return { type, status: bad === undefined ? "False" : "True", reason, message };
  };
  return [
    condition(
      "NamespaceDeletionDiscoveryFailure",
      ["ResourcesDiscovered", "All resources successfully discovered"],
      undiscovered.length === 0 ? undefined : ["DiscoveryFailed", discoveryText(undiscovered)],
    ),
    condition("NamespaceDeletionGroupVersionParsingFailure", [
      "ParsedGroupVersions",
      "All legacy kube types successfully parsed",
    ]),
    condition(
      "NamespaceDeletionContentFailure",
      ["ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
      failures.length === 0 ? undefined : ["ContentDeletionFailed", deletionText(failures)],
    ),
    condition(
      "NamespaceContentRemaining",
      ["ContentRemoved", "All content successfully removed"],
      remaining.size === 0
        ? undefined
        : ["SomeResourcesRemain", `Some resources are remaining: ${list(remaining, "has")}`],
    ),
    condition(
      "NamespaceFinalizersRemaining",
      ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
      byFinalizer.size === 0
        ? undefined
        : [
            "SomeFinalizersRemain",
            `Some content in the namespace has finalizers remaining: ${list(byFinalizer, "in")}`,
          ],
    ),
  ];
}

function discoveryText(undiscovered: readonly string[]): string {
  const stale = undiscovered.map((version) => `${version}: stale GroupVersion discovery: ${version}`).join(", ");
  const why = `unable to retrieve the complete list of server APIs: ${stale}`;
  return `Discovery failed for some groups, ${undiscovered.length} failing: ${why}`;
}

function deletionText(failures: readonly string[]): string {
  return `Failed to delete all resource types, ${failures.length} remaining: ${aggregate(failures)}`;
}
