/** Definitions of subresources whose bodies are objects of another kind (`scale`, `token`), for handlers. */
import { typedDecoder } from "#registry/object-decoder.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { Column, ResourceDefinition, Strategy } from "#registry/resource-definition.ts";
import type { HandlerParts } from "./scope.ts";

const views = new WeakMap<ResourceDefinition, Map<string, ResourceDefinition>>();

/** Returns the definition of the other kind, in place of that of the resource; made once for each definition. */
export function viewKind(
  of: ResourceDefinition,
  { group, version, kind }: GroupVersionKind,
  parts: HandlerParts,
  columns: () => readonly Column[] = () => [],
  strategy: Strategy = {},
): ResourceDefinition {
  let cached = views.get(of);
  if (cached === undefined) {
    cached = new Map();
    views.set(of, cached);
  }
  let view = cached.get(kind);
  if (view === undefined) {
    const { resource, singular, namespaced, stored, nameRule } = of;
    const storage = { group, version, kind, resource };
    const schema = parts.schemaOf({ group, version, kind });
    view = {
      ...storage,
      singular,
      listKind: `${kind}List`,
      namespaced,
      verbs: [],
      shortNames: [],
      categories: [],
      subresources: [],
      schema,
      decoder: typedDecoder(() => schema),
      storage,
      storageVersionHash: "",
      stored,
      nameRule,
      generation: false,
      defaultPropagation: "Background",
      returnDeletedObject: false,
      createOnUpdate: false,
      unconditionalUpdate: true,
      selectableFields: [],
      fieldAliases: {},
      columns: columns(),
      strategy,
    };
    cached.set(kind, view);
  }
  return view;
}
