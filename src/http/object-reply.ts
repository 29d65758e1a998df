/**
 * Objects and lists as replies, in the form the client negotiated. Plain JSON is the stored bytes; every other form
 * (another version's fields, Table, metadata only, YAML, indented) is made from the decoded object.
 */
import { encodePrettyJson } from "#codec/json.ts";
import { encodeYaml } from "#codec/yaml.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { wrongView } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Listed } from "#registry/store.ts";
import type { Entry } from "#storage/backend.ts";
import type { Reply } from "./api-request.ts";
import { type ListMeta, listPieces } from "./list-body.ts";
import type { Negotiated } from "./negotiation.ts";
import type { Scope } from "./scope.ts";
import { includeObjectOf, partialText, type TableRequest, tableText } from "./table.ts";

/** Answer with one object; `entry` is absent after a dry run. */
export function objectReply(
  scope: Scope,
  negotiated: Negotiated,
  code: number,
  object: ApiObject,
  entry: Entry | undefined,
): Reply {
  const { definition, parts } = scope;
  if (negotiated.transform === "Table") {
    const meta = { resourceVersion: object.metadata.resourceVersion ?? "" };
    return textReply(negotiated, code, tableText(tableRequest(scope, negotiated), meta, [object]));
  }
  if (negotiated.transform === "PartialObjectMetadata") {
    return textReply(negotiated, code, partialText(object, metaApiVersion(scope, negotiated)));
  }
  if (negotiated.transform === "PartialObjectMetadataList") {
    throw wrongView(negotiated.transform, false, typeName(definition, definition.kind));
  }
  if (negotiated.mediaType === "application/json" && !negotiated.pretty) {
    const bytes =
      entry === undefined ? Buffer.from(`${JSON.stringify(object)}\n`) : parts.objects.servedBytes(definition, entry);
    return { code, bytes, contentType: "application/json", compressible: true };
  }
  return valueReply(negotiated, code, object);
}

/** Answer with a collection. */
export function listReply(scope: Scope, negotiated: Negotiated, listed: Listed): Reply {
  const { definition, parts } = scope;
  const meta: ListMeta = {
    resourceVersion: String(listed.revision),
    ...(listed.continue === "" ? {} : { continue: listed.continue }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
  const objects = (): ApiObject[] => listed.entries.map((entry) => parts.objects.object(definition, entry));
  if (negotiated.transform === "Table") {
    return textReply(negotiated, 200, tableText(tableRequest(scope, negotiated), meta, objects()));
  }
  if (negotiated.transform === "PartialObjectMetadataList") {
    const apiVersion = metaApiVersion(scope, negotiated);
    const items = objects().map((object) => partialText(object, apiVersion));
    const head = `{"kind":"PartialObjectMetadataList","apiVersion":"${apiVersion}","metadata":${JSON.stringify(meta)}`;
    return textReply(negotiated, 200, `${head},"items":${items.length === 0 ? "null" : `[${items.join(",")}]`}}`);
  }
  if (negotiated.transform === "PartialObjectMetadata") {
    throw wrongView(negotiated.transform, true, typeName(definition, definition.listKind));
  }
  const apiVersion = apiVersionOf(definition);
  // Upstream: lists of custom resources always have a token, the last chunk an empty one.
  const listMeta = definition.origin === "custom" ? { ...meta, continue: listed.continue } : meta;
  if (negotiated.mediaType === "application/json" && !negotiated.pretty) {
    const pieces = listPieces(definition, parts.objects, apiVersion, listMeta, listed.entries);
    return { code: 200, pieces, contentType: "application/json", compressible: true };
  }
  const items = objects().map((object) => {
    if (definition.origin === "custom") return object;
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    return rest;
  });
  return valueReply(negotiated, 200, { kind: definition.listKind, apiVersion, metadata: listMeta, items });
}

/** Upstream: the Go type of what was asked for. */
export function typeName(definition: ResourceDefinition, kind: string): string {
  if (definition.origin === "custom")
    return kind === definition.kind ? "unstructured.Unstructured" : "unstructured.UnstructuredList";
  return `${definition.version}.${kind}`;
}

export function tableRequest(scope: Scope, negotiated: Negotiated): TableRequest {
  return {
    definition: scope.definition,
    domain: scope.parts.domain,
    version: negotiated.version,
    include: includeObjectOf(scope.request.query),
    nowMs: scope.parts.clock.now(),
  };
}

export function metaApiVersion(scope: Scope, negotiated: Negotiated): string {
  return `${scope.parts.domain.rename("meta.k8s.io")}/${negotiated.version}`;
}

/** Any JSON value in the negotiated media type. */
export function valueReply(negotiated: Negotiated, code: number, value: unknown): Reply {
  if (negotiated.mediaType === "application/yaml") {
    return { code, bytes: encodeYaml(value), contentType: "application/yaml", compressible: true };
  }
  const bytes = negotiated.pretty ? encodePrettyJson(value) : Buffer.from(`${JSON.stringify(value)}\n`);
  return { code, bytes, contentType: "application/json", compressible: true };
}

function textReply(negotiated: Negotiated, code: number, text: string): Reply {
  if (negotiated.mediaType === "application/yaml" || negotiated.pretty) {
    return valueReply(negotiated, code, JSON.parse(text));
  }
  return { code, bytes: Buffer.from(`${text}\n`), contentType: "application/json", compressible: true };
}
