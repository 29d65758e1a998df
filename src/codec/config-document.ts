/**
 * Configuration files in the form of API objects (`AuthenticationConfiguration`, kubeconfigs): one YAML or JSON
 * document, decoded by a schema in code, strictly where upstream is strict.
 */
import { strictMessage, yamlProblems } from "./object.ts";
import { sortedJson, unknownFields } from "./strict.ts";
import { decodeYaml } from "./yaml.ts";
import { type FieldError, printFieldError } from "#meta/field-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Field, Schema } from "#schema/schema.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";

export interface DocumentKind {
  readonly kind: string;
  /** Those that are read, with the domain's names; the first is for messages. */
  readonly apiVersions: readonly string[];
  /** Of all versions; made with `struct`. `apiVersion` and `kind` are added. */
  readonly fields: Readonly<Record<string, Schema>>;
  /** Ignores unknown fields and duplicate keys. */
  readonly lenient?: boolean;
}

/** A configuration that cannot be used; the message names what is wrong by its path. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
  }
}

/** The decoded document: absent lists and texts are absent. Throws `ConfigError`. */
export function readDocument<T>(
  text: string,
  { kind, apiVersions, fields, lenient }: DocumentKind,
): T & { readonly apiVersion: string } {
  try {
    const { value, duplicates } = decodeYaml(Buffer.from(text));
    const { apiVersion: version, kind: found } = (value ?? {}) as { readonly apiVersion?: unknown; kind?: unknown };
    if (found !== kind || typeof version !== "string" || !apiVersions.includes(version)) {
      const given =
        found === undefined && version === undefined ? "" : `, not ${printed(found)} in ${printed(version)}`;
      throw new ConfigError(`must be of kind ${kind} in ${apiVersions.join(" or ")}${given}`);
    }
    const schema = struct({ apiVersion: textValue, kind: textValue, ...fields });
    const findings: Findings = { keys: 0, unknown: false };
    const decoded = decodeTyped(schema, value, findings);
    if (lenient !== true) {
      const problems = [
        ...yamlProblems(duplicates, "Strict"),
        ...(findings.unknown ? unknownFields(schema, sortedJson(value)) : []),
      ];
      if (problems.length > 0) throw new ConfigError(strictMessage(problems));
    }
    return decoded as T & { readonly apiVersion: string }; // the caller's type is the schema's
  } catch (error) {
    throw error instanceof DecodeError ? new ConfigError(error.message, { cause: error }) : error;
  }
}

/** A decoded document, or part of one, without version and kind; what is unknown is passed over. Throws `ConfigError`. */
export function readSettings<T>(value: unknown, fields: Readonly<Record<string, Schema>>): T {
  try {
    return decodeTyped(struct(fields), value, { keys: 0, unknown: false }) as T; // the caller's type is the schema's
  } catch (error) {
    throw error instanceof DecodeError ? new ConfigError(error.message, { cause: error }) : error;
  }
}

const printed = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : "nothing");

/** Throws `ConfigError` with all findings, if there are any. */
export function refuseWith(errors: readonly FieldError[]): void {
  if (errors.length === 1) throw new ConfigError(printFieldError(errors[0]!));
  if (errors.length > 1) throw new ConfigError(`[${errors.map(printFieldError).join(", ")}]`);
}

export const textValue: Schema = { type: "string" };
export const booleanValue: Schema = { type: "boolean" };
export const integerValue: Schema = { type: "integer", format: "int64" };

/** As Go writes them: `1m30s`. */
export const durationValue: Schema = { type: "string", special: "duration" };
export const anyValue: Schema = { type: "any" };
export const listOf = (items: Schema): Schema => ({ type: "array", items });

/** Every field may be missing, and then is absent, not empty. */
export function struct(fields: Readonly<Record<string, Schema>>): Schema {
  const entries = Object.entries(fields).map(([name, schema]): [string, Field] => [
    name,
    { schema, ptr: true, omitempty: true },
  ]);
  // The name stands before the path in errors about types.
  return { type: "object", name: "configuration", fields: new Map(entries) };
}
