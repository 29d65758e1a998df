/**
 * NamespaceExists and NamespaceAutoProvision: the first refuses writes in a namespace that does not exist, as
 * NamespaceLifecycle does; the second creates the namespace. Source of rules: the answers of kube-apiserver.
 */
import type { Namespace } from "#api/core/v1.ts";
import { notFound, StatusError } from "#meta/status-error.ts";
import { type AdmissionAttributes, type AdmissionPlugin, refusal } from "./plugin.ts";

interface NamespaceOptions {
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
}

interface AutoProvisionOptions extends NamespaceOptions {
  /** Creates a namespace as the server itself. Rejects with `StatusError`. */
  create(name: string): Promise<unknown>;
}

/** Whether the request needs a namespace that is not there. */
const isMissing = ({ namespace, kind }: AdmissionAttributes, { getNamespace }: NamespaceOptions): boolean =>
  namespace !== "" && !(kind.group === "" && kind.kind === "Namespace") && getNamespace(namespace) === undefined;

export const namespaceExists = (options: NamespaceOptions): AdmissionPlugin => ({
  name: "NamespaceExists",
  operations: ["CREATE", "UPDATE", "DELETE"],
  validate(attributes) {
    if (!isMissing(attributes, options)) return;
    throw notFound({ group: "", resource: "namespaces" }, attributes.namespace);
  },
});

/** The namespace stays when the write is refused afterwards. */
export const namespaceAutoProvision = (options: AutoProvisionOptions): AdmissionPlugin => ({
  name: "NamespaceAutoProvision",
  operations: ["CREATE"],
  admit: (attributes) =>
    attributes.dryRun || !isMissing(attributes, options) ? undefined : provide(attributes, options),
});

async function provide(attributes: AdmissionAttributes, { create }: AutoProvisionOptions): Promise<undefined> {
  try {
    await create(attributes.namespace);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.status.reason !== "AlreadyExists") throw refusal(attributes, error.status.message ?? "");
  }
  return undefined;
}
