/** POST of an object. */
import { badRequest } from "#meta/status-error.ts";
import type { Reply } from "../api-request.ts";
import { objectReply } from "../object-reply.ts";
import { writeOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { dedupedOwners, inNamespace, readObject, withOwnership, writeAttributes } from "../write-steps.ts";

export async function createObject(scope: Scope): Promise<Reply> {
  const { request, parts, store, definition, context } = scope;
  const options = writeOptions(request.query, "CreateOptions", parts.domain);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const body = await readObject(scope, options);
  if (!["", undefined].includes(body.metadata.resourceVersion)) {
    throw badRequest("resourceVersion should not be set on objects to be created");
  }
  let object = dedupedOwners(scope, definition.namespaced ? inNamespace(scope, body) : body);
  object = withOwnership(scope, undefined, object, options);
  const attributes = {
    context,
    definition,
    namespace: scope.namespace,
    name: object.metadata.name ?? "",
    subresource: scope.subresource,
    operation: "CREATE" as const,
    oldObject: undefined,
    dryRun: options.dryRun,
  };
  object = await parts.admission.admit({ ...attributes, object });
  const stored = await store.create(object, writeAttributes(scope, options), (candidate) =>
    parts.admission.validate({ ...attributes, object: candidate }),
  );
  return objectReply(scope, negotiated, 201, stored.object, stored.entry);
}
