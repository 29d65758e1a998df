/**
 * Tests random schemas and values: nothing throws, pruning and defaulting are idempotent, an update without changes has
 * no findings, the quick check agrees with the findings, and input stays unchanged.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FieldPath } from "#meta/field-path.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { rawNumber } from "#std/raw-number.ts";
import {
  applyDefaults,
  checkListTypes,
  checkStructural,
  StructuralSchema,
  type JsonSchemaProps,
  prune,
  someSchema,
  validateValue,
} from "./structural.ts";
import { Correlation } from "./structural/correlation.ts";
import { explain } from "./structural/explain.ts";
import { checkBudget, isValid } from "./structural/valid.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 10_000);

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!;
const chance = (random: Random, of: number): boolean => random.next() < of;

const names = ["a", "b", "c", "k", "1", "__proto__", "constructor", "metadata"];
const texts = ["", "a", "ab", "abc", "2024-01-01", "1.2.3.4", "😀", "é"];
const patterns = ["^a", "b$", "^[a-c]*$", "(", "."];

/** Returns rules for any value, as combinations contain them. */
function randomRules(random: Random, depth: number): JsonSchemaProps {
  const rules: Record<string, unknown> = {};
  const add = (name: string, of: number, make: () => unknown): void => {
    if (chance(random, of)) rules[name] = make();
  };
  const small = (): number => Math.floor(random.next() * 4);
  add("minLength", 0.05, small);
  add("maxLength", 0.1, small);
  add("pattern", 0.05, () => pick(random, patterns));
  add("format", 0.05, () => pick(random, ["date", "ipv4", "int32", "made-up"]));
  add("minimum", 0.05, () => small() - 1.5);
  add("maximum", 0.1, small);
  add("exclusiveMaximum", 0.03, () => true);
  add("multipleOf", 0.05, () => small() / 2 - 0.5);
  add("minItems", 0.05, small);
  add("maxItems", 0.05, small);
  add("minProperties", 0.05, small);
  add("maxProperties", 0.05, small);
  add("required", 0.1, () => [pick(random, names)]);
  add("enum", 0.05, () => [randomValue(random, 1), randomValue(random, 1)]);
  if (depth > 0) {
    const inner = (): JsonSchemaProps => randomInner(random, depth - 1);
    add("not", 0.05, inner);
    add("allOf", 0.05, () => [inner(), inner()]);
    add("anyOf", 0.07, () => [inner(), inner()]);
    add("oneOf", 0.07, () => [inner(), inner()]);
  }
  return rules;
}

function randomInner(random: Random, depth: number): JsonSchemaProps {
  const rules: Record<string, unknown> = { ...randomRules(random, depth) };
  if (depth > 0 && chance(random, 0.2)) rules["properties"] = { [pick(random, names)]: randomInner(random, depth - 1) };
  if (depth > 0 && chance(random, 0.1)) rules["items"] = randomInner(random, depth - 1);
  if (chance(random, 0.03)) rules["additionalProperties"] = false;
  return rules;
}

function randomSchema(random: Random, depth: number): JsonSchemaProps {
  const props: Record<string, unknown> = { ...randomRules(random, 1) };
  if (chance(random, 0.15)) props["nullable"] = true;
  if (chance(random, 0.15)) props["default"] = randomValue(random, 2);
  if (chance(random, 0.1)) props["x-kubernetes-preserve-unknown-fields"] = true;
  const kind = depth === 0 ? 0.5 * random.next() : random.next();
  if (kind < 0.4) props["type"] = pick(random, ["string", "integer", "number", "boolean"]);
  else if (kind < 0.5)
    props[pick(random, ["x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"])] = true;
  else if (kind < 0.65) {
    props["type"] = "array";
    props["items"] = randomSchema(random, depth - 1);
    if (chance(random, 0.4)) props["x-kubernetes-list-type"] = pick(random, ["atomic", "set", "map"]);
    if (chance(random, 0.4)) props["x-kubernetes-list-map-keys"] = chance(random, 0.5) ? ["k"] : ["k", "a"];
  } else if (kind < 0.75) {
    props["type"] = "object";
    props["additionalProperties"] = chance(random, 0.8) ? randomSchema(random, depth - 1) : true;
  } else {
    props["type"] = "object";
    const properties = {};
    for (const name of names) {
      if (chance(random, 0.6)) continue;
      const value = randomSchema(random, depth - 1);
      Object.defineProperty(properties, name, { value, enumerable: true, configurable: true, writable: true });
    }
    props["properties"] = properties;
  }
  return props;
}

