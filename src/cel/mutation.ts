/**
 * Expressions that change objects: `Object{…}` with the fields of an apply configuration, and lists of `JSONPatch{…}`.
 * Source: the documentation of mutating admission policies in Kubernetes, and the answers of kube-apiserver.
 */
import type { ByteBudget } from "#schema/json-values.ts";
import { isRawNumber, rawNumber } from "#std/raw-number.ts";
import { type Expression, operators } from "./ast.ts";
import type { Environment } from "./environment.ts";
import { durationText, timestampText } from "./evaluate/time.ts";
import { parse } from "./parse.ts";
import { jsonPatchLibrary } from "./library/json-patch.ts";
import { type CelType, dyn, listOf, type ObjectType, string } from "./types.ts";
import { Double, Duration, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from "./values.ts";

/**
 * Returns the type `Object`, or the type of a part of it, such as `Object.spec.template`. It accepts any field: fields
 * are checked later, when the schema is known.
 */
const partOfObject = (name: string): ObjectType => ({
  kind: "object",
  name,
  field: (key) => ({ key, type: dyn, isNullable: true }),
});

/** The type of a whole configuration. */
export const objectConfigurationType: CelType = partOfObject("Object");

const operationFields: Readonly<Record<string, CelType>> = { op: string, path: string, from: string, value: dyn };

const unnamed: ObjectType = { kind: "object", name: "", field: () => undefined };

const operation: ObjectType = {
  kind: "object",
  name: "JSONPatch",
  // Upstream: other fields exist, but their type has no name, and no value has this type.
  field: (key) => ({
    key,
    type: Object.hasOwn(operationFields, key) ? operationFields[key]! : unnamed,
    isNullable: true,
  }),
};

/** The type of an expression that returns a JSON Patch: a list of its operations. */
export const patchType: CelType = listOf(operation);

function findType(name: string): ObjectType | undefined {
  if (name === "JSONPatch") return operation;
  return name === "Object" || name.startsWith("Object.") ? partOfObject(name) : undefined;
}

/** Returns the environment with these types and `jsonpatch.escapeKey`. */
export const mutationEnvironment = (environment: Environment): Environment =>
  environment.extend({ libraries: [jsonPatchLibrary], findType });

/**
 * Finds a part of a configuration that has the type of another part, such as `Object{metadata: Object.spec{…}}`.
 * Returns the error, or `undefined` if there is no such part. Upstream reports it when the expression is evaluated.
 */
export function misplacedPart(source: string): string | undefined {
  const parsed = parse(source, { hasTwoVariables: true });
  return "ast" in parsed ? misplacedIn(parsed.ast, undefined) : undefined;
}

/** `wanted` is the type that an object at this position must have. */
function misplacedIn(node: Expression, wanted: string | undefined): string | undefined {
  const first = (nodes: readonly Expression[], type: string | undefined): string | undefined => {
    for (const one of nodes) {
      const problem = misplacedIn(one, type);
      if (problem !== undefined) return problem;
    }
    return undefined;
  };
  switch (node.kind) {
    case "object":
      if (wanted !== undefined && node.name !== wanted && node.name.startsWith("Object")) {
        return `type mismatch: unexpected type name "${node.name}", expected "${wanted}", which matches field name path from root Object type`;
      }
      for (const { key, value } of node.fields) {
        const problem = misplacedIn(value, `${node.name}.${key}`);
        if (problem !== undefined) return problem;
      }
      return undefined;
    case "list":
      return first(node.elements, undefined);
    case "map":
      return first(
        node.entries.map(({ value }) => value),
        undefined,
      );
    case "call":
      return node.name === operators.conditional ? first(node.args.slice(1), wanted) : undefined;
    default:
      return undefined;
  }
}

/** Thrown for a value that has no form in JSON. */
export class NoJson extends Error {}

/**
 * The limits for writing a value as JSON. Values share their parts, but JSON does not: 40 lists, each of which contains
 * the previous one twice, are small as a value, and too large for any memory as JSON. So each part counts as often as
 * it is in the JSON.
 */
export interface Unfolding {
  /** Counts steps as an evaluation does. Throws if there were too many. */
  work(units: number): void;
  /** The budget of bytes that may be written. */
  readonly room: ByteBudget;
}

/** The work of writing one part of a value. */
const partWork = 20;

/** Returns a value as JSON. Throws `NoJson`, and the errors of `unfolding`. */
export function jsonOf(value: Value, unfolding: Unfolding): unknown {
  unfolding.work(partWork);
  if (value instanceof Uint8Array) unfolding.room.take(Math.ceil(value.length / 3) * 4);
  const plain = plainOf(value);
  if (plain !== undefined) {
    unfolding.room.take(typeof value === "string" ? value.length + 3 : 2);
    return plain;
  }
  unfolding.room.take(3);
  if (Array.isArray(value)) return (value as readonly Value[]).map((one) => jsonOf(one, unfolding));
  if (value instanceof Map) return objectOf((value as ReadonlyMap<Value, Value>).entries(), unfolding);
  // The value is a JSON object, which may contain values of expressions.
  return objectOf(Object.entries(value as { readonly [key: string]: Value }), unfolding);
}

/** Returns a value without parts as JSON; `undefined` for lists and maps. */
function plainOf(value: Value): unknown {
  if (typeof value === "bigint") return numberOf(value);
  if (typeof value !== "object" || value === null) return value;
  if (isRawNumber(value)) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Double) return value.value;
  if (value instanceof Uint) return numberOf(value.value);
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeValue) throw new NoJson("type conversion not supported for 'type'");
  if (value instanceof Optional || value instanceof Opaque) throw new NoJson("the value has no form in JSON");
  return undefined;
}

const numberOf = (value: bigint): unknown =>
  Number.isSafeInteger(Number(value)) ? Number(value) : rawNumber(String(value));

function objectOf(entries: Iterable<readonly [Value, Value]>, unfolding: Unfolding): object {
  const members: [string, unknown][] = [];
  for (const [key, value] of entries) {
    if (typeof key !== "string") throw new NoJson("keys of objects are texts");
    unfolding.work(partWork);
    unfolding.room.take(key.length + 3);
    members.push([key, jsonOf(value, unfolding)]);
  }
  return Object.fromEntries(members);
}
