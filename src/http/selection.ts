/** Selectors of a request as a filter on stored entries, and the single object that a field selector may name. */
import { parseFieldSelector, parseLabelSelector } from "#meta/selector.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { EntryFilter } from "#registry/store.ts";
import type { StoredObjects } from "#registry/stored-object.ts";

export interface Selection {
  readonly filter: EntryFilter;
  /** The name or namespace every match must have. */
  readonly name: string | undefined;
  readonly namespace: string | undefined;
}

const noLabels = {};

/** Throws `badRequest` for selectors that cannot be read or name unknown fields. */
export function selectionOf(
  definition: ResourceDefinition,
  objects: StoredObjects,
  labelText: string,
  fieldText: string,
): Selection {
  const labels = parseLabelSelector(labelText);
  const fields = parseFieldSelector(fieldText, {
    fields: definition.selectableFields,
    aliases: definition.fieldAliases,
    namespaced: definition.namespaced,
    saysFields: definition.declaresFields === true,
  });
  const name = fields.exact("metadata.name");
  const namespace = fields.exact("metadata.namespace");
  if (fields.empty && labels.empty) return { filter: undefined, name, namespace };
  if (fields.empty) {
    return { filter: (entry) => labels.matches(objects.view(entry).labels ?? noLabels), name, namespace };
  }
  const { namespaced } = definition;
  return {
    filter: (entry) => {
      if (!labels.empty && !labels.matches(objects.view(entry).labels ?? noLabels)) return false;
      const { key } = entry;
      const slash = key.lastIndexOf("/");
      const inNamespace = namespaced ? key.slice(key.lastIndexOf("/", slash - 1) + 1, slash) : "";
      return fields.matches(key.slice(slash + 1), inNamespace, () => objects.fields(definition, entry));
    },
    name,
    namespace,
  };
}
