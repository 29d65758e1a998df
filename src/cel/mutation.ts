/**
 * Expressions that change objects: `Object{…}` with the fields of an apply configuration, and lists of `JSONPatch{…}`. Source:
 * the documentation of mutating admission policies in Kubernetes, and the reference's answers.
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

/** `Object`, and `Object.spec.template` of its parts. Whether there are such fields shows when the schema is known. */
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
  // Upstream: other fields are there, of a type without a name, which no value has.
  field: (key) => ({
    key,
    type: Object.hasOwn(operationFields, key) ? operationFields[key]! : unnamed,
    isNullable: true,
  }),
};

/** The type of a patch. */
export const patchType: CelType = listOf(operation);

function findType(name: string): ObjectType | undefined {
  if (name === "JSONPatch") return operation;
  return name === "Object" || name.startsWith("Object.") ? partOfObject(name) : undefined;
}

/** The environment with these types and `jsonpatch.escapeKey`. */
export const mutationEnvironment = (environment: Environment): Environment =>
  environment.extend({ libraries: [jsonPatchLibrary], findType });

/**
 * Finds a part of a configuration that has the type of another part: `Object{metadata: Object.spec{…}}`. Returns the
 * error, or `undefined` when there is no such part. Upstream finds it when the expression is evaluated.
 */
export function misplacedPart(source: string): string | undefined {
  const parsed = parse(source, { hasTwoVariables: true });
  return "ast" in parsed ? misplacedIn(parsed.ast, undefined) : undefined;
}

/** `wanted` is the type that an object here must have. */
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

/** A value that JSON has no form for. */
export class NoJson extends Error {}

/**
 * Limits of writing a value as JSON. Values share their parts, JSON does not: 40 lists of which each holds the one
 * before twice are small here, and larger than any memory there. So each part counts as often as JSON has it.
 */
export interface Unfolding {
  /** Counts steps as an evaluation does; throws when there were too many. */
  work(units: number): void;
  /** The bytes that may be written. */
  readonly room: ByteBudget;
}

/** A part of a value counts as so much. */
const partWork = 20;

/** A value as JSON. Throws `NoJson`, and what `unfolding` throws. */
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
  // Objects of JSON, which may hold values of expressions.
  return objectOf(Object.entries(value as { readonly [key: string]: Value }), unfolding);
}

/** A value without parts as JSON; `undefined` of lists and maps. */
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
