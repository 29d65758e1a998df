/** DELETE of one object and of a collection. */
import type { DeleteOptions } from "#api/meta/v1.ts";
import { decodeObject } from "#codec/object.ts";
import { metaGroup } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { CheckedDeleteOptions } from "#registry/delete-options.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { Deleted } from "#registry/store.ts";
import type { Int64 } from "#std/int64.ts";
import type { Reply } from "../api-request.ts";
import { listReply, objectReply, valueReply } from "../object-reply.ts";
import { largeBytes } from "../large-requests.ts";
import { deleteOptions, listOptions, sentDeleteOptions } from "../options.ts";
import type { Scope } from "../scope.ts";
import { admissionAttributes, markSlow } from "../write-steps.ts";
import { collectionRefusal, deleteUnreadable, namingUnreadable } from "./delete-unreadable.ts";
import { listRequest } from "./list.ts";

export async function deleteObject(scope: Scope): Promise<Reply> {
  const { request, parts, definition, name } = scope;
  const options = await readOptions(scope);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  if (options.ignoreStoreReadError) {
    await deleteUnreadable(scope, (last) => admitDeletion(scope, last, options, undefined, name));
    return valueReply(negotiated, 200, successStatus(scope, name));
  }
  warn(scope, options);
  const deleted = await remove(scope, name, options);
  if (deleted.removed && !definition.returnDeletedObject) {
    return valueReply(negotiated, 200, successStatus(scope, name, deleted.object.metadata.uid));
  }
  // Upstream: 202 only for the deprecated option by which dependents are deleted first.
  const code = !deleted.removed && options.orphanDependents === false ? 202 : 200;
  return objectReply(scope, negotiated, code, deleted.object, deleted.removed ? undefined : deleted.entry);
}

export async function deleteCollection(scope: Scope): Promise<Reply> {
  const { request, parts, store } = scope;
  const list = listOptions(request.query, parts);
  const options = await readOptions(scope);
  if (options.ignoreStoreReadError) throw collectionRefusal(scope);
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  request.seats?.slow();
  warn(scope, options);
  const deleted = await namingUnreadable(scope, () =>
    store.deleteCollection(listRequest(scope, list), (object) =>
      remove({ ...scope, namespace: object.metadata.namespace ?? "" }, object.metadata.name ?? "", options, true),
    ),
  );
  if (servingRulesOf(scope.definition).returnsDeletedList) return listReply(scope, negotiated, deleted);
  return valueReply(negotiated, 200, { ...successStatus(scope), code: 200 });
}

function warn({ definition: { strategy }, context }: Scope, options: CheckedDeleteOptions): void {
  for (const text of strategy.warningsOnDelete?.(options) ?? []) context.warn(text);
}

/** Deletes an object. Plugins are not given the name of one of a collection. */
function remove(scope: Scope, name: string, options: CheckedDeleteOptions, isOfMany = false): Promise<Deleted> {
  const { store, definition } = scope;
  return store.delete(scope.namespace, name, {
    ...options,
    isOfMany,
    caller: scope.context,
    admit(old: Unstructured) {
      const { gracePeriodSeconds } = options;
      const graceSeconds = definition.strategy.graceSeconds?.(old, gracePeriodSeconds) ?? gracePeriodSeconds;
      return admitDeletion(
        scope,
        old,
        definition.strategy.terminate === undefined || isOfMany ? options : ofThisObject(options, old),
        graceSeconds,
        isOfMany ? "" : name,
      );
    },
  });
}

/** Adds the uid to the preconditions, as upstream does for kinds with their own way to terminate. */
const ofThisObject = (options: CheckedDeleteOptions, { metadata: { uid } }: Unstructured): CheckedDeleteOptions => ({
  ...options,
  preconditions: { ...(uid === undefined ? {} : { uid }), ...options.preconditions },
});

async function admitDeletion(
  scope: Scope,
  old: Unstructured,
  options: CheckedDeleteOptions,
  graceSeconds: Int64 | undefined,
  name: string,
): Promise<void> {
  const { parts } = scope;
  const about = admissionAttributes(scope, {
    operation: "DELETE",
    object: undefined,
    oldObject: old,
    dryRun: options.dryRun,
    name,
    options: sentDeleteOptions(options, graceSeconds, parts.domain),
  });
  await markSlow(scope, parts.admission.admit(about));
  await markSlow(scope, parts.admission.validate(about));
}

async function readOptions(scope: Scope): Promise<CheckedDeleteOptions> {
  const { request, parts, definition } = scope;
  const bytes = await request.body(largeBytes, parts.bodyLimitBytes);
  if (bytes.length === 0) return deleteOptions(request.query, undefined, parts);
  const encoding = parts.negotiator.body(request.headers["content-type"]);
  const { object } = decodeObject({
    bytes,
    encoding,
    schema: parts.deleteOptionsSchema,
    gvk: { group: "", version: "v1", kind: "DeleteOptions" },
    // Options may name the group of the object or that of meta types; a body without a type counts as options.
    accepted: [
      { group: metaGroup(parts.domain), version: "v1", kind: "DeleteOptions" },
      { group: definition.group, version: definition.version, kind: "DeleteOptions" },
    ],
    fieldValidation: "Ignore",
    isOptions: true,
  });
  // Upstream: the audit log has the options in the internal version, whatever version was sent.
  const apiVersion = `${metaGroup(parts.domain)}/__internal`;
  request.audit?.sent({ ...object, apiVersion } as Unstructured); // decoded by its schema
  return deleteOptions(request.query, object as unknown as DeleteOptions, parts); // decoded by its schema
}

/** The Status of success. Upstream leaves out its code when one object was deleted. */
function successStatus({ definition: { group, resource } }: Scope, name?: string, uid?: string): object {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      ...(name === undefined ? {} : { name }),
      ...(group === "" ? {} : { group }),
      kind: resource,
      ...(uid === undefined ? {} : { uid }),
    },
  };
}
