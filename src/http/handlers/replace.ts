/**
 * The compare-and-swap half of PUT and PATCH: ownership and admission see the object that is about to be replaced, in
 * every try anew.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import type { Stored } from "#registry/store.ts";
import type { WriteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { withOwnership } from "../write-steps.ts";

export async function replaceObject(
  scope: Scope,
  options: WriteOptions,
  attributes: WriteAttributes,
  write: {
    readonly allowCreate: boolean;
    /** The new object, given the present one. */
    next(current: ApiObject | undefined): ApiObject;
  },
): Promise<Stored & { readonly created: boolean }> {
  const { parts, definition, store, context } = scope;
  const admission = (object: ApiObject, oldObject: ApiObject | undefined) => ({
    context,
    definition,
    namespace: scope.namespace,
    name: scope.name,
    subresource: scope.subresource,
    operation: oldObject === undefined ? ("CREATE" as const) : ("UPDATE" as const),
    object,
    oldObject,
    dryRun: options.dryRun,
  });
  return store.update(scope.namespace, scope.name, attributes, {
    allowCreate: write.allowCreate,
    transform(current) {
      const next = withOwnership(scope, current, write.next(current), options);
      return parts.admission.admit(admission(next, current));
    },
    validate: (object, old) => parts.admission.validate(admission(object, old)),
  });
}
