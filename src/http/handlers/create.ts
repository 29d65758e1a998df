/** POST of an object. */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Reply } from "../api-request.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { objectReply } from "../object-reply.ts";
import { writeOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import {
  admissionAttributes,
  markSlow,
  afterAdmission,
  dropDuplicateOwners,
  inNamespace,
  ownershipOf,
  readObject,
  withOwnership,
  withoutSystemFields,
  writeAttributes,
} from "../write-steps.ts";

export async function createObject(scope: Scope): Promise<Reply> {
  const { request, parts, store } = scope;
  const options = writeOptions(request.query, "CreateOptions", parts.domain);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const body = await readObject(scope, options);
  const named = dropDuplicateOwners(scope, inNamespace(scope, withoutSystemFields(body.object)));
  const ownership = ownershipOf(scope);
  let object = await ownership.withConversions(() =>
    withOwnership(scope, undefined, { ...body, object: named }, options, ownership.versions),
  );
  const name = object.metadata.name ?? "";
  const { admission } = parts;
  const about = { operation: "CREATE", oldObject: undefined, dryRun: options.dryRun, name } as const;
  object = afterAdmission(
    scope,
    object,
    await markSlow(scope, admission.admit(admissionAttributes(scope, { ...about, object }))),
  );
  // A generated name is known at this point. A plugin that changes the name of the object changes no request.
  const validate = (candidate: Unstructured): MaybePromise<void> =>
    markSlow(
      scope,
      admission.validate(
        admissionAttributes(scope, {
          ...about,
          ...(name === "" ? { name: candidate.metadata.name ?? "", isNameGenerated: true } : {}),
          object: candidate,
        }),
      ),
    );
  const stored = await store.create(object, writeAttributes(scope, options), validate);
  return objectReply(scope, negotiated, 201, stored.object, stored.entry);
}
