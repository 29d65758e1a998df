/** VolumeAttributesClass: named volume settings for a storage driver; immutable. */
import type { VolumeAttributesClass } from "#api/storage/v1beta1.ts";
import { defaultClassCheck } from "#meta/default-class.ts";
import { type FieldError, invalid, required, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { qualifiedName } from "#meta/names.ts";
import { ageColumn, classNameColumn, text } from "../cells.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

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
  return [...validateDriver(driverName), ...validateParameters(parameters)];
}

function validateDriver(name: string): FieldError[] {
  if (name === "") return [required(FieldPath.of("driverName"))];
  return qualifiedName(name.toLowerCase()).map((message) => invalid(FieldPath.of("driverName"), name, message));
}

const entriesMax = 512;
const bytesMax = 256 * 1024;

function validateParameters(parameters: Readonly<Record<string, string>>): FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length === 0) return [required(FieldPath.of("parameters"), "must contain at least one key/value pair")];
  if (entries.length > entriesMax) return [tooLong(FieldPath.of("parameters"), entriesMax)];
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === "") errors.push(invalid(FieldPath.of("parameters"), key, "field can not be empty."));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > bytesMax) errors.push(tooLong(FieldPath.of("parameters"), bytesMax));
  return errors;
}
