/** VolumeAttributesClass: named settings of volumes for a storage driver; made once and never changed. */
import { defaultClassCheck } from "#meta/default-class.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { qualifiedName } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import { textField, textsField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateKept } from "../kept.ts";
import { validateParameters } from "./parameters.ts";

export function volumeAttributesClasses(environment: KindEnvironment): KindBehaviour {
  return {
    returnsDeleted: true,
    columns: [
      classNameColumn(defaultClassCheck("VolumeAttributesClass", environment.domain)),
      text("DriverName", "Storage driver that the settings are for.", (object) => textField(object, "driverName")),
      ageColumn,
    ],
    strategy: {
      validate,
      validateUpdate: (object, old) => [
        ...validateKept(object, old, ["driverName", "parameters"]),
        ...validate(object),
      ],
    },
  };
}

function validate(object: Unstructured): FieldError[] {
  return [
    ...validateDriver(textField(object, "driverName"), "driverName"),
    ...validateParameters(textsField(object, "parameters") ?? {}, { field: "parameters", allowEmpty: false }),
  ];
}

function validateDriver(name: string, field: string): FieldError[] {
  if (name === "") return [required(field)];
  return qualifiedName(name.toLowerCase()).map((message) => invalid(field, name, message));
}
