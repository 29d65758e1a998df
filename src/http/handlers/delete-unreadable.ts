/**
 * DELETE of an object that cannot be decoded or decrypted, behind the gate `AllowUnsafeMalformedObjectDeletion`. It
 * needs a permission of its own, and ignores everything that would have to be read, such as finalizers and
 * preconditions.
 */
import { metaGroup } from "#meta/api-domain.ts";
import { invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { forbidden, invalidObject, type ResourceName, StatusError, unreadableObjects } from "#meta/status-error.ts";
import { attributesOf } from "../filters/authorize.ts";
import type { Scope } from "../scope.ts";

/** Upstream's maximum number of unreadable objects that an error names. */
const namedMax = 100;
const verb = "unsafe-delete-ignore-read-errors";
const option = FieldPath.of("ignoreStoreReadErrorWithClusterBreakingPotential");

/** Removes the object; throws if it can be read after all. `admit` gets its name only. */
export async function deleteUnreadable(scope: Scope, admit: (last: Unstructured) => Promise<void>): Promise<void> {
  const { parts, context, definition, store, namespace, name } = scope;
  context.annotate(parts.domain.rename("apiserver.k8s.io/unsafe-delete-ignore-read-error"), "");
  const { decision, reason } = await parts.authorizer.authorize({ ...attributesOf(scope.request), verb });
  if (decision !== "allow") {
    throw forbidden(definition, name, `not permitted to do ${JSON.stringify(verb)}, reason: ${reason}`);
  }
  const readable = (): StatusError =>
    refusalOf(definition, name, "is exclusively used to delete corrupt object(s), try again by removing this option");
  await store.removeUnreadable(namespace, name, readable, admit, context);
}

/**
 * Does `work` on a collection. Behind the gate, the error of a failure names the objects that cannot be read, up to a
 * maximum.
 */
export async function namingUnreadable<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
  const { parts, definition, store, namespace } = scope;
  try {
    return await work();
  } catch (error) {
    if (!parts.forcedDeletion || !(error instanceof StatusError) || error.status.code !== 500) throw error;
    const damaged = store.findDamaged(namespace, namedMax);
    throw damaged.length === 0 ? error : unreadableObjects(definition, damaged);
  }
}

/** The refusal for collections, whose objects are never deleted without reading them. */
export function collectionRefusal({ parts }: Scope): StatusError {
  const kind = { group: metaGroup(parts.domain), resource: "DeleteOptions" };
  return refusalOf(kind, "", "is not allowed with DELETECOLLECTION, try again after removing the option");
}

/** Refuses the option. Upstream: the invalid object is named by its resource, or is the options. */
const refusalOf = ({ group, resource }: ResourceName, name: string, why: string): StatusError =>
  invalidObject({ group, kind: resource }, name, [invalid(option, true, why)]);
