/** ConfigMap: configuration data that is not secret. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, tooLong } from "#meta/field-error.ts";
import { configKey } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { base64Bytes, dataBytesMax, frozenMessage } from "../data-keys.ts";
import { textsField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function configMaps(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Data", "Number of keys, of texts and of binary data.", (object) => {
        const count = (name: string) => Object.keys(textsField(object, name) ?? {}).length;
        return count("data") + count("binaryData");
      }),
      ageColumn,
    ],
    strategy: {
      validate,
      validateUpdate: (object, old) => [...validateFrozen(object, old), ...validate(object)],
    },
  };
}

function validate(object: Unstructured): FieldError[] {
  const errors: FieldError[] = [];
  const binary = textsField(object, "binaryData") ?? {};
  let bytes = 0;
  for (const [key, value] of Object.entries(textsField(object, "data") ?? {})) {
    for (const message of configKey(key)) errors.push(invalid(`data[${key}]`, key, message));
    if (Object.hasOwn(binary, key)) {
      errors.push(invalid(`data[${key}]`, key, "duplicate of key present in binaryData"));
    }
    bytes += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binary)) {
    for (const message of configKey(key)) errors.push(invalid(`binaryData[${key}]`, key, message));
    bytes += base64Bytes(value);
  }
  // Upstream: the path of the whole object prints like this.
  if (bytes > dataBytesMax) errors.push(tooLong("[]", dataBytesMax));
  return errors;
}

function validateFrozen(object: Unstructured, old: Unstructured): FieldError[] {
  if (old["immutable"] !== true) return [];
  const errors: FieldError[] = [];
  if (object["immutable"] !== true) errors.push(forbidden("immutable", frozenMessage));
  for (const field of ["data", "binaryData"]) {
    const isSame = jsonEquals(textsField(object, field) ?? {}, textsField(old, field) ?? {});
    if (!isSame) errors.push(forbidden(field, frozenMessage));
  }
  return errors;
}
