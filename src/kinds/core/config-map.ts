/** ConfigMap: configuration data that is not secret. */
import type { ConfigMap } from "#api/core/v1.ts";
import { type FieldError, invalid, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { configKey } from "#meta/names.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkName } from "../checks.ts";
import { base64Bytes, dataBytesMax, validateFrozen } from "../data-keys.ts";
import type { KindBehaviour } from "../generic.ts";

export function configMaps(): KindBehaviour<ConfigMap> {
  return {
    columns: [
      nameColumn,
      text(
        "Data",
        "Number of keys, of texts and of binary data.",
        ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
      ),
      ageColumn,
    ],
    strategy: {
      validate,
      validateUpdate: (object, old) => [...validateFrozen(object, old, ["data", "binaryData"]), ...validate(object)],
    },
  };
}

const dataPath = FieldPath.of("data");
const binaryPath = FieldPath.of("binaryData");

function validate({ data = {}, binaryData = {} }: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    checkName(key, configKey, dataPath.key(key), errors);
    if (Object.hasOwn(binaryData, key)) {
      errors.push(invalid(dataPath.key(key), key, "duplicate of key present in binaryData"));
    }
    bytes += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    checkName(key, configKey, binaryPath.key(key), errors);
    bytes += base64Bytes(value);
  }
  // Upstream: this is the printed path of the whole object.
  if (bytes > dataBytesMax) errors.push(tooLong(FieldPath.of("[]"), dataBytesMax));
  return errors;
}
