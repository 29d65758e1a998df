/** DeviceClass, ResourceClaim and ResourceSlice: devices, who offers them and who wants them. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Conversion } from "#registry/resource-definition.ts";
import { ageColumn, inside, nameColumn, text } from "../cells.ts";
import { editField, editItems, type Json, listField, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { defaultClaimSpec, validateClaimSpec } from "./device-claim.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

export function deviceClasses(): KindBehaviour {
  return { columns: [nameColumn, ageColumn] };
}

export function resourceClaims(): KindBehaviour {
  const validate = (object: Unstructured): FieldError[] => validateClaimSpec(specOf(object), "spec");
  return {
    columns: [nameColumn, text("State", "What has become of the claim.", stateText), ageColumn],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultClaimSpec),
      validate,
      subresources: { status: {} },
      validateUpdate(object, old) {
        if (jsonEquals(object["spec"], old["spec"])) return validate(object);
        return [invalid("spec", object["spec"] ?? null, "field is immutable")];
      },
    },
  };
}

function stateText(object: Unstructured): string {
  const status = objectField(object, "status") ?? noFields;
  const isDeleted = object.metadata.deletionTimestamp !== undefined;
  const states = isDeleted ? ["deleted"] : [];
  if (objectField(status, "allocation") !== undefined) {
    states.push("allocated");
    if (listField(status, "reservedFor").length > 0) states.push("reserved");
  } else if (!isDeleted) states.push("pending");
  return states.join(",");
}

/** The older version has capacities as quantities, the stored one as objects that hold one. */
export function resourceSlices(version: string): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("Node", "Node that has the devices.", (object) => textField(specOf(object), "nodeName")),
      text("Driver", "Driver of the devices.", (object) => textField(specOf(object), "driver")),
      text("Pool", "Pool that the devices belong to.", (object) => textField(inside(object, "spec", "pool"), "name")),
      ageColumn,
    ],
    ...(version === "v1alpha3" ? { conversion: sliceConversion } : {}),
    strategy: {
      fields: (object) => ({
        "spec.nodeName": textField(specOf(object), "nodeName"),
        "spec.driver": textField(specOf(object), "driver"),
      }),
    },
  };
}

const sliceConversion: Conversion = {
  toHub: (object) => editCapacities(object, (quantity) => ({ value: quantity })),
  fromHub: (object) => editCapacities(object, (capacity) => (capacity as Json)["value"]), // the stored form
};

function editCapacities(object: Unstructured, change: (value: unknown) => unknown): Unstructured {
  return editField(object, "spec", (spec) =>
    editItems(spec, "devices", (device) =>
      editField(device, "basic", (basic) =>
        editField(basic, "capacity", (capacity) =>
          Object.fromEntries(Object.entries(capacity).map(([name, value]) => [name, change(value)])),
        ),
      ),
    ),
  );
}
