/**
 * Decodes the configurations of server-side apply. They are CBOR or YAML; most of these are also JSON, which the faster
 * JSON decoder reads. Source of the wording: upstream's `applyPatcher`.
 */
import { badRequest } from "#meta/status-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import { countKeys, plainNumbers } from "#schema/json-values.ts";
import { readCborObject } from "./cbor-reader.ts";
import { decodeJson } from "./json.ts";
import type { FieldValidation } from "./object.ts";
import { kindOf } from "./unreadable.ts";
import { decodeYaml } from "./yaml.ts";

/** A decoded configuration, with the findings about duplicate keys. */
export interface AppliedBody {
  /** The decoded object. Whole numbers that a JavaScript number cannot represent are raw numbers. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Warnings about duplicate keys, for clients that request them. */
  readonly warnings: readonly string[];
  /** The error for clients that forbid duplicate keys; it is reported after all other errors. */
  readonly problem: string | undefined;
}

const openBrace = 0x7b;

/** Decodes a configuration in CBOR. Duplicate keys are errors in any case. Throws `badRequest`. */
export function decodeAppliedCbor(bytes: Uint8Array): AppliedBody {
  try {
    const value = plainNumbers(readCborObject(bytes) ?? {}) as AppliedBody["value"]; // it is an object, or was null
    return { value, warnings: [], problem: undefined };
  } catch (error) {
    // Upstream: the message names YAML whatever the format is.
    if (error instanceof DecodeError) throw badRequest(`error decoding YAML: ${error.message}`, error);
    throw error;
  }
}

/** Decodes a configuration in YAML. Throws `badRequest`. */
export function decodeApplied(bytes: Uint8Array, fieldValidation: FieldValidation): AppliedBody {
  try {
    const { value, duplicates } = readText(bytes, fieldValidation !== "Ignore");
    if (value !== null && kindOf(value) !== "object") {
      throw new DecodeError(
        `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${kindOf(value)} into Go value of type map[string]interface {}`,
      );
    }
    const object = (value ?? {}) as AppliedBody["value"]; // the kind was checked above
    const problems = fieldValidation === "Ignore" ? [] : duplicates;
    const lines = problems.map((text) => `\n  ${text}`).join("");
    const problem = `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:${lines}`;
    return { value: object, warnings: problems, problem: problems.length === 0 ? undefined : problem };
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
    const message = error.message.replace(
      /^(?=yaml: |json: unsupported value|unsupported map key)/,
      "error converting YAML to JSON: ",
    );
    throw new DecodeError(message, { cause: error });
  }
}

/**
 * Returns the value; `undefined` for text that is not JSON, and for text with duplicate keys if `wantsDuplicates`: only
 * the YAML decoder knows the lines of these keys.
 */
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
