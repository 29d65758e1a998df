/**
 * NamespaceLifecycle: refuses writes in a namespace that does not exist, creates in one that is being deleted, and the
 * deletion of the system's namespaces. Source: upstream's plugin of this name.
 */
import type { Namespace } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { forbidden, notFound } from "#meta/status-error.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";

interface NamespaceLifecycleOptions {
  readonly domain: ApiDomain;
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
}

const namespaces = { group: "", resource: "namespaces" };

export function namespaceLifecycle(options: NamespaceLifecycleOptions): AdmissionPlugin {
  const { domain } = options;
  const immortal = new Set(["default", domain.rename("kube-system"), domain.rename("kube-public")]);
  const reviews = domain.rename("authorization.k8s.io");
  const check = (attributes: AdmissionAttributes): undefined => {
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
    const namespaceObject = options.getNamespace(namespace);
    if (namespaceObject === undefined) throw notFound(namespaces, namespace);
    if (operation === "CREATE" && namespaceObject.status.phase === "Terminating") {
      throw refusal(
        attributes,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      );
    }
    return undefined;
  };
  return { name: "NamespaceLifecycle", operations: ["CREATE", "UPDATE", "DELETE"], admit: check };
}
