/** Secrets in output: their values are replaced by marks, which differ where the values do. */
import type { Unstructured } from "./object-meta.ts";
import { isObject } from "#std/is-object.ts";

const isSecret = ({ kind, apiVersion }: Unstructured): boolean => kind === "Secret" && apiVersion === "v1";

const applied = "kubectl.kubernetes.io/last-applied-configuration";

/** Returns two states of an object with the values of a Secret replaced by marks; other objects are as they were. */
export function masked(
  before: Unstructured | undefined,
  after: Unstructured | undefined,
): readonly [before: Unstructured | undefined, after: Unstructured | undefined] {
  return [before && maskedBeside(before, after, "before"), after && maskedBeside(after, before, "after")];
}

/** Masks one state. Values that the other state has, too, are marked as the same. */
function maskedBeside(object: Unstructured, other: Unstructured | undefined, when: string): Unstructured {
  if (!isSecret(object)) return object;
  const { annotations } = object.metadata;
  // The configuration that kubectl applied last has all values once more.
  const hasCopy = annotations !== undefined && Object.hasOwn(annotations, applied);
  const metadata = hasCopy
    ? { ...object.metadata, annotations: { ...annotations, [applied]: "***" } }
    : object.metadata;
  const fields = ["data", "stringData"].filter((field) => field in object);
  const marks = fields.map((field) => [field, marksOf(valuesOf(object, field), valuesOf(other, field), when)] as const);
  return { ...object, metadata, ...Object.fromEntries(marks) };
}

type Values = Readonly<Record<string, unknown>>;

const marksOf = (own: Values, others: Values, when: string): Values =>
  Object.fromEntries(
    Object.keys(own).map((key) => [
      key,
      Object.hasOwn(others, key) && others[key] !== own[key] ? `*** (${when})` : "***",
    ]),
  );

function valuesOf(object: Unstructured | undefined, field: string): Values {
  const values = object?.[field];
  return isObject(values) ? (values as Values) : {};
}
