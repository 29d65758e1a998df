/** Keeps the node graph in step with stored pods, volumes, attachments and slices. */
import type { PersistentVolume, Pod } from "#api/core/v1.ts";
import type { NodeGraph, OfNode } from "#authz/node-graph.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { HandlersByResource } from "../index-handlers.ts";

export function nodeGraphHandlers(graph: NodeGraph): HandlersByResource {
  const owned = (resource: "resourceslices" | "volumeattachments"): ObjectHandlers<OfNode> => ({
    cleared: () => graph.clear(resource),
    changed: (_namespace, name, object) => graph.setOwned(resource, name, object),
  });
  return {
    pods: {
      cleared: () => graph.clear("pods"),
      changed: (namespace, name, pod: Pod | undefined) => graph.setPod(namespace, name, pod),
    },
    persistentvolumes: {
      cleared: () => graph.clear("persistentvolumes"),
      changed: (_namespace, name, volume: PersistentVolume | undefined) => graph.setVolume(name, volume),
    },
    "resourceslices.resource.k8s.io": owned("resourceslices"),
    "volumeattachments.storage.k8s.io": owned("volumeattachments"),
  };
}
