/**
 * Decodes applied configurations, and converts merged values to objects. A configuration is YAML; the JSON decoder
 * reads those that are JSON, which most are. Source of the wording: upstream's `applyPatcher`.
 */
import { FieldPath } from "#meta/field-path.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { countKeys, plainNumbers, type Room } from "#schema/json-values.ts";
import type { Schema } from "#schema/schema.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";
import { applyDefaults } from "#schema/structural.ts";
import { coerceEmbedded, type CustomType, withoutNullTime } from "./custom-object.ts";
import { decodeJson } from "./json.ts";
import { type FieldValidation, withType } from "./object.ts";
import { kindOf } from "./unreadable.ts";
import { decodeYaml } from "./yaml.ts";

export interface AppliedBody {
  /** An object; numbers beyond what JavaScript holds are raw ones if they are whole. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Warnings about duplicate keys, for clients that request them. */
  readonly warnings: readonly string[];
  /** The error for clients that forbid duplicate keys; it is reported after all other errors. */
  readonly problem: string | undefined;
}

const openBrace = 0x7b;

/** Decodes a configuration. Throws `badRequest`. */
export function decodeApplied(bytes: Uint8Array, fieldValidation: FieldValidation): AppliedBody {
  try {
    const { value, duplicates } = readText(bytes, fieldValidation !== "Ignore");
    if (value !== null && kindOf(value) !== "object") {
      throw new DecodeError(
        `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${kindOf(value)} into Go value of type map[string]interface {}`,
      );
    }
    const object = (value ?? {}) as AppliedBody["value"]; // checked above
    const found = fieldValidation === "Ignore" ? [] : duplicates;
    const lines = found.map((text) => `\n  ${text}`).join("");
    const problem = `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${lines}`;
    return { value: object, warnings: found, problem: found.length === 0 ? undefined : problem };
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(`error decoding YAML: ${error.message}`, error);
    throw error;
  }
}

function readText(bytes: Uint8Array, wantsDuplicates: boolean): { value: unknown; duplicates: readonly string[] } {
  const json = bytes[0] === openBrace ? readJson(bytes, wantsDuplicates) : undefined;
  if (json !== undefined) return { value: json.value, duplicates: [] };
  try {
    const { value, duplicates } = decodeYaml(bytes);
    return { value: plainNumbers(value), duplicates };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new DecodeError(error.message.replace(/^(?=yaml: )/, "error converting YAML to JSON: "), { cause: error });
  }
}

/** `undefined` for text that is not JSON or has duplicate keys, whose lines the YAML decoder knows. */
function readJson(bytes: Uint8Array, wantsDuplicates: boolean): { readonly value: unknown } | undefined {
  try {
    const { value, keys, hasRawNumbers } = decodeJson(bytes);
    if (wantsDuplicates && keys !== countKeys(value)) return undefined;
    return { value: hasRawNumbers ? plainNumbers(value) : value };
  } catch (error) {
    if (error instanceof DecodeError) return undefined;
    throw error;
  }
}

export interface MergedValue {
  readonly value: Readonly<Record<string, unknown>>;
  readonly gvk: GroupVersionKind;
  /** Of a built-in kind. */
  readonly schema?: Schema;
  /** Of a custom kind. */
  readonly custom?: CustomType;
  /** The budget of defaults. */
  readonly room: Room;
  /** The sentence around what is wrong. */
  failure(message: string): string;
}

/** The object an apply made, defaults of its schema filled in. Throws `badRequest` when it does not fit its type. */
export function decodeMerged(merged: MergedValue): { readonly object: Unstructured; readonly hasEmptyLists: boolean } {
  const { value, gvk, schema, custom } = merged;
  const findings: Findings = { keys: 0, unknown: false, keepsEmptyLists: true };
  try {
    if (custom !== undefined) return { object: mergedCustom(merged, custom, findings), hasEmptyLists: false };
    if (schema === undefined) throw new Error("a merged value needs a schema");
    const object = decodeTyped(schema, value, findings) as Unstructured; // schemas of kinds are structs with metadata
    return {
      object: withType(object, apiVersionOf(gvk), gvk.kind),
      hasEmptyLists: findings.hasEmptyLists === true,
    };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const type = `${gvk.group}/${gvk.version}, Kind=${gvk.kind}`;
    throw badRequest(merged.failure(`unable to convert unstructured object to ${type}: ${error.message}`), error);
  }
}

/** Nulls stay: unlike a body that is read, a merged object is validated with what it holds. */
function mergedCustom({ value, gvk, room }: MergedValue, type: CustomType, findings: Findings): Unstructured {
  const metadata = decodeTyped(type.metadata, value["metadata"] ?? {}, findings) as Unstructured["metadata"]; // by its schema
  const { structural } = type;
  const coerced = structural.hasEmbedded
    ? coerceEmbedded(value, structural.schema, type.metadata, undefined, FieldPath.root)
    : value;
  const filled = applyDefaults(coerced, structural, false, room) as MergedValue["value"]; // an object stays one
  const { kind: _kind, apiVersion: _version, metadata: _metadata, ...rest } = filled;
  return { kind: gvk.kind, apiVersion: apiVersionOf(gvk), metadata: withoutNullTime(metadata), ...rest };
}
