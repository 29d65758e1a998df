/** CSIStorageCapacity: the free space of a storage class in a part of the cluster. */
import type { CSIStorageCapacity } from "#api/storage/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { parseQuantity } from "#meta/quantity.ts";
import { checkName } from "../checks.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { labelWarnings, nodeLabels, requirementWarnings } from "../node-labels.ts";

export function csiStorageCapacities({ domain }: KindEnvironment): KindBehaviour<CSIStorageCapacity> {
  const warnings = topologyWarnings(domain);
  return {
    strategy: {
      validate,
      validateUpdate: (object, old) => [...validate(object), ...validateUpdate(object, old)],
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
    },
  };
}

const topologyPath = FieldPath.of("nodeTopology");

/** Returns findings. Upstream: `maximumVolumeSize` may be negative. */
function validate({ storageClassName, capacity, nodeTopology }: CSIStorageCapacity): FieldError[] {
  const errors = nodeTopology === undefined ? [] : validateLabelSelector(nodeTopology, topologyPath);
  checkName(storageClassName, dns1123Subdomain, FieldPath.of("storageClassName"), errors);
  if (capacity !== undefined && (parseQuantity(capacity)?.unscaled ?? 0n) < 0n) {
    errors.push(invalid(FieldPath.of("capacity"), capacity, "must be greater than or equal to 0"));
  }
  return errors;
}

function validateUpdate(object: CSIStorageCapacity, old: CSIStorageCapacity): FieldError[] {
  const { nodeTopology: topology } = object;
  const isSame = jsonEquals(topology ?? null, old.nodeTopology ?? null);
  return [
    ...(isSame ? [] : [invalid(topologyPath, topology, "field is immutable")]),
    ...validateImmutable(object, old, ["storageClassName"]),
  ];
}

function topologyWarnings(domain: ApiDomain): (object: CSIStorageCapacity) => string[] {
  const labels = nodeLabels(domain);
  return ({ nodeTopology }) => [
    ...requirementWarnings(nodeTopology?.matchExpressions, topologyPath.child("matchExpressions"), labels),
    ...labelWarnings(
      Object.keys(nodeTopology?.matchLabels ?? {}),
      (label) => topologyPath.child("matchLabels", label),
      labels,
    ),
  ];
}
