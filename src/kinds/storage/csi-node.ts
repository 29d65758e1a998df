/** CSINode: the storage drivers of a node. */
import type { CSINode, CSINodeDriver } from "#api/storage/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { checkName, checkNotNegative, checkUnique, type Errors } from "../checks.ts";
import { checkDriverName } from "../core/pod-validation/volume-sources.ts";
import type { KindBehaviour } from "../generic.ts";

export function csiNodes(): KindBehaviour<CSINode> {
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      integer("Drivers", "How many drivers the node has.", ({ spec }) => spec.drivers?.length ?? 0),
      ageColumn,
    ],
    strategy: {
      validate: ({ spec }) => validateDrivers(spec.drivers ?? []),
      validateUpdate({ spec }, old) {
        const drivers = spec.drivers ?? [];
        return [...validateDrivers(drivers), ...validateChanges(drivers, old.spec.drivers ?? [])];
      },
    },
  };
}

const driversPath = FieldPath.of("spec", "drivers");
const nodeIdBytesMax = 256;

function validateDrivers(drivers: readonly CSINodeDriver[]): FieldError[] {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, driver] of drivers.entries()) {
    const path = driversPath.index(i);
    const { name, nodeID, allocatable } = driver;
    checkDriverName(name, path.child("name"), errors);
    if (nodeID === "") errors.push(required(path.child("nodeID")));
    else if (Buffer.byteLength(nodeID) > nodeIdBytesMax) {
      errors.push(invalid(path.child("nodeID"), nodeID, `must be ${nodeIdBytesMax} characters or less`));
    }
    checkNotNegative(allocatable?.count, path.child("allocatable", "count"), errors);
    checkUnique(name, names, path.child("name"), errors);
    checkTopologyKeys(driver, path, errors);
  }
  return errors;
}

/** Checks topology keys. `path` is the path of the driver, since upstream does not name the wrong key. */
function checkTopologyKeys({ topologyKeys }: CSINodeDriver, path: FieldPath, errors: Errors): void {
  const keys = new Set<string>();
  for (const key of topologyKeys ?? []) {
    if (key === "") errors.push(required(path));
    checkUnique(key, keys, path, errors);
    checkName(key, qualifiedName, path, errors);
  }
}

/** Returns findings about changed drivers: a driver that stays in the list is immutable. */
function validateChanges(drivers: readonly CSINodeDriver[], old: readonly CSINodeDriver[]): FieldError[] {
  const before = Map.groupBy(old, ({ name }) => name);
  return drivers.flatMap((driver) => {
    const oldDriver = before.get(driver.name);
    return oldDriver === undefined || oldDriver.some((stored) => jsonEquals(driver, stored))
      ? []
      : [invalid(FieldPath.of("CSINodeDriver"), driver, "field is immutable")];
  });
}
