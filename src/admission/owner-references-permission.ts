/**
 * OwnerReferencesPermissionEnforcement: a change of owner references needs permission to delete the object, and
 * `blockOwnerDeletion` needs permission to update the owner's finalizers. Off by default. Source: upstream's plugin of
 * this name, with its messages.
 */
import { jsonEquals } from "#apply/json-value.ts";
import type { Attributes, Authorizer, Verdict } from "#authz/authorizer.ts";
import { goQuote } from "#meta/field-error.ts";
import { type GroupVersionResource, parseApiVersion } from "#meta/group-version.ts";
import type { ApiObject, OwnerReference } from "#meta/object-meta.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

interface OwnerPermissionOptions {
  readonly authorizer: Authorizer;
  /** The served resources of a kind. */
  resourcesOf(apiVersion: string, kind: string): readonly (GroupVersionResource & { readonly namespaced: boolean })[];
}

export function ownerReferencesPermission({ authorizer, resourcesOf }: OwnerPermissionOptions): AdmissionPlugin {
  const ask = (attributes: AdmissionAttributes, about: Partial<Attributes>): MaybePromise<Verdict> =>
    authorizer.authorize({ ...question(attributes), ...about });

  return {
    name: "OwnerReferencesPermissionEnforcement",
    operations: ["CREATE", "UPDATE"],
    async validate(attributes) {
      const { operation, resource, subresource, namespace, object, oldObject } = attributes;
      // Upstream: kubelets write the status of pods, and change no owners by it.
      if (isPods(resource) && subresource === "status") return;
      const owners = ownersOf(object);
      const before = ownersOf(oldObject);
      if (jsonEquals(owners, before)) return;
      // A new object may have any owners.
      const deletion = operation === "CREATE" ? undefined : await ask(attributes, { verb: "delete" });
      if (deletion !== undefined && deletion.decision !== "allow") {
        throw refusal(attributes, `cannot set an ownerRef on a resource you can't delete: ${why(deletion)}`);
      }
      const blocking = newlyBlocking(owners, before);
      if (blocking.length === 0) return;
      if ((await ask(attributes, anyFinalizers)).decision === "allow") return;
      for (const { apiVersion, kind, name } of blocking) {
        const resources = resourcesOf(apiVersion, kind);
        if (resources.length === 0) {
          throw refusal(
            attributes,
            `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}: ${noMapping(apiVersion, kind)}`,
          );
        }
        for (const { group, version, resource: owner, namespaced } of resources) {
          const owned = { group, version, resource: owner, namespace: namespaced ? namespace : "" };
          const update = await ask(attributes, { verb: "update", subresource: "finalizers", ...owned, name });
          if (update.decision === "allow") continue;
          throw refusal(
            attributes,
            `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${why(update)}`,
          );
        }
      }
    },
  };
}

const none: readonly OwnerReference[] = [];

const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? none;

/** Returns the references that block the deletion of an owner now and did not before. */
function newlyBlocking(owners: readonly OwnerReference[], before: readonly OwnerReference[]): OwnerReference[] {
  const blocked = new Set(before.filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true).map(({ uid }) => uid));
  return owners.filter(({ blockOwnerDeletion, uid }) => blockOwnerDeletion === true && !blocked.has(uid));
}

/** A question about the object that is written, without its verb. */
const question = ({ context, resource, namespace, name, subresource }: AdmissionAttributes): Attributes => ({
  user: context.user,
  isResourceRequest: true,
  path: "",
  verb: "",
  group: resource.group,
  version: resource.version,
  resource: resource.resource,
  subresource,
  namespace,
  name,
});

const anyFinalizers: Partial<Attributes> = {
  verb: "update",
  group: "*",
  version: "*",
  resource: "*",
  subresource: "finalizers",
  namespace: "",
  name: "*",
};

/** The reason and the error of a verdict, as upstream prints them. */
const why = ({ reason, error }: Verdict): string => `${reason}, ${error ?? "<nil>"}`;

function noMapping(apiVersion: string, kind: string): string {
  const { group, version } = parseApiVersion(apiVersion) ?? { group: "", version: apiVersion };
  return `no matches for kind ${goQuote(kind)} in version ${goQuote(group === "" ? version : apiVersion)}`;
}
