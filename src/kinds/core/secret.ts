/** Secret: data with a type, of which some ask for certain keys. Values are base64 on the wire. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, invalid, required, tooLong } from "#meta/field-error.ts";
import { configKey } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { base64Bytes, dataBytesMax, frozenMessage } from "../data-keys.ts";
import { textField, textsField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function secrets(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const accountAnnotation = rename("kubernetes.io/service-account.name");
  const types: ReadonlyMap<string, (object: Unstructured, data: Data) => FieldError[]> = new Map([
    [
      rename("kubernetes.io/service-account-token"),
      (object) =>
        (object.metadata.annotations?.[accountAnnotation] ?? "") === ""
          ? [required(`metadata.annotations[${accountAnnotation}]`)]
          : [],
    ],
    [rename("kubernetes.io/dockercfg"), (_object, data) => requireJson(data, ".dockercfg")],
    [rename("kubernetes.io/dockerconfigjson"), (_object, data) => requireJson(data, ".dockerconfigjson")],
    [
      rename("kubernetes.io/basic-auth"),
      (_object, data) =>
        Object.hasOwn(data, "username") || Object.hasOwn(data, "password")
          ? []
          : [required("data[username]"), required("data[password]")],
    ],
    [
      rename("kubernetes.io/ssh-auth"),
      (_object, data) => ((data["ssh-privatekey"] ?? "") === "" ? [required("data[ssh-privatekey]")] : []),
    ],
    [
      rename("kubernetes.io/tls"),
      (_object, data) =>
        ["tls.crt", "tls.key"].filter((key) => !Object.hasOwn(data, key)).map((key) => required(`data[${key}]`)),
    ],
  ]);
  const validate = (object: Unstructured): FieldError[] => {
    const data = textsField(object, "data") ?? {};
    return [...validateData(data), ...(types.get(textField(object, "type"))?.(object, data) ?? [])];
  };
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Type", "What kind of secret it is.", (object) => textField(object, "type")),
      text("Data", "Number of keys.", (object) => Object.keys(textsField(object, "data") ?? {}).length),
      ageColumn,
    ],
    strategy: {
      defaults,
      validate,
      validateUpdate: (object, old) => [...validateKept(object, old), ...validate(object)],
      fields: (object) => ({ type: textField(object, "type") }),
    },
  };
}

type Data = Readonly<Record<string, string>>;

/** `stringData` is for writing only: its texts become data. */
function defaults(object: Unstructured): Unstructured {
  const { stringData: _texts, ...rest } = object;
  const texts = textsField(object, "stringData");
  const next: Unstructured = object["stringData"] === undefined ? object : rest;
  const typed = textField(next, "type") === "" ? { ...next, type: "Opaque" } : next;
  if (texts === undefined || Object.keys(texts).length === 0) return typed;
  const merged = new Map(Object.entries(textsField(typed, "data") ?? {}));
  for (const [key, value] of Object.entries(texts)) merged.set(key, Buffer.from(value).toString("base64"));
  return { ...typed, data: Object.fromEntries([...merged].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

function validateData(data: Data): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    for (const message of configKey(key)) errors.push(invalid(`data[${key}]`, key, message));
    bytes += base64Bytes(value);
  }
  if (bytes > dataBytesMax) errors.push(tooLong("data", dataBytesMax));
  return errors;
}

function requireJson(data: Data, key: string): FieldError[] {
  const field = `data[${key}]`;
  if (!Object.hasOwn(data, key)) return [required(field)];
  const problem = jsonProblem(Buffer.from(data[key]!, "base64").toString());
  return problem === undefined ? [] : [invalid(field, "<secret contents redacted>", problem)];
}

/** Why a text is no JSON object, in words that tell nothing of it. */
function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return "unexpected end of JSON input";
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && !Array.isArray(value);
    if (isObject) return undefined;
    const kind = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
    return `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
  } catch {
    const first = text.trimStart()[0]!;
    return '{["0123456789-tfn'.includes(first)
      ? "unexpected end of JSON input"
      : `invalid character '${first}' looking for beginning of value`;
  }
}

function validateKept(object: Unstructured, old: Unstructured): FieldError[] {
  const errors: FieldError[] = [];
  const type = textField(object, "type");
  if (type !== textField(old, "type")) errors.push(invalid("type", type, "field is immutable"));
  if (old["immutable"] !== true) return errors;
  if (object["immutable"] !== true) errors.push(forbidden("immutable", frozenMessage));
  const isSame = jsonEquals(textsField(object, "data") ?? {}, textsField(old, "data") ?? {});
  if (!isSame) errors.push(forbidden("data", frozenMessage));
  return errors;
}
