/**
 * Table columns of custom kinds: the name, then the definition's JSONPath columns, or the age when it has none. Source:
 * upstream's `customresource/tableconvertor`.
 */
import type { CustomResourceColumnDefinition } from "#api/apiextensions/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { fieldText } from "#meta/field-texts.ts";
import { humanDuration } from "#meta/human-duration.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { parseTime } from "#meta/time.ts";
import type { Column } from "#registry/resource-definition.ts";
import { goTextOrJson } from "#schema/go-text.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import { parseJsonPath, wholeOf } from "#schema/jsonpath.ts";

/**
 * The columns of a version. Upstream: a path that cannot be read ends them, and those before it are shown.
 * Descriptions of the columns every kind has are what clients of a 1.32 server see.
 */
export function printerColumns(
  columns: readonly CustomResourceColumnDefinition[] | undefined,
  domain: ApiDomain,
): readonly Column[] {
  const name: Column = {
    name: "Name",
    type: "string",
    format: "name",
    description: fieldText(domain, "name"),
    priority: 0,
    cell: (object) => object.metadata.name ?? "",
  };
  if (columns === undefined || columns.length === 0) return [name, ageColumn(domain)];
  const read: Column[] = [name];
  for (const column of columns) {
    const printerColumn = columnOf(column);
    if (printerColumn === undefined) return read;
    read.push(printerColumn);
  }
  return read;
}

/** Returns the default age column of kinds without columns. */
function ageColumn(domain: ApiDomain): Column {
  const path = ".metadata.creationTimestamp";
  // The path is valid, since it is a constant.
  return columnOf({ name: "Age", type: "date", description: fieldText(domain, "creationTimestamp"), jsonPath: path })!;
}

function columnOf(column: CustomResourceColumnDefinition): Column | undefined {
  const { name, type, format = "", description = "", priority = 0, jsonPath } = column;
  const path = parseJsonPath(jsonPath);
  if (path === undefined) return undefined;
  return {
    name,
    type: type as Column["type"], // one of them, or the definition would not have been accepted
    format,
    description:
      description === "" ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description,
    priority,
    cell(object: Unstructured, nowMs: number): unknown {
      const values = path.find(object);
      if (values === undefined || values.length === 0) return null;
      const [value] = values;
      if (type !== "string") return cellOf(type, value, nowMs);
      return value === null ? "<no value>" : goTextOrJson(value);
    },
  };
}

/** Returns a value in a column that is not a text; null when the value has another type. */
function cellOf(type: string, value: unknown, nowMs: number): unknown {
  switch (type) {
    case "integer":
      return wholePart(value);
    case "number":
      if (typeof value === "number") return value;
      return isRawNumber(value) ? Number(value.rawJSON) : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? sinceText(value, nowMs) : null;
    default:
      return null;
  }
}

function wholePart(value: unknown): unknown {
  if (typeof value === "number") return Math.trunc(value);
  if (!isRawNumber(value)) return null;
  if (wholeOf(value.rawJSON) !== undefined) return value;
  const number = Math.trunc(Number(value.rawJSON));
  return Number.isSafeInteger(number) ? number : outOfRange;
}

/** The result of a Go conversion that overflows. */
const outOfRange = rawNumber("-9223372036854775808");

function sinceText(time: string, nowMs: number): string {
  if (time === "" || time === "null") return "<unknown>";
  const instant = parseTime(time);
  if (typeof instant === "string") return "<invalid>";
  // The first instant of year 1 means that there is no time.
  if (instant.seconds === -62135596800 && instant.nanos === 0) return "<unknown>";
  return humanDuration(nowMs - (instant.seconds * 1000 + instant.nanos / 1e6));
}
