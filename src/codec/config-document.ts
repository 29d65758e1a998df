/**
 * Configuration files in the form of API objects (`AuthenticationConfiguration`, kubeconfigs): one YAML or JSON
 * document, decoded by a schema in code, strictly where upstream is strict.
 */
import { strictMessage, yamlProblems } from "./object.ts";
import { sortedJson, unknownFields } from "./strict.ts";
import { decodeYaml } from "./yaml.ts";
import { aggregate, type FieldError, printFieldError } from "#meta/field-error.ts";
import { DecodeError } from "#schema/decode-error.ts";
import type { Field, Schema } from "#schema/schema.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { decodeTyped, type Findings } from "#schema/typed.ts";

/** The schema of a `T`. */
export interface Form<T> extends Schema {
  /** A member that never exists, for the type alone. */
  readonly sample?: T;
}

type Forms = Readonly<Record<string, Form<unknown>>>;

/** The value that forms decode: every field may be absent. */
export type Decoded<F> = { readonly [Name in keyof F]?: F[Name] extends Form<infer T> ? T : never };

interface DocumentKind<F extends Forms> {
  readonly kind: string;
  /** The API versions that are accepted, with the domain's names. The first one is shown in messages. */
  readonly apiVersions: readonly string[];
  /** The kind and version that the same document had in earlier releases. */
  readonly former?: { readonly kind: string; readonly apiVersion: string };
  /** The fields of all versions, beside `apiVersion` and `kind`, which are added. */
  readonly fields: F;
  /** Whether unknown fields and duplicate keys are ignored. */
  readonly lenient?: boolean;
}

/** The error of a configuration that cannot be used. The message names the mistake by its path. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "ConfigError";
  }
}

/** Decodes a document. Lists and texts that it does not have are absent in the result. Throws `ConfigError`. */
export function readDocument<F extends Forms>(
  text: string,
  { kind, apiVersions, former, fields, lenient }: DocumentKind<F>,
): Decoded<F> {
  try {
    const { value, duplicates } = decodeYaml(Buffer.from(text));
    const { apiVersion: version, kind: actualKind } = (value ?? {}) as {
      readonly apiVersion?: unknown;
      kind?: unknown;
    };
    const isFormer = actualKind === former?.kind && version === former?.apiVersion && former !== undefined;
    if (!isFormer && (actualKind !== kind || typeof version !== "string" || !apiVersions.includes(version))) {
      const declared =
        actualKind === undefined && version === undefined
          ? ""
          : `, not ${printGiven(actualKind)} in ${printGiven(version)}`;
      throw new ConfigError(`must be of kind ${kind} in ${apiVersions.join(" or ")}${declared}`);
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
    return decoded as Decoded<F>; // it was decoded by these schemas
  } catch (error) {
    throw asConfigError(error);
  }
}

/** Decodes a document without version and kind, and ignores unknown fields. Throws `ConfigError`. */
export function readSettings<F extends Forms>(text: string, fields: F): Decoded<F> {
  try {
    const { value } = decodeYaml(Buffer.from(text));
    // The value has the type of these schemas.
    return decodeTyped(struct(fields), value, { keys: 0, unknown: false }) as Decoded<F>;
  } catch (error) {
    throw asConfigError(error);
  }
}

/** Decodes a map of texts without version and kind. A number or boolean counts as its text. Throws `ConfigError`. */
export function readTexts(text: string): Readonly<Record<string, string>> {
  try {
    const { value } = decodeYaml(Buffer.from(text));
    const isMap = typeof value === "object" && value !== null && !Array.isArray(value);
    if (!isMap && value !== null) throw new ConfigError("must be a map");
    return Object.fromEntries(
      Object.entries(value ?? {}).map(([key, member]: [string, unknown]) => {
        if (isRawNumber(member)) return [key, member.rawJSON];
        if (member === null) return [key, ""];
        if (typeof member === "object") throw new ConfigError(`${key}: must be a text`);
        return [key, String(member as string | number | boolean)]; // YAML has no other values
      }),
    );
  } catch (error) {
    throw asConfigError(error);
  }
}

function asConfigError(error: unknown): unknown {
  if (!(error instanceof DecodeError)) return error;
  const { path, message } = error;
  return new ConfigError(path === undefined ? message : `${String(path)}: ${message}`, { cause: error });
}

const printGiven = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : "nothing");

/** Throws `ConfigError` with all findings, if there are any. */
export function refuseWith(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new ConfigError(aggregate(errors.map(printFieldError)));
}

export const textValue: Form<string> = { type: "string" };
export const booleanValue: Form<boolean> = { type: "boolean" };
export const integerValue: Form<number> = { type: "integer", format: "int64" };

/** A duration as Go writes it: `1m30s`. */
export const durationValue: Form<string> = { type: "string", special: "duration" };
export const anyValue: Form<unknown> = { type: "any" };
export const mapOf = <T>(values: Form<T>): Form<Readonly<Record<string, T>>> => ({ type: "map", items: values });
export const listOf = <T>(items: Form<T>): Form<readonly T[]> => ({ type: "array", items });

/** Returns the form of an object. A field that is missing in the document is absent in the object, not empty. */
export function struct<F extends Forms>(fields: F): Form<Decoded<F>> {
  const entries = Object.entries(fields).map(([name, schema]): [string, Field] => [
    name,
    { schema, ptr: true, omitempty: true },
  ]);
  // Error messages about types begin with this name, before the path.
  return { type: "object", name: "configuration", fields: new Map(entries) };
}
