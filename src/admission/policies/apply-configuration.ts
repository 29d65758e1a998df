/**
 * Merges the apply configuration of a mutating policy into an object, as server-side apply does without field managers:
 * objects by member, keyed lists by item. Atomic parts are not allowed in it. Source: upstream's
 * `admission/plugin/policy/mutating/patch`, and the answers of kube-apiserver.
 */
import { checkApplied } from "#apply/check-applied.ts";
import type { JsonObject } from "#apply/json-value.ts";
import { mergeApplied } from "#apply/merge-applied.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { isObject } from "#std/is-object.ts";

/** The reason why a configuration cannot be merged, in upstream's words. */
export class ConfigurationProblem extends Error {}

/**
 * Returns the object with the configuration merged in; it still has to be read by its schema. Throws
 * `ConfigurationProblem`.
 */
export function applyConfiguration(schema: Schema, object: ApiObject, configuration: JsonObject): unknown {
  const { apiVersion: _version, kind: _kind, ...applied } = configuration;
  const finding = checkApplied(schema, applied);
  if (finding !== undefined) {
    throw new ConfigurationProblem(`error applying patch: failed to convert patch object to typed object: ${finding}`);
  }
  const atomic: string[] = [];
  findAtomic(schema, applied, FieldPath.root, atomic);
  if (atomic.length > 0) {
    const paths = atomic.join(", ");
    throw new ConfigurationProblem(
      `error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${paths}`,
    );
  }
  return mergeApplied(schema, object, applied);
}

/**
 * Adds the paths of values that have no parts of their own, as upstream prints them. `schema` is right about the value.
 */
function findAtomic(schema: Schema, value: unknown, path: FieldPath, atomicPaths: string[]): void {
  if (schema.type === "array" && Array.isArray(value)) {
    if (schema.listType !== "map" && schema.listType !== "set") atomicPaths.push(`.${String(path)}`);
    else if (schema.items !== undefined) {
      for (const [at, item] of value.entries()) findAtomic(schema.items, item, path.index(at), atomicPaths);
    }
    return;
  }
  if ((schema.type !== "object" && schema.type !== "map") || !isObject(value)) return;
  if (schema.mapType === "atomic") {
    atomicPaths.push(`.${String(path)}`);
    return;
  }
  for (const [key, member] of Object.entries(value)) {
    const inner = schema.type === "map" ? schema.items : schema.fields?.get(key)?.schema;
    if (inner !== undefined) findAtomic(inner, member, path.child(key), atomicPaths);
  }
}
