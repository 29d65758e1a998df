/** Keeps the node graph in step with stored pods, volumes, attachments and slices. */
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import type { NodeGraph, OfNode } from "#authz/node-graph.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

/** Returns the handlers of a resource's objects; `undefined` for resources that are not in the graph. */
export function nodeGraphHandlers(
  graph: NodeGraph,
  domain: ApiDomain,
  definition: ResourceDefinition,
): ObjectHandlers<ApiObject> | undefined {
  const owned = (resource: "resourceslices" | "volumeattachments"): ObjectHandlers<OfNode> => ({
    cleared: () => graph.clear(resource),
    changed: (_namespace, name, object) => graph.setOwned(resource, name, object),
  });
  switch (qualifiedResource(definition)) {
    case "pods":
      return {
        cleared: () => graph.clear("pods"),
        changed: (namespace, name, pod: Pod | undefined) => graph.setPod(namespace, name, pod),
      };
    case "persistentvolumes":
      return {
        cleared: () => graph.clear("persistentvolumes"),
        changed: (_namespace, name, volume: PersistentVolume | undefined) => graph.setVolume(name, volume),
      };
    case domain.rename("resourceslices.resource.k8s.io"):
      return owned("resourceslices");
    case domain.rename("volumeattachments.storage.k8s.io"):
      return owned("volumeattachments");
    default:
      return undefined;
  }
}
