/** VolumeAttributesClass: named volume settings for a storage driver; immutable. */
import type { VolumeAttributesClass } from "#api/storage/v1beta1.ts";
import { defaultClassCheck } from "#meta/default-class.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { validateParameters } from "./parameters.ts";

export function volumeAttributesClasses({ domain }: KindEnvironment): KindBehaviour<VolumeAttributesClass> {
  return {
    returnsDeleted: true,
    columns: [
      classNameColumn(defaultClassCheck("VolumeAttributesClass", domain)),
      text("DriverName", "Storage driver that the settings are for.", (object) => object.driverName),
      ageColumn,
    ],
    strategy: {
      validate,
      validateUpdate: (object, old) => [
        ...validateImmutable(object, old, ["driverName", "parameters"]),
        ...validate(object),
      ],
    },
  };
}

function validate({ driverName, parameters = {} }: VolumeAttributesClass): FieldError[] {
  return [
    ...validateDriver(driverName, "driverName"),
    ...validateParameters(parameters, { field: "parameters", allowEmpty: false }),
  ];
}

function validateDriver(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  return qualifiedName(name.toLowerCase()).map((message) => invalid(field, name, message));
}
