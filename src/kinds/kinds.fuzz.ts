/**
 * Fuzzes all hooks, columns and conversions with random valid objects of every built-in kind: nothing throws, no
 * argument is changed, and defaulting is idempotent.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { type ResourceDefinition, updateStrategy, type WriteAttributes } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { builtInDefinitions } from "./built-in.ts";
import { parseJson } from "./kind-for-tests.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 40);

const texts = [
  "",
  "a",
  "b",
  "Always",
  "RollingUpdate",
  "1Gi",
  "0",
  "x/y",
  "example.com/a",
  "__proto__",
  "Container",
  "é",
  "-",
];
const keys = ["a", "storage", "cpu", "limits.cpu", "__proto__", "constructor", "x/y", "app"];

const below = (random: Random, count: number): number => Math.floor(random.next() * count);
const oneOf = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!;

function special(random: Random, schema: Schema): unknown {
  switch (schema.special) {
    case "quantity":
      return oneOf(random, ["0", "1", "1Gi", "500m", "-1", "1e3"]);
    case "intOrString":
      return oneOf<unknown>(random, [0, 1, "25%", "x", ""]);
    case "time":
      return oneOf(random, [null, "2026-01-01T00:00:00Z"]);
    case "microTime":
      return oneOf(random, [null, "2026-01-01T00:00:00.000000Z"]);
    case "duration":
      return "1s";
    default:
      return oneOf<unknown>(random, [{}, { a: 1 }, "x", 5, [1]]);
  }
}

/** Returns a value that the schema allows. Deep parts are sometimes left out so that objects stay small. */
function valueOf(random: Random, schema: Schema, depth: number): unknown {
  if (schema.special !== undefined) return special(random, schema);
  switch (schema.type) {
    case "string":
      return schema.enum !== undefined && below(random, 3) > 0 ? oneOf(random, schema.enum) : oneOf(random, texts);
    case "integer":
    case "number":
      return oneOf(random, [0, 1, 2, 80, 600, -1, 65536]);
    case "boolean":
      return below(random, 2) === 0;
    case "array":
      return depth <= 0
        ? []
        : Array.from({ length: below(random, 3) }, () => valueOf(random, schema.items!, depth - 1));
    case "map":
      return Object.fromEntries(
        Array.from({ length: below(random, 3) }, () => [
          oneOf(random, keys),
          valueOf(random, schema.items!, depth - 1),
        ]),
      );
    case "object": {
      const out: Record<string, unknown> = {};
      for (const [name, field] of schema.fields ?? []) {
        if (field.keep !== true && (depth <= 0 || below(random, 3) === 0)) continue;
        if (field.ptr === true && depth <= 0) out[name] = null;
        else out[name] = valueOf(random, field.schema, depth - 1);
      }
      return out;
    }
    default:
      return null;
  }
}

function freeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
  return value;
}

function objectOf(random: Random, definition: ResourceDefinition): Unstructured {
  const made = valueOf(random, definition.schema, 7) as Unstructured; // an object's schema
  return freeze({ ...made, metadata: { ...made.metadata, name: "a", uid: "u" } });
}

const writeAttributes = (subresource: string): WriteAttributes => ({
  context: testContext({ user: { name: "admin", groups: [] } }),
  subresource,
  dryRun: false,
});

for (const gates of [false, true]) {
  const definitions = builtInDefinitions(loadDefinitions(kubernetesDomain), {
    domain: kubernetesDomain,
    gate: () => gates,
    allowsPrivileged: true,
    eventTtlSeconds: 60,
    now: () => 0,
    decodeJson: parseJson,
  });
  test(`hooks take whatever the schema allows, gates ${gates ? "on" : "off"}, seed ${seed}`, () => {
    for (const definition of definitions) {
      const random = seededRandom(seed);
      for (let run = 0; run < runs; run++) exercise(random, definition);
    }
  });
}

function exercise(random: Random, definition: ResourceDefinition): void {
  const { strategy, conversion } = definition;
  const defaults = (object: Unstructured): Unstructured => freeze(strategy.defaults?.(object) ?? object);
  const first = defaults(objectOf(random, definition));
  assert.deepEqual(defaults(first), first, `${definition.kind}: defaults are stable`);
  const prepared = freeze(strategy.prepareForCreate?.(first, writeAttributes("")) ?? first);
  const made = freeze(strategy.canonicalize?.(prepared, false) ?? prepared);
  strategy.validate?.(made, writeAttributes(""));
  const next = defaults(objectOf(random, definition));
  for (const subresource of ["", "status", "finalize"]) {
    const hooks = updateStrategy(strategy, subresource);
    const updated = freeze(hooks.prepareForUpdate?.(next, made, writeAttributes(subresource)) ?? next);
    hooks.validateUpdate?.(updated, made, writeAttributes(subresource));
    assert.deepEqual(hooks.validateUpdate?.(made, made, writeAttributes(subresource))?.filter(isImmutable) ?? [], []);
  }
  for (const text of Object.values(strategy.fields?.(made) ?? {})) assert.equal(typeof text, "string");
  strategy.ttlSeconds?.(made);
  strategy.pendingFinalizers?.(made);
  strategy.graceSeconds?.(made, undefined);
  if (strategy.terminate !== undefined) freeze(strategy.terminate(made, made));
  for (const column of definition.columns) {
    const cell = column.cell(made, Date.parse("2026-02-01T00:00:00Z"));
    assert.ok(
      cell === null || ["string", "number", "boolean"].includes(typeof cell),
      `${definition.kind} ${column.name}`,
    );
  }
  if (conversion === undefined) return;
  const hub = freeze(conversion.toHub(made));
  const back = freeze(conversion.fromHub(hub));
  assert.deepEqual(conversion.toHub(back), hub, `${definition.kind}: converting back and forth`);
}

/** Whether a finding is about a change. An unchanged object must not have such findings. */
const isImmutable = (error: { readonly message: string }): boolean => /immutable/.test(error.message);
