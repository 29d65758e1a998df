/** Secret: data with a type; some types need certain keys. Values are base64 on the wire. */
import type { Secret } from "#api/core/v1.ts";
import { type FieldError, invalid, required, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { configKey } from "#meta/names.ts";
import { kindOf } from "#schema/mismatch.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkName } from "../checks.ts";
import { base64Bytes, dataBytesMax, validateFrozen } from "../data-keys.ts";
import { fillZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { keyPairProblem } from "./tls-key-pair.ts";

export function secrets(environment: KindEnvironment): KindBehaviour<Secret> {
  const { rename } = environment.domain;
  const accountAnnotation = rename("kubernetes.io/service-account.name");
  const types: ReadonlyMap<string, (object: Secret, data: Data) => FieldError[]> = new Map([
    [
      rename("kubernetes.io/service-account-token"),
      (object) =>
        (object.metadata.annotations?.[accountAnnotation] ?? "") === ""
          ? [required(FieldPath.of("metadata", "annotations").key(accountAnnotation))]
          : [],
    ],
    [rename("kubernetes.io/dockercfg"), (_object, data) => requireJson(data, ".dockercfg")],
    [rename("kubernetes.io/dockerconfigjson"), (_object, data) => requireJson(data, ".dockerconfigjson")],
    [
      rename("kubernetes.io/basic-auth"),
      (_object, data) =>
        Object.hasOwn(data, "username") || Object.hasOwn(data, "password")
          ? []
          : [required(dataPath.key("username")), required(dataPath.key("password"))],
    ],
    [
      rename("kubernetes.io/ssh-auth"),
      (_object, data) => ((data["ssh-privatekey"] ?? "") === "" ? [required(dataPath.key("ssh-privatekey"))] : []),
    ],
    [
      rename("kubernetes.io/tls"),
      (_object, data) =>
        ["tls.crt", "tls.key"].filter((key) => !Object.hasOwn(data, key)).map((key) => required(dataPath.key(key))),
    ],
  ]);
  const validate = (object: Secret): FieldError[] => {
    const { type = "", data = {} } = object;
    return [...validateData(data), ...(types.get(type)?.(object, data) ?? [])];
  };
  const tlsType = rename("kubernetes.io/tls");
  const warnings = ({ type, data = {} }: Secret): string[] => {
    if (type !== tlsType) return [];
    const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString("latin1");
    const problem = keyPairProblem(text("tls.crt"), text("tls.key"));
    return problem === undefined ? [] : [problem];
  };
  return {
    columns: [
      nameColumn,
      text("Type", "What kind of secret it is.", ({ type = "" }) => type),
      text("Data", "Number of keys.", ({ data = {} }) => Object.keys(data).length),
      ageColumn,
    ],
    strategy: {
      defaults,
      validate,
      validateUpdate: (object, old) => [...validateImmutable(object, old), ...validate(object)],
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
      fields: ({ type = "" }) => ({ type }),
    },
  };
}

type Data = Readonly<Record<string, string>>;

const dataPath = FieldPath.of("data");

/** Fills in defaults. `stringData` is write-only: its texts are moved to `data`. */
function defaults(object: Secret): Secret {
  const typed = fillZero(object, { type: "Opaque" });
  if (typed.stringData === undefined) return typed;
  const { stringData, ...rest } = typed;
  if (Object.keys(stringData).length === 0) return rest;
  const data = new Map(Object.entries(rest.data ?? {}));
  for (const [key, value] of Object.entries(stringData)) data.set(key, Buffer.from(value).toString("base64"));
  return { ...rest, data: Object.fromEntries([...data].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

function validateData(data: Data): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    checkName(key, configKey, dataPath.key(key), errors);
    bytes += base64Bytes(value);
  }
  if (bytes > dataBytesMax) errors.push(tooLong(dataPath, dataBytesMax));
  return errors;
}

function requireJson(data: Data, key: string): FieldError[] {
  const field = dataPath.key(key);
  if (!Object.hasOwn(data, key)) return [required(field)];
  const problem = jsonProblem(Buffer.from(data[key]!, "base64").toString());
  return problem === undefined ? [] : [invalid(field, "<secret contents redacted>", problem)];
}

/** Returns the reason why a text is not a JSON object, without its content; `undefined` for an object. */
function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return "unexpected end of JSON input";
  try {
    const value: unknown = JSON.parse(text);
    const kind = kindOf(value);
    return kind === "object"
      ? undefined
      : `json: cannot unmarshal ${kind} into Go value of type map[string]interface {}`;
  } catch {
    const first = text.trimStart()[0]!;
    return '{["0123456789-tfn'.includes(first)
      ? "unexpected end of JSON input"
      : `invalid character '${first}' looking for beginning of value`;
  }
}

function validateImmutable(object: Secret, old: Secret): FieldError[] {
  const { type = "" } = object;
  const errors = type === (old.type ?? "") ? [] : [invalid(FieldPath.of("type"), type, "field is immutable")];
  return [...errors, ...validateFrozen(object, old, ["data"])];
}
