/** GET of objects that are made at the time of the request, alone and as a collection. */
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { notFound, wrongView } from "#meta/status-error.ts";
import type { Reply } from "../api-request.ts";
import { metaApiVersion, objectReply, tableRequest, typeName, valueReply } from "../object-reply.ts";
import { listOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { partialObject, tableText } from "../table.ts";

export function getComputed(scope: Scope, objects: readonly Unstructured[]): Reply {
  const { definition, name, parts, request } = scope;
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw notFound(definition, name);
  const { kind } = definition;
  return objectReply(scope, negotiated, 200, { kind, apiVersion: apiVersionOf(definition), ...object }, undefined);
}

export function listComputed(scope: Scope, objects: readonly Unstructured[]): Reply {
  const { definition, parts, request } = scope;
  listOptions(request.query, parts.domain);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const metadata = { resourceVersion: String(parts.cache.revision) };
  switch (negotiated.transform) {
    case "Table":
      return valueReply(negotiated, 200, JSON.parse(tableText(tableRequest(scope, negotiated), metadata, objects)));
    case "PartialObjectMetadata":
      throw wrongView(negotiated.transform, true, typeName(definition, definition.listKind));
    case "PartialObjectMetadataList": {
      const apiVersion = metaApiVersion(scope, negotiated);
      const items = objects.map((object) => partialObject(object, apiVersion));
      return valueReply(negotiated, 200, { kind: negotiated.transform, apiVersion, metadata, items });
    }
    default: {
      const { listKind: kind } = definition;
      return valueReply(negotiated, 200, { kind, apiVersion: apiVersionOf(definition), metadata, items: objects });
    }
  }
}
