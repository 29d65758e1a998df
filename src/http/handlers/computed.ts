/** GET of objects that are computed when they are requested, single or as a collection. */
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { notFound } from "#meta/status-error.ts";
import type { Reply } from "../api-request.ts";
import { computedListReply, objectReply } from "../object-reply.ts";
import { listOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { selectedOf } from "../selection.ts";

export function getComputed(scope: Scope, objects: readonly Unstructured[]): Reply {
  const { definition, name, parts, request } = scope;
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw notFound(definition, name);
  const { kind } = definition;
  return objectReply(scope, negotiated, 200, { kind, apiVersion: apiVersionOf(definition), ...object }, undefined);
}

export function listComputed(scope: Scope, objects: readonly Unstructured[]): Reply {
  const { parts, request } = scope;
  const selected = selectedOf(scope.definition, listOptions(request.query, parts), objects);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const metadata = { resourceVersion: String(parts.cache.revision) };
  return computedListReply(scope, negotiated, metadata, selected);
}
