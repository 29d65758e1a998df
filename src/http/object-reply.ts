/**
 * Objects and lists as replies, in the form the client negotiated. Plain JSON is the stored bytes; every other form
 * (another version's fields, Table, metadata only, YAML, indented) is made from the decoded object.
 */
import { encodePrettyJson } from "#codec/json.ts";
import { encodeYaml } from "#codec/yaml.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { wrongView } from "#meta/status-error.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Listed } from "#registry/store.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Reply } from "./api-request.ts";
import { largeBytes } from "./large-requests.ts";
import { isJoinable, type ListMeta, listPieces } from "./list-body.ts";
import { jsonWriter, ListChunks, type ListForm, prettyWriter, yamlWriter } from "./list-chunks.ts";
import type { Negotiated } from "./negotiation.ts";
import type { Scope } from "./scope.ts";
import {
  columnDefinitions,
  emptyRowsAreNull,
  includeObjectOf,
  partialObject,
  partialText,
  rowText,
  type TableRequest,
  tableRow,
  tableText,
  tableVersion,
} from "./table.ts";

/** Answer with one object; `entry` is absent after a dry run. */
export function objectReply(
  scope: Scope,
  negotiated: Negotiated,
  code: number,
  object: Unstructured,
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
export function listReply(scope: Scope, negotiated: Negotiated, listed: Listed): MaybePromise<Reply> {
  const { definition, parts, request } = scope;
  const meta: ListMeta = {
    resourceVersion: String(listed.revision),
    ...(listed.continue === "" ? {} : { continue: listed.continue }),
    ...(listed.remainingItemCount === undefined ? {} : { remainingItemCount: listed.remainingItemCount }),
  };
  if (negotiated.transform === "PartialObjectMetadata") {
    throw wrongView(negotiated.transform, true, typeName(definition, definition.listKind));
  }
  // Upstream: lists of custom resources always have a token, the last chunk an empty one.
  const listMeta = definition.origin === "custom" ? { ...meta, continue: listed.continue } : meta;
  const isJson = negotiated.mediaType === "application/json" && !negotiated.pretty;
  if (negotiated.transform === "" && isJson && isJoinable(definition)) {
    const pieces = listPieces(definition, parts.objects, listMeta, listed.entries, parts.clock);
    return andThen(pieces, (made) => ({
      code: 200,
      pieces: made,
      contentType: "application/json",
      compressible: true,
    }));
  }
  for (const entry of listed.entries) parts.objects.checkShape(definition, entry);
  const form = listForm(scope, negotiated, negotiated.transform === "" ? listMeta : meta);
  const { large, clock } = parts;
  const largeYaml = large === undefined ? undefined : (json: Buffer) => large.yaml(json, request);
  const writer = isJson
    ? jsonWriter(form)
    : negotiated.pretty
      ? prettyWriter(form)
      : yamlWriter(form, { clock, largeYaml, largeBytes });
  return chunkedReply(scope, negotiated, new ListChunks(writer, listed.entries, clock));
}

async function chunkedReply({ request }: Scope, negotiated: Negotiated, list: ListChunks): Promise<Reply> {
  const reply = { code: 200, contentType: negotiated.mediaType, compressible: true };
  const chunks = await list.begin();
  if (request.audit === undefined) return { ...reply, chunks };
  // What is recorded is there as a whole.
  const bytes: Buffer[] = [];
  for await (const piece of chunks) bytes.push(piece);
  return { ...reply, bytes };
}

/** What a list shows that is not the stored bytes. */
function listForm(scope: Scope, negotiated: Negotiated, metadata: ListMeta): ListForm {
  const { definition, parts } = scope;
  const objectOf = (entry: Entry): Unstructured => parts.objects.object(definition, entry);
  switch (negotiated.transform) {
    case "Table": {
      const table = tableRequest(scope, negotiated);
      const columns = columnDefinitions(definition);
      return {
        members: { kind: "Table", apiVersion: tableVersion(table), metadata, columnDefinitions: columns },
        itemsKey: "rows",
        emptyIsNull: emptyRowsAreNull(definition),
        value: (entry) => tableRow(table, objectOf(entry)),
        text: (entry) => rowText(table, objectOf(entry)),
      };
    }
    case "PartialObjectMetadataList": {
      const apiVersion = metaApiVersion(scope, negotiated);
      return {
        members: { kind: "PartialObjectMetadataList", apiVersion, metadata },
        itemsKey: "items",
        emptyIsNull: true,
        value: (entry) => partialObject(objectOf(entry), apiVersion),
        text: (entry) => partialText(objectOf(entry), apiVersion),
      };
    }
    default:
      return {
        members: { kind: definition.listKind, apiVersion: apiVersionOf(definition), metadata },
        itemsKey: "items",
        emptyIsNull: false,
        value(entry) {
          const object = objectOf(entry);
          if (definition.origin === "custom") return object;
          const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
          return rest;
        },
      };
  }
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
