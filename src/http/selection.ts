/**
 * Makes a filter on stored entries from the selectors of a request, and finds the single object that a field selector
 * may name.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { type FieldSelector, parseFieldSelector, parseLabelSelector } from "#meta/selector.ts";
import { indexMatches } from "#registry/index-functions.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { EntryFilter } from "#registry/store.ts";
import type { IndexMatch } from "#storage/watch-cache.ts";
import type { ListOptions } from "./options.ts";
import type { Scope } from "./scope.ts";

interface Selection {
  readonly filter: EntryFilter;
  /** The values that every match has, by which indexes narrow the search. */
  readonly matching: readonly IndexMatch[];
  /** The name every match must have; `undefined` for any. */
  readonly name: string | undefined;
  /** The namespace that every match is in; empty for all, and for cluster-scoped resources. */
  readonly namespace: string;
}

const noLabels = {};

/** Parses a field selector. Throws `badRequest` for one that cannot be read or names unknown fields. */
function fieldSelectorOf(definition: ResourceDefinition, text: string): FieldSelector {
  return parseFieldSelector(text, {
    fields: definition.selectableFields,
    aliases: definition.fieldAliases,
    namespaced: definition.namespaced,
    declaresFields: servingRulesOf(definition).declaresFields,
    ...(definition.namesKindOfFields === true ? { kind: definition.kind } : {}),
  });
}

/**
 * Returns the objects that the selectors match, among objects that are not stored and have no namespace. Throws the
 * errors of `selectionOf`.
 */
export function selectedOf(
  definition: ResourceDefinition,
  options: Pick<ListOptions, "labelSelector" | "fieldSelector">,
  objects: readonly Unstructured[],
): readonly Unstructured[] {
  const labels = parseLabelSelector(options.labelSelector);
  const fields = fieldSelectorOf(definition, options.fieldSelector);
  return objects.filter(
    ({ metadata }) =>
      labels.matches(metadata.labels ?? noLabels) && fields.matches(metadata.name ?? "", "", () => noLabels),
  );
}

/** Reads the selectors of a request. Throws `badRequest` for selectors that cannot be read or name unknown fields. */
export function selectionOf(
  scope: Pick<Scope, "definition" | "parts" | "namespace">,
  options: Pick<ListOptions, "labelSelector" | "fieldSelector">,
): Selection {
  const { definition, parts } = scope;
  const { namespaced } = definition;
  const { objects } = parts;
  const labels = parseLabelSelector(options.labelSelector);
  const fields = fieldSelectorOf(definition, options.fieldSelector);
  const name = fields.exact("metadata.name") || undefined;
  const namespace = namespaced ? scope.namespace || (fields.exact("metadata.namespace") ?? "") : "";
  if (fields.empty && labels.empty) return { filter: undefined, matching: [], name, namespace };
  // A single object needs no index.
  const matching = name === undefined ? indexMatches(objects, definition, labels, fields) : [];
  if (fields.empty) {
    const filter: EntryFilter = (entry) => labels.matches(objects.labels(definition, entry) ?? noLabels);
    return { filter, matching, name, namespace };
  }
  return {
    matching,
    filter: (entry) => {
      if (!labels.empty && !labels.matches(objects.labels(definition, entry) ?? noLabels)) return false;
      const { key } = entry;
      const slash = key.lastIndexOf("/");
      const inNamespace = namespaced ? key.slice(key.lastIndexOf("/", slash - 1) + 1, slash) : "";
      return fields.matches(key.slice(slash + 1), inNamespace, () => objects.fields(definition, entry));
    },
    name,
    namespace,
  };
}
