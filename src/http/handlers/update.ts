/** PUT of an object, or of its status. */
import { checkUid } from "#registry/store.ts";
import type { Reply } from "../api-request.ts";
import { objectReply } from "../object-reply.ts";
import { writeOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { checkName, dropDuplicateOwners, inNamespace, readObject, writeAttributes } from "../write-steps.ts";
import { replaceObject } from "./replace.ts";

export async function updateObject(scope: Scope): Promise<Reply> {
  const { request, parts, definition, store } = scope;
  const options = writeOptions(request.query, "UpdateOptions", parts.domain);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const body = await readObject(scope, options);
  const placed = inNamespace(scope, body.object);
  checkName(scope, placed);
  const object = dropDuplicateOwners(scope, placed);
  const stored = await replaceObject(scope, options, writeAttributes(scope, options), {
    allowCreate: definition.createOnUpdate && scope.subresource === "",
    uid: object.metadata.uid,
    next(current) {
      // The uid is a precondition as it was sent; one that plugins change is immutable.
      if (current !== undefined) checkUid(store.definition, object, current);
      return { ...body, object };
    },
  });
  return objectReply(scope, negotiated, stored.created ? 201 : 200, stored.object, stored.entry);
}
