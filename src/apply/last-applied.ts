/**
 * The last-applied annotation of kubectl's client-side apply. Its fields count as owned when kubectl changes to
 * server-side apply; later applies update the annotation, so that kubectl can change back. Source: upstream's
 * `lastAppliedManager` and `lastAppliedUpdater`.
 */
import { annotationBytesMax } from "#meta/validate-object-meta.ts";
import { goTextOrJson } from "#schema/go-text.ts";
import type { Schema } from "#schema/schema.ts";
import { isObject } from "#std/is-object.ts";
import { difference, type FieldSet, unionAll } from "./field-set.ts";
import { type JsonObject, member } from "./json-value.ts";
import { compareTyped, fieldsOf } from "./typed-fields.ts";
import { checkApplied } from "./check-applied.ts";

/** The manager whose applies use the annotation. */
export const kubectlManager = "kubectl";

/**
 * Returns the fields in the annotation whose values are still the same; `undefined` when there is no readable
 * annotation, or it is of another version.
 */
export function lastAppliedFields(
  schema: Schema,
  live: JsonObject,
  apiVersion: string,
  annotation: string,
): FieldSet | undefined {
  const text = textOf(live, annotation);
  if (text === "") return undefined;
  let last: unknown;
  try {
    last = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(last) || last["apiVersion"] !== apiVersion || typeof last["kind"] !== "string") return undefined;
  if (checkApplied(schema, last) !== undefined) return undefined;
  const { added, modified, removed } = compareTyped(schema, last, live);
  return difference(fieldsOf(schema, last), unionAll([added, modified, removed]));
}

/**
 * Returns `object` with the applied configuration in its annotation, if it has the annotation. An annotation beyond the
 * allowed length is removed.
 */
export function withLastApplied(object: JsonObject, applied: JsonObject, annotation: string): JsonObject {
  const before = textOf(object, annotation);
  if (before === "") return object;
  const metadata = object["metadata"] as JsonObject; // an annotation was found in it
  const annotations = metadata["annotations"] as JsonObject; // the same
  const full = { ...annotations, [annotation]: lastAppliedText(applied, annotation) };
  if (full[annotation] === before) return object;
  if (byteLength(full) <= annotationBytesMax) return { ...object, metadata: { ...metadata, annotations: full } };
  const { [annotation]: _last, ...others } = annotations;
  const { annotations: _annotations, ...rest } = metadata;
  return { ...object, metadata: Object.keys(others).length === 0 ? rest : { ...rest, annotations: others } };
}

function textOf(object: JsonObject, annotation: string): string {
  const metadata = member(object, "metadata");
  const annotations = isObject(metadata) ? member(metadata, "annotations") : undefined;
  const text = isObject(annotations) ? member(annotations, annotation) : undefined;
  return typeof text === "string" ? text : "";
}

function byteLength(annotations: JsonObject): number {
  let bytes = 0;
  for (const name of Object.keys(annotations)) {
    bytes += Buffer.byteLength(name) + Buffer.byteLength(String(annotations[name]));
  }
  return bytes;
}

/** Encodes the configuration without the annotation itself as Go does: with sorted keys and a final newline. */
function lastAppliedText(applied: JsonObject, annotation: string): string {
  const metadata = member(applied, "metadata");
  const annotations = isObject(metadata) ? member(metadata, "annotations") : undefined;
  if (!isObject(metadata) || annotations === undefined) return `${goTextOrJson(applied)}\n`;
  const { annotations: _annotations, ...rest } = metadata;
  if (!isObject(annotations)) return `${goTextOrJson({ ...applied, metadata: rest })}\n`;
  const { [annotation]: _last, ...others } = annotations;
  return `${goTextOrJson({ ...applied, metadata: { ...rest, annotations: others } })}\n`;
}
