/** VolumeAttributesClass: named volume settings for a storage driver; immutable. */
import type { VolumeAttributesClass } from "#api/storage/v1beta1.ts";
import { defaultClassCheck } from "#meta/default-class.ts";
import { type FieldError, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { forbidUpdates } from "../immutable.ts";
import { checkParameters, checkProvisioner } from "./class-rules.ts";

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
        ...validate(object),
        ...forbidUpdates(object, old, ["driverName", "parameters"]),
      ],
    },
  };
}

function validate({ driverName, parameters = {} }: VolumeAttributesClass): FieldError[] {
  const errors: FieldError[] = [];
  checkProvisioner(driverName, FieldPath.of("driverName"), errors);
  const path = FieldPath.of("parameters");
  if (Object.keys(parameters).length > 0) checkParameters(parameters, path, errors);
  else errors.push(required(path, "must contain at least one key/value pair"));
  return errors;
}
