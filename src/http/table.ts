/** The Table view of objects: columns of the kind, one row an object. Source: upstream's table convertor. */
import type { ApiDomain } from "#meta/api-domain.ts";
import { invalid, printFieldError } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest } from "#meta/status-error.ts";
import type { Column, ResourceDefinition } from "#registry/resource-definition.ts";
import type { ListMeta } from "./list-body.ts";

/** What stands beside the cells of a row. */
export type IncludeObject = "None" | "Metadata" | "Object";

/** Reads `includeObject`; throws `badRequest` for other values. */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  const error = invalid("includeObject", value, "must be 'Metadata', 'Object', 'None', or empty");
  throw badRequest(`Unable to convert to Table as requested: ${printFieldError(error)}`);
}

const defaultColumns: readonly Column[] = [
  {
    name: "Name",
    type: "string",
    format: "name",
    description: "Name of the object, unique within its scope.",
    priority: 0,
    cell: (object) => object.metadata.name ?? "",
  },
  {
    name: "Created At",
    type: "date",
    format: "",
    description: "Time at which the server created the object, in UTC.",
    priority: 0,
    cell: (object) => object.metadata.creationTimestamp ?? null,
  },
];

export interface TableRequest {
  readonly definition: ResourceDefinition;
  readonly domain: ApiDomain;
  /** `v1` or `v1beta1`. */
  readonly version: string;
  readonly include: IncludeObject;
  readonly nowMs: number;
}

/** `apiVersion` of a Table and of metadata in it. */
export const tableVersion = ({ domain, version }: TableRequest): string => `${domain.rename("meta.k8s.io")}/${version}`;

/** Text of a Table in JSON, without a newline. `withColumns` is false for all but the first event of a watch. */
export function tableText(
  request: TableRequest,
  meta: ListMeta,
  objects: readonly Unstructured[],
  withColumns = true,
): string {
  const apiVersion = tableVersion(request);
  const columns = withColumns ? columnsText(request.definition) : "null";
  const none = emptyRowsAreNull(request.definition) ? "null" : "[]";
  const rows = objects.length === 0 ? none : `[${objects.map((object) => rowText(request, object)).join(",")}]`;
  return `{"kind":"Table","apiVersion":"${apiVersion}","metadata":${JSON.stringify(meta)},"columnDefinitions":${columns},"rows":${rows}}`;
}

const columnTexts = new WeakMap<ResourceDefinition, string>();

function columnsText(definition: ResourceDefinition): string {
  let text = columnTexts.get(definition);
  if (text === undefined) {
    text = JSON.stringify(columnDefinitions(definition));
    columnTexts.set(definition, text);
  }
  return text;
}

/** The columns as a Table says them. */
export function columnDefinitions(definition: ResourceDefinition): readonly Omit<Column, "cell">[] {
  return columnsOf(definition).map(({ name, type, format, description, priority }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

/** Upstream: the two ways of making rows differ where there are none. */
export const emptyRowsAreNull = ({ origin }: ResourceDefinition): boolean => origin !== "custom";

function columnsOf(definition: ResourceDefinition): readonly Column[] {
  return definition.columns.length === 0 ? defaultColumns : definition.columns;
}

/** The row of an object. */
export function tableRow(request: TableRequest, object: Unstructured): object {
  const cells = columnsOf(request.definition).map((column) => column.cell(object, request.nowMs) ?? null);
  if (request.include === "Object") return { cells, object };
  return { cells, object: request.include === "Metadata" ? partialObject(object, tableVersion(request)) : null };
}

/** The same as text. */
export function rowText(request: TableRequest, object: Unstructured): string {
  const cells = columnsOf(request.definition).map((column) => column.cell(object, request.nowMs) ?? null);
  let shown = "null";
  if (request.include === "Object") shown = JSON.stringify(object);
  else if (request.include === "Metadata") shown = partialText(object, tableVersion(request));
  return `{"cells":${JSON.stringify(cells)},"object":${shown}}`;
}

/** An object without its content. */
export const partialObject = ({ metadata }: Unstructured, apiVersion: string): Unstructured => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata,
});

/** An object without its content, as JSON text. */
export function partialText(object: Unstructured, apiVersion: string): string {
  return `{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":${JSON.stringify(object.metadata)}}`;
}
