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
import { decodeTyped, type Findings } from "#schema/typed.ts";

/** The schema of a `T`. */
export interface Form<T> extends Schema {
  /** A member that never exists, for the type alone. */
  readonly sample?: T;
}

type Forms = Readonly<Record<string, Form<unknown>>>;

/** Fields that are read by forms have these types. */
export type Decoded<F> = { readonly [Name in keyof F]?: F[Name] extends Form<infer T> ? T : never };

interface DocumentKind<F extends Forms> {
  readonly kind: string;
  /** These versions are read, with the domain's names; the first is for messages. */
  readonly apiVersions: readonly string[];
  /** The same document had this name before. */
  readonly former?: { readonly kind: string; readonly apiVersion: string };
  /** All versions have these fields; they are made with `struct`. `apiVersion` and `kind` are added. */
  readonly fields: F;
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
export function readDocument<F extends Forms>(
  text: string,
  { kind, apiVersions, former, fields, lenient }: DocumentKind<F>,
): Decoded<F> {
  try {
    const { value, duplicates } = decodeYaml(Buffer.from(text));
    const { apiVersion: version, kind: found } = (value ?? {}) as { readonly apiVersion?: unknown; kind?: unknown };
    const isFormer = found === former?.kind && version === former?.apiVersion && former !== undefined;
    if (!isFormer && (found !== kind || typeof version !== "string" || !apiVersions.includes(version))) {
      const declared =
        found === undefined && version === undefined ? "" : `, not ${printGiven(found)} in ${printGiven(version)}`;
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
    return decoded as Decoded<F>; // by their schemas
  } catch (error) {
    throw asConfigError(error);
  }
}

/** A document without version and kind; what is unknown is passed over. Throws `ConfigError`. */
export function readSettings<F extends Forms>(text: string, fields: F): Decoded<F> {
  try {
    const { value } = decodeYaml(Buffer.from(text));
    return decodeTyped(struct(fields), value, { keys: 0, unknown: false }) as Decoded<F>; // by their schemas
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

/** Durations are as Go writes them: `1m30s`. */
export const durationValue: Form<string> = { type: "string", special: "duration" };
export const anyValue: Form<unknown> = { type: "any" };
export const listOf = <T>(items: Form<T>): Form<readonly T[]> => ({ type: "array", items });

/** Every field may be missing, and then is absent, not empty. */
export function struct<F extends Forms>(fields: F): Form<Decoded<F>> {
  const entries = Object.entries(fields).map(([name, schema]): [string, Field] => [
    name,
    { schema, ptr: true, omitempty: true },
  ]);
  // The name stands before the path in errors about types.
  return { type: "object", name: "configuration", fields: new Map(entries) };
}
