/** The table of served resources: built-in kinds with their actions and subresources, and custom resources. */
import type { ApiTables } from "#api/definitions.ts";
import type { RuleTimes } from "#cel/schema-rules.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ConvertObjects } from "#extensions/conversion-review.ts";
import { CustomResourceController } from "#extensions/custom-resource-controller.ts";
import { waitForSync } from "#registry/informer.ts";
import { override } from "#registry/override.ts";
import { isConnection, type ResourceDefinition, type SubresourceDefinition } from "#registry/resource-definition.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import type { StoredObjects } from "#registry/stored-object.ts";
import type { Schema } from "#schema/schema.ts";
import type { Revision } from "#storage/log-store.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import { type Actions, withActions } from "./actions.ts";
import { metadataSchema } from "./handler-parts.ts";
import type { Peers } from "./peers.ts";
import type { ServerParts } from "./server-parts.ts";

interface ServedTableParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log" | "metrics"> {
  readonly cache: WatchCache;
  readonly tables: ApiTables;
  /** The built-in kinds. */
  readonly builtIn: ResourceTable;
  readonly objects: StoredObjects;
  readonly objectBytesMax: number;
  readonly collectsGarbage: boolean;
  readonly actions: Actions;
  /** Calls conversion webhooks. */
  readonly convert: ConvertObjects;
  /** The other servers; `undefined` where there are none. */
  readonly peers: Pick<Peers, "announced" | "untilInForce"> | undefined;
}

export function openServedTable(parts: ServedTableParts) {
  const { domain, cache } = parts;
  const withStatuses = withComponentStatuses(() => cache.failure?.message ?? cache.full?.message);
  const withPosts = withActions(parts.actions, domain);
  const builtIn = parts.builtIn.definitions.map((definition) => withServedParts(withPosts(withStatuses(definition))));
  const listeners: (() => void)[] = [];
  const custom = customResources(parts, builtIn, () => listeners.forEach((changed) => changed()));
  const withoutCustom = custom === undefined ? new ResourceTable(builtIn, 1, parts.builtIn) : undefined;
  return {
    /** Returns the served resources. */
    table: () => custom?.table ?? withoutCustom!, // there is one of the two
    /** Adds a listener for changes of the served resources. */
    onChange: (listener: () => void) => void listeners.push(listener),
    /** Serves the custom resources of the stored definitions. */
    start: async () => custom?.start(),
    /** Resolves when all definitions that reads see now are in force. */
    inStep: async () => custom?.inStep(),
    /** Whether the custom resources are in step with the store. */
    isSynced: () => custom?.isSynced ?? true,
    /** Whether all definitions that this server was told of are in force. */
    isIdle: () => custom?.isIdle ?? true,
    close: () => custom?.close(),
  };
}

/**
 * Returns the controller of custom resources, which follows the stored definitions; `undefined` when definitions are
 * not served. It is not started yet: until then only built-in kinds are served.
 */
function customResources(
  parts: ServedTableParts,
  builtIn: readonly ResourceDefinition[],
  changed: () => void,
): CustomResourceController | undefined {
  const { domain, tables, peers } = parts;
  const group = domain.rename("apiextensions.k8s.io");
  const definition = builtIn.find((other) => other.group === group && other.resource === "customresourcedefinitions");
  if (definition === undefined) return undefined;
  const waiting = waitForSync(definition, () => controller);
  const controller: CustomResourceController = new CustomResourceController({
    ...parts,
    ruleTimes: ruleTimes(parts),
    ...(peers === undefined
      ? {}
      : {
          applied: peers.announced.applied,
          inForceEverywhere: (revision: Revision) => peers.untilInForce(revision),
        }),
    changed,
    definition,
    builtIn: new ResourceTable(
      builtIn.map((other) => (other === definition ? waiting : other)),
      1,
      parts.builtIn,
    ),
    reserved: tables.kinds,
    get metadata(): Schema {
      return metadataSchema(tables, domain);
    },
  });
  return controller;
}

/**
 * Gives the definition of component statuses its objects; returns other definitions unchanged. `problem` returns the
 * problem of the store, if any.
 */
function withComponentStatuses(
  problem: () => string | undefined,
): (definition: ResourceDefinition) => ResourceDefinition {
  const objects = (): readonly Unstructured[] => {
    const message = problem();
    const condition = { type: "Healthy", status: message === undefined ? "True" : "False", message: message ?? "ok" };
    return [{ metadata: { name: "storage", creationTimestamp: null }, conditions: [condition] }];
  };
  return (definition) =>
    definition.group === "" && definition.resource === "componentstatuses"
      ? override(definition, { computed: objects })
      : definition;
}

/** Returns the definition without subresources that are not served. Called when the definition has its actions. */
function withServedParts(definition: ResourceDefinition): ResourceDefinition {
  const { subresources } = definition;
  const served = subresources.filter((part) => isServed(definition, part));
  if (served.length === subresources.length) return definition;
  const unserved = subresources.filter((part) => !served.includes(part));
  return override(definition, { subresources: served, unserved });
}

function isServed({ kind, actions }: ResourceDefinition, part: SubresourceDefinition): boolean {
  if (part.scale !== undefined || isConnection(part)) return true;
  // A view of the object can also be written.
  const isView = part.kind === kind && part.verbs.includes("update");
  return isView || actions?.has(part.name) === true;
}

/** Makes the metrics of rules of custom resources. Those of objects that are checked in a worker thread are not there. */
function ruleTimes({ metrics, clock }: Pick<ServerParts, "metrics" | "clock">): RuleTimes {
  const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
  const durations = (name: string) =>
    metrics
      .histogram({
        name: `apiserver_cel_${name}_duration_seconds`,
        help: `[BETA] Time of CEL ${name}.`,
        buckets,
      })
      .with();
  const compilation = durations("compilation");
  const evaluation = durations("evaluation");
  return {
    now: () => clock.monotonic(),
    compiled: (ms) => compilation.observe(ms / 1000),
    evaluated: (ms) => evaluation.observe(ms / 1000),
  };
}
