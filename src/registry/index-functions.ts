/**
 * Turns selectors into what indexes of the storage understand: functions that return a label or a selectable field of an
 * entry, and the values that a selector wants. The indexes only narrow the search; the selector itself decides.
 */
import type { FieldSelector, LabelSelector } from "#meta/selector.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { IndexFunction, IndexMatch } from "#storage/watch-cache.ts";
import type { ResourceDefinition } from "./resource-definition.ts";
import type { StoredObjects } from "./stored-object.ts";

/** The maximum number of values of one requirement that are looked up. */
const valuesMax = 16;

/** The fields that the keys of entries show, so that they need no index. */
const keyFields: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace"]);

/**
 * Returns the values that every match has, fields first. There are none where a webhook converts the objects, because its
 * answers may change.
 */
export function indexMatches(
  objects: StoredObjects,
  definition: ResourceDefinition,
  labels: LabelSelector,
  fields: FieldSelector,
): readonly IndexMatch[] {
  if (definition.conversion?.webhook !== undefined) return [];
  const matches: IndexMatch[] = [];
  for (const { field, operator, value } of fields.requirements) {
    if (operator === "=" && !keyFields.has(field))
      matches.push({ by: fieldIndex(objects, definition, field), values: [value] });
  }
  for (const { key, operator, values } of labels.requirements) {
    const isWanted = operator === "=" || operator === "==" || operator === "in";
    if (isWanted && values.length <= valuesMax) matches.push({ by: labelIndex(objects, definition, key), values });
  }
  return matches;
}

function labelIndex(objects: StoredObjects, definition: ResourceDefinition, label: string): IndexFunction {
  return {
    name: `label ${label}`,
    valueOf(entry, isKept) {
      const labels = isKept ? objects.labels(definition, entry) : objects.peekLabels(entry);
      const value: unknown = labels?.[label];
      return typeof value === "string" ? value : undefined;
    },
  };
}

/** Returns the function for a field. Objects have all fields; one that is not set is "". */
function fieldIndex(objects: StoredObjects, definition: ResourceDefinition, field: string): IndexFunction {
  return {
    // Versions, and schemas with other defaults, may show other values.
    name: `field ${apiVersionOf(definition)}${definition.custom?.epoch.name ?? ""} ${field}`,
    valueOf(entry, isKept) {
      const values = isKept ? objects.fields(definition, entry) : objects.peekFields(definition, entry);
      return Object.hasOwn(values, field) ? values[field]! : "";
    },
  };
}
