/**
 * NamespaceLifecycle: refuses writes in a namespace that does not exist, creates in one that is being deleted, and the
 * deletion of the system's namespaces. Source: upstream's plugin of this name.
 */
import type { Namespace } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { forbidden, notFound, type StatusError } from "#meta/status-error.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";

interface NamespaceLifecycleOptions {
  readonly domain: ApiDomain;
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
  /** Resolves when the memory has what other servers have written. */
  refresh(): MaybePromise<void>;
}

export const namespaceLifecycleName = "NamespaceLifecycle";

const namespaces = { group: "", resource: "namespaces" };

export function namespaceLifecycle(options: NamespaceLifecycleOptions): AdmissionPlugin {
  const { domain } = options;
  const immortal = new Set(["default", domain.rename("kube-system"), domain.rename("kube-public")]);
  const reviews = domain.rename("authorization.k8s.io");
  const check = (attributes: AdmissionAttributes): MaybePromise<undefined> => {
    const { operation, kind, name, namespace, resource } = attributes;
    const isNamespace = kind.group === "" && kind.kind === "Namespace";
    if (isNamespace) {
      if (operation === "DELETE" && immortal.has(name)) {
        throw forbidden(namespaces, name, "this namespace may not be deleted");
      }
      return undefined;
    }
    if (namespace === "" || operation === "DELETE") return undefined;
    if (resource.group === reviews && resource.resource === "localsubjectaccessreviews") return undefined;
    const find = (): StatusError | undefined => {
      const found = options.getNamespace(namespace);
      return found !== undefined && operation !== "CREATE" ? undefined : refusalIn(namespace, found, attributes);
    };
    if (find() === undefined) return undefined;
    // Another server may have made the namespace, or made it anew.
    return andThen(options.refresh(), () => {
      const refused = find();
      if (refused !== undefined) throw refused;
      return undefined;
    });
  };
  return { name: namespaceLifecycleName, operations: ["CREATE", "UPDATE", "DELETE"], admit: check };
}

/** Returns the refusal of a new object in a namespace; `undefined` when the namespace takes it. */
export function refusalIn(
  name: string,
  namespace: Namespace | undefined,
  object: Parameters<typeof refusal>[0],
): StatusError | undefined {
  if (namespace === undefined) return notFound(namespaces, name);
  if (namespace.status.phase !== "Terminating") return undefined;
  return refusal(object, `unable to create new content in namespace ${name} because it is being terminated`, [
    { reason: "NamespaceTerminating", message: `namespace ${name} is being terminated`, field: "metadata.namespace" },
  ]);
}