const scalars: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  3,
  2 ** 40,
  rawNumber("9223372036854775807"),
  rawNumber("1.0"),
  rawNumber("1e400"),
  12345678901234567890n,
  ...texts,
];

function randomValue(random: Random, depth: number): unknown {
  const kind = depth === 0 ? 0 : random.next();
  if (kind < 0.45) return pick(random, scalars);
  const size = Math.floor(random.next() * 4);
  if (kind < 0.65) return Array.from({ length: size }, () => randomValue(random, depth - 1));
  const object = {};
  for (let at = 0; at < size; at++) {
    const value = randomValue(random, depth - 1);
    Object.defineProperty(object, pick(random, names), { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

/** Returns a value that probably fits the schema. */
function randomFittingValue(random: Random, props: JsonSchemaProps): unknown {
  if (chance(random, 0.1)) return randomValue(random, 2);
  if (props.type === "array") {
    const items = props.items as JsonSchemaProps; // generated schemas have one schema for items
    return Array.from({ length: Math.floor(random.next() * 4) }, () => randomFittingValue(random, items));
  }
  if (props.type !== "object") return pick(random, props.type === "string" ? texts : scalars);
  const object = {};
  for (const name of names) {
    if (chance(random, 0.5)) continue;
    const known = props.properties !== undefined && Object.hasOwn(props.properties, name);
    const inner = known ? props.properties[name] : props.additionalProperties;
    const value = typeof inner === "object" ? randomFittingValue(random, inner) : randomValue(random, 1);
    Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return object;
}

const format = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => (typeof item === "bigint" ? `${item}n` : item));

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}

test(`schemas and values of seed ${seed} keep the laws`, () => {
  const random = seededRandom(seed);
  let taken = 0;
  let valid = 0;
  for (let run = 0; run < runs; run++) {
    const props = deepFreeze(randomSchema(random, 3));
    const where = format(props);
    const findings = checkStructural({ type: "object", properties: { spec: props } }, FieldPath.of("s"));
    assert.deepEqual(checkStructural({ type: "object", properties: { spec: props } }, FieldPath.of("s")), findings);
    // An invalid pattern would throw; every other keyword is compiled even if it is wrong.
    if (findings.some((finding) => finding.field.endsWith(".pattern"))) continue;
    if (findings.length === 0) taken++;
    const schema = new StructuralSchema(props);
    assert.ok(schema.schema !== undefined);
    const value = deepFreeze(chance(random, 0.7) ? randomFittingValue(random, props) : randomValue(random, 3));

    const isResourceRoot = chance(random, 0.5);
    const pruned = prune(value, schema.node, { isResourceRoot, track: true });
    assert.equal(prune(pruned.value, schema.node, { isResourceRoot }).value, pruned.value, where);
    assert.equal(pruned.value === value, format(pruned.value) === format(value), where);
    const filled = applyDefaults(pruned.value, schema.node);
    // A null inside of a default, which only values of maps may have, is dropped when the object is read again.
    const hasNulls = someSchema(props, (inner) => (format(inner.default) ?? "").includes("null"));
    if (!hasNulls) assert.equal(applyDefaults(filled, schema.node), filled, `${where} ${format(value)}`);

    for (const one of [value, filled]) {
      const errors = validateValue(one, schema.node);
      assert.equal(isValid(schema.node, one, checkBudget()), errors.length === 0, `${where} ${format(one)}`);
      assert.equal(
        explain(schema.node, one, FieldPath.root, undefined, checkBudget()).length,
        errors.length,
        `${where} ${format(one)}`,
      );
      if (errors.length === 0) valid++;
      const same = new Correlation(schema.node, one, one);
      const silent = validateValue(one, schema.node, one);
      if (same.isUnchanged()) assert.deepEqual(silent.filter(isNotOfType), [], `${where} ${format(one)}`);
      assert.ok(silent.length <= errors.length);
      checkListTypes(one, schema.node);
      assert.deepEqual(checkListTypes(one, schema.node, one), []);
      validateValue(one, schema.node, value);
    }
  }
  assert.ok(runs < 1000 || (taken > runs / 100 && valid > runs / 20), `${taken} schemas taken, ${valid} values valid`);
});

/**
 * Whether a finding is about another field than apiVersion or kind: at the root, unchanged apiVersion and kind are
 * reported too.
 */
const isNotOfType = (finding: { readonly field: string }): boolean => !/^(apiVersion|kind)/.test(finding.field);
