/** Names of resources of nodes, quotas and devices, and their quantities. Source: the answers of kube-apiserver. */
import { perDomain } from "#meta/api-domain.ts";
import { type FieldError, GoSyntax, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { integerQuantity, parseQuantity } from "#meta/quantity.ts";

const ofMachines = ["cpu", "memory", "ephemeral-storage"];
const inMachines: readonly string[] = ofMachines.flatMap((name) => [name, `requests.${name}`, `limits.${name}`]);
const countedNames: ReadonlySet<string> = new Set([
  "pods",
  "services",
  "replicationcontrollers",
  "resourcequotas",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
]);
const quotaNames: ReadonlySet<string> = new Set([...inMachines, ...countedNames, "requests.storage"]);
const knownNames: ReadonlySet<string> = new Set([...quotaNames, "storage"]);

const isHugePages = (name: string): boolean => name.startsWith("hugepages-") || name.startsWith("requests.hugepages-");

/** Whether quotas may have a name without a prefix. */
export const isQuotaName = (name: string): boolean => quotaNames.has(name) || isHugePages(name);

/** The prefix `kubernetes.io/` in the server's domain. */
export type OwnPrefix = string;

/** Returns the prefix of the names that Kubernetes itself gives. */
export const ownPrefix = perDomain(({ rename }): OwnPrefix => rename("kubernetes.io/"));

/** Whether a resource is native; names of other resources have a foreign prefix. */
export const isNative = (name: string, own: OwnPrefix): boolean => !name.includes("/") || name.includes(own);

const isExtended = (name: string, own: OwnPrefix): boolean =>
  !isNative(name, own) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;

export function validateResourceName(name: string, path: FieldPath): FieldError[] {
  if (knownNames.has(name)) return []; // this is the usual case
  const errors = qualifiedName(name).map((message) => invalid(path, new GoSyntax(name), message));
  if (errors.length > 0 || name.includes("/") || isHugePages(name)) return errors;
  return [invalid(path, new GoSyntax(name), "must be a standard resource type or fully qualified")];
}

export function validateQuotaName(name: string, path: FieldPath): FieldError[] {
  const errors = validateResourceName(name, path);
  if (name.includes("/") || isQuotaName(name)) return errors;
  return [...errors, invalid(path, new GoSyntax(name), "must be a standard resource for quota")];
}

export function validateContainerResourceName(name: string, path: FieldPath, own: OwnPrefix): FieldError[] {
  const errors = validateResourceName(name, path);
  if (!name.includes("/")) {
    if (ofMachines.includes(name) || name.startsWith("hugepages-")) return errors;
    return [...errors, invalid(path, new GoSyntax(name), "must be a standard resource for containers")];
  }
  if (isNative(name, own) || isExtended(name, own)) return errors;
  return [...errors, invalid(path, new GoSyntax(name), "doesn't follow extended resource name standard")];
}

/**
 * Returns findings about the quantity of a resource. It must not be negative, and must be whole for countable
 * resources. Hot path: nearly all quantities have no minus.
 */
export function validateResourceQuantity(name: string, text: string, path: FieldPath, own: OwnPrefix): FieldError[] {
  const isCounted = countedNames.has(name) || isExtended(name, own);
  if (!isCounted && !text.includes("-")) return [];
  const quantity = parseQuantity(text);
  if (quantity === undefined) return []; // the schema has refused the text
  const errors: FieldError[] = [];
  if (quantity.unscaled < 0n) {
    errors.push(invalid(path, text, "must be greater than or equal to 0"));
  }
  if (isCounted && integerQuantity(quantity, "milli") % 1000n !== 0n) {
    errors.push(invalid(path, text, "must be an integer"));
  }
  return errors;
}
