/**
 * The compare-and-swap half of PUT and PATCH. In every attempt, field ownership and admission are computed for the
 * object that will be replaced.
 */
import type { AdmissionAttributes } from "#admission/plugin.ts";
import type { ObjectVersions } from "#apply/managed-fields.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import type { Stored } from "#registry/store.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { attributesOf } from "../filters/authorize.ts";
import { isUnchanged } from "../is-unchanged.ts";
import { turnFor, weightOf } from "../large-requests.ts";
import type { WriteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import {
  admissionAttributes,
  markSlow,
  afterAdmission,
  checkName,
  ownershipOf,
  type Written,
  withOwnership,
} from "../write-steps.ts";

export async function replaceObject(
  scope: Scope,
  options: WriteOptions,
  attributes: WriteAttributes,
  write: {
    readonly allowCreate: boolean;
    readonly uid?: string | undefined;
    /** Returns the new object, given the current one. */
    next(current: Unstructured | undefined, versions: ObjectVersions): Written;
  },
): Promise<Stored & { readonly created: boolean }> {
  const { parts, store, name } = scope;
  const about = (object: Unstructured, oldObject: Unstructured | undefined): AdmissionAttributes =>
    admissionAttributes(scope, {
      operation: oldObject === undefined ? "CREATE" : "UPDATE",
      object,
      oldObject,
      dryRun: options.dryRun,
      name,
    });
  const stored = store.peek(scope.namespace, name)?.value;
  if (stored !== undefined) {
    parts.sizes.check(weightOf(stored));
    const waiting = turnFor(stored.length);
    if (isLate(waiting)) {
      scope.request.seats?.slow();
      await waiting;
    }
  }
  return (scope.writes ?? store).update(scope.namespace, name, attributes, {
    allowCreate: write.allowCreate,
    uid: write.uid,
    transform(current) {
      const ownership = ownershipOf(scope);
      const { versions } = ownership;
      const written = ownership.withConversions(() =>
        withOwnership(scope, current, write.next(current, versions), options, versions),
      );
      return andThen(written, (next) => {
        const admitted = markSlow(scope, parts.admission.admit(about(next, current)));
        return andThen(admitted, (changed) => {
          const object = afterAdmission(scope, next, changed);
          // An update cannot change the name either; the check of immutable fields finds that.
          if (current === undefined) checkName(scope, object);
          // Plugins may undo a change, such as that of the tolerations that each pod gets.
          else if (object !== next && isUnchanged(object, current)) return current;
          return object;
        });
      });
    },
    validate: (object, old) =>
      old === undefined
        ? andThen(checkCreateAllowed(scope), () => markSlow(scope, parts.admission.validate(about(object, old))))
        : markSlow(scope, parts.admission.validate(about(object, old))),
  });
}

/** Checks that the user may create, which a creation by another verb requires. */
function checkCreateAllowed({ parts, request }: Scope): MaybePromise<void> {
  const attributes = { ...attributesOf(request), verb: "create" };
  return andThen(parts.authorizer.authorize(attributes), ({ decision, reason }) => {
    if (decision !== "allow") throw forbiddenError(attributes, reason);
  });
}
