/**
 * The compare-and-swap half of PUT and PATCH: ownership and admission see the object that is about to be replaced, in
 * every try anew.
 */
import type { AdmissionAttributes } from "#admission/plugin.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { WriteAttributes } from "#registry/resource-definition.ts";
import type { Stored } from "#registry/store.ts";
import { forbiddenError } from "#authz/forbidden.ts";
import { andThen, type Soon } from "#std/soon.ts";
import { inTurns, largeBytes, paced, turn } from "#std/turn.ts";
import { attributesOf } from "../filters/authorize.ts";
import type { WriteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { admissionAttributes, ownershipSteps, type Written } from "../write-steps.ts";

export async function replaceObject(
  scope: Scope,
  options: WriteOptions,
  attributes: WriteAttributes,
  write: {
    readonly allowCreate: boolean;
    readonly uidIsPrecondition: boolean;
    /** The body is so large that others are to have turns meanwhile. A large present object is reason enough, too. */
    readonly isLarge: boolean;
    /** The new object, given the present one. */
    next(current: ApiObject | undefined, isLarge: boolean): Soon<Written>;
  },
): Promise<Stored & { readonly created: boolean }> {
  const { parts, store, name } = scope;
  const about = (object: ApiObject, oldObject: ApiObject | undefined): AdmissionAttributes =>
    admissionAttributes(scope, {
      operation: oldObject === undefined ? "CREATE" : "UPDATE",
      object,
      oldObject,
      dryRun: options.dryRun,
      name,
    });
  const isLarge = write.isLarge || (store.peek(scope.namespace, name)?.value.length ?? 0) > largeBytes;
  const compiling = scope.definition.custom?.compiling?.();
  if (compiling !== undefined) await inTurns(compiling);
  const paused = (next: () => Soon<void>): Soon<void> => (isLarge ? turn().then(next) : next());
  const stored = await (scope.writes ?? store).update(scope.namespace, name, attributes, {
    allowCreate: write.allowCreate,
    uidIsPrecondition: write.uidIsPrecondition,
    transform: (current) =>
      andThen(write.next(current, isLarge), (written) =>
        andThen(paced(ownershipSteps(scope, current, written, options), isLarge), (next) => {
          const admitted = andThen(parts.admission.admit(about(next, current)), (object) => object ?? next);
          return isLarge ? aheadOf(scope, admitted, current) : admitted;
        }),
      ),
    validate: (object, old) =>
      paused(() =>
        old === undefined
          ? andThen(checkCreateAllowed(scope), () => parts.admission.validate(about(object, old)))
          : parts.admission.validate(about(object, old)),
      ),
  });
  if (isLarge) await turn();
  return stored;
}

/** The object, once what takes long in checking it is done in steps. */
async function aheadOf(scope: Scope, admitted: Soon<ApiObject>, current: ApiObject | undefined): Promise<ApiObject> {
  await turn();
  const object = await admitted;
  const ahead = scope.definition.strategy.checkAhead?.(object, current);
  if (ahead !== undefined) await inTurns(ahead);
  return object;
}

/** Who creates by another verb must be allowed to create. */
function checkCreateAllowed({ parts, request }: Scope): Soon<void> {
  const attributes = { ...attributesOf(request), verb: "create" };
  return andThen(parts.authorizer.authorize(attributes), ({ decision, reason }) => {
    if (decision !== "allow") throw forbiddenError(attributes, reason);
  });
}
