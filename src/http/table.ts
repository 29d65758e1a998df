/** The Table view of objects: the kind's columns, and one row for each object. Source: upstream's table convertor. */
import { invalid, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type Unstructured, withoutAnnotations } from "#meta/object-meta.ts";
import { badRequest } from "#meta/status-error.ts";
import type { Column, ResourceDefinition, RowCondition } from "#registry/resource-definition.ts";

/** The object in a row, beside its cells. */
type IncludeObject = "None" | "Metadata" | "Object";

/** Reads `includeObject`; throws `badRequest` for other values. */
export function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get("includeObject") ?? "";
  if (value === "") return "Metadata";
  if (value === "None" || value === "Metadata" || value === "Object") return value;
  const error = invalid(FieldPath.of("includeObject"), value, "must be 'Metadata', 'Object', 'None', or empty");
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
  /** The version of the Table, and of the metadata in it. */
  readonly apiVersion: string;
  readonly include: IncludeObject;
  readonly nowMs: number;
}

/** Returns the Table of one object. `withColumns` is false for all but the first event of a watch. */
export const tableOf = (table: TableRequest, object: Unstructured, withColumns = true): object => ({
  kind: "Table",
  apiVersion: table.apiVersion,
  // An object of a dry run has no version.
  metadata: object.metadata.resourceVersion === undefined ? {} : { resourceVersion: object.metadata.resourceVersion },
  columnDefinitions: withColumns ? columnDefinitions(table.definition) : null,
  rows: [tableRow(table, object)],
});

/** The column definitions of a Table. */
export const columnDefinitions = (definition: ResourceDefinition): readonly Omit<Column, "cell">[] =>
  columnsOf(definition).map(({ cell: _cell, ...shown }) => shown);

function columnsOf(definition: ResourceDefinition): readonly Column[] {
  return definition.columns.length === 0 ? defaultColumns : definition.columns;
}

/** Returns the row of an object. */
export function tableRow({ definition, apiVersion, include, nowMs }: TableRequest, object: Unstructured): object {
  const cells = columnsOf(definition).map((column) => column.cell(object, nowMs) ?? null);
  const conditions = conditionsOf(definition, object);
  const row = conditions === undefined ? { cells } : { cells, conditions };
  if (include === "Object") return { ...row, object };
  return { ...row, object: include === "Metadata" ? partialObject(object, definition, apiVersion) : null };
}

/** Returns the row of an object as JSON text; `metadata` is the text of its metadata. */
export function rowText(table: TableRequest, object: Unstructured, metadata: () => string): string {
  const { definition, apiVersion, include, nowMs } = table;
  const cells = columnsOf(definition).map((column) => column.cell(object, nowMs) ?? null);
  let shown = "null";
  if (include === "Object") shown = JSON.stringify(object);
  else if (include === "Metadata") shown = partialText(() => object, definition, metadata, apiVersion);
  const conditions = conditionsOf(definition, object);
  const remarks = conditions === undefined ? "" : `"conditions":${JSON.stringify(conditions)},`;
  return `{"cells":${JSON.stringify(cells)},${remarks}"object":${shown}}`;
}

/** Returns the conditions of a row; `undefined` if it has none. */
function conditionsOf(
  { rowConditions }: ResourceDefinition,
  object: Unstructured,
): readonly RowCondition[] | undefined {
  const conditions = rowConditions?.(object);
  return conditions?.length === 0 ? undefined : conditions;
}

/** Returns an object with metadata alone. */
export const partialObject = (
  { metadata }: Unstructured,
  { fieldAnnotations }: ResourceDefinition,
  apiVersion: string,
): Unstructured => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata:
    fieldAnnotations === undefined ? metadata : withoutAnnotations(metadata, (name) => fieldAnnotations.includes(name)),
});

/** Returns an object with metadata alone as JSON text; `metadata` is the text of its metadata. */
export const partialText = (
  object: () => Unstructured,
  definition: ResourceDefinition,
  metadata: () => string,
  apiVersion: string,
): string =>
  definition.fieldAnnotations === undefined
    ? `{"kind":"PartialObjectMetadata","apiVersion":"${apiVersion}","metadata":${metadata()}}`
    : JSON.stringify(partialObject(object(), definition, apiVersion));
