/** Table columns and cells shared by several kinds. Source: upstream's `printers/internalversion`. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import { ageOf } from "#meta/human-duration.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";

const column =
  (type: Column["type"], priority: number) =>
  <T extends ApiObject = Unstructured>(
    name: string,
    description: string,
    cell: (object: T, nowMs: number) => unknown,
  ): Column<T> => ({
    name,
    type,
    format: "",
    description,
    priority,
    cell,
  });

/** Makes a column of texts. Its cells may be numbers where upstream's are numbers. */
export const text = column("string", 0);
export const integer = column("integer", 0);
export const flag = column("boolean", 0);
/** Makes a column that is shown in wide output only. */
export const wideText = column("string", 1);

export const nameColumn: Column<ApiObject> = {
  ...text<ApiObject>("Name", "Name of the object, unique within its scope.", (object) => object.metadata.name ?? ""),
  format: "name",
};

/** Makes the column of the name of a class, with a mark at the default class. */
export function classNameColumn<T extends ApiObject>(isDefault: (object: T) => boolean): Column<T> {
  const cell = (object: T): string => `${object.metadata.name ?? ""}${isDefault(object) ? " (default)" : ""}`;
  return { ...nameColumn, cell };
}

export const ageColumn: Column<ApiObject> = text(
  "Age",
  "Time since the server created the object.",
  (object: ApiObject, nowMs) => ageOf(object.metadata.creationTimestamp, nowMs),
);

export const createdColumn: Column<ApiObject> = column("date", 0)(
  "Created At",
  "Time at which the server created the object, in UTC.",
  (object: ApiObject) => object.metadata.creationTimestamp ?? null,
);

/**
 * Returns the columns for a form of objects that are shown as another form: `toOther` converts an object to this form.
 */
export const columnsOf = <T extends ApiObject, Other extends ApiObject>(
  columns: readonly Column<Other>[],
  toOther: (object: T) => Other,
): readonly Column<T>[] =>
  columns.map((column) => ({ ...column, cell: (object, nowMs) => column.cell(toOther(object), nowMs) }));

export const orNone = (value: unknown): unknown =>
  value === undefined || value === null || value === "" ? "<none>" : value;

/** Returns the `k=v` pairs of labels in the order of the keys. */
export function labelsText(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? "<none>" : pairs.sort().join(",");
}

/** Returns at most `max` of the texts, and how many more there are; `none` if there are no texts. */
export function firstOf(texts: readonly string[], max: number, none: string): string {
  if (texts.length === 0) return none;
  const more = texts.length - max;
  return texts.slice(0, max).join(",") + (more > 0 ? ` + ${more} more...` : "");
}

/** Makes the columns of the names and images of the containers that pods made from a template have. */
export function containerColumns<T extends ApiObject>(
  templateOf: (object: T) => PodTemplateSpec | undefined,
): readonly Column<T>[] {
  const all = (key: "name" | "image") => (object: T) =>
    (templateOf(object)?.spec.containers ?? []).map((container) => container[key] ?? "").join(",");
  return [
    wideText("Containers", "Names of the containers in the template.", all("name")),
    wideText("Images", "Images of the containers in the template.", all("image")),
  ];
}

/** Returns access modes in their short form, in upstream's order. */
export const accessModesText = (modes: readonly string[] = []): string =>
  shortModes
    .filter(([mode]) => modes.includes(mode))
    .map(([, short]) => short)
    .join(",");

const shortModes = [
  ["ReadWriteOnce", "RWO"],
  ["ReadOnlyMany", "ROX"],
  ["ReadWriteMany", "RWX"],
  ["ReadWriteOncePod", "RWOP"],
] as const;
