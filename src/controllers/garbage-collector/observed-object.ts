/**
 * Extracts from lists and watches only the metadata that the graph needs. Most objects have no owners and are not
 * decoded. Hot path: every write on the server passes through here.
 */
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { deletesDependents, orphansDependents } from "./live.ts";
import type { OwnershipGraph, ObservedObject } from "./graph.ts";
import type { ServedResource } from "./served.ts";

const ownersField = Buffer.from('"ownerReferences"');
const deletionField = Buffer.from('"deletionTimestamp"');
const finalizers = ['"orphan"', '"foregroundDeletion"'].map((text) => Buffer.from(text));
const uidField = Buffer.from('"uid":"');
const quote = 0x22;

/**
 * Whether the graph needs the objects in this JSON; true may be a false alarm. `hasNodes`: whether the graph has
 * objects of their type.
 */
export function affectsGraph(json: Buffer, graph: Pick<OwnershipGraph, "get">, hasNodes: boolean): boolean {
  if (json.includes(ownersField)) return true;
  if (hasNodes && namesNode(json, graph)) return true;
  return json.includes(deletionField) && finalizers.some((text) => json.includes(text));
}

/** Does the same for one decoded object. */
export function objectAffectsGraph(metadata: ObjectMeta, graph: Pick<OwnershipGraph, "get">): boolean {
  if (metadata.ownerReferences !== undefined || graph.get(metadata.uid ?? "") !== undefined) return true;
  return deletesDependents(metadata) || orphansDependents(metadata);
}

function namesNode(json: Buffer, graph: Pick<OwnershipGraph, "get">): boolean {
  for (let at = json.indexOf(uidField); at >= 0; at = json.indexOf(uidField, at)) {
    at += uidField.length;
    const end = json.indexOf(quote, at);
    if (end < 0) return false;
    if (graph.get(json.toString("latin1", at, end)) !== undefined) return true;
  }
  return false;
}

export function observe(of: ServedResource, { metadata }: ApiObject, round: number): ObservedObject {
  return {
    apiVersion: apiVersionOf(of),
    kind: of.kind,
    namespace: metadata.namespace ?? "",
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    owners: metadata.ownerReferences ?? [],
    isBeingDeleted: metadata.deletionTimestamp !== undefined,
    deletesDependents: deletesDependents(metadata),
    orphansDependents: orphansDependents(metadata),
    round,
    isForeign: !of.isLocal,
  };
}
