/** Random strategic merge patches: no crash, no changed argument, and laws that hold for all inputs. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { jsonEquals } from "./json-value.ts";
import { PatchError } from "./patch-error.ts";
import { everyStrategy } from "./schemas-for-tests.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

type Json = Record<string, unknown>;

test(`any patch of any object is applied or refused, seed ${seed} [PATCH-08]`, (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  let applied = 0;
  for (let run = 0; run < runs; run++) {
    const original = deepFreeze(makeObject(random, 1));
    const patch = deepFreeze(makePatch(random, makeObject(random, 1)) as Json);
    try {
      applyStrategicMergePatch(original, patch, everyStrategy);
      applied++;
    } catch (error) {
      assert.ok(error instanceof PatchError, `run ${run}: ${String(error)} ${JSON.stringify({ original, patch })}`);
    }
  }
  assert.ok(applied > runs / 2, "most patches were refused: the generator is of no use");
});

test(`an object is its own patch, and the same patch twice is the patch once, seed ${seed}`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const original = deepFreeze(makeObject(random, 1));
    const patch = deepFreeze(makeObject(random, 1));
    const label = `run ${run}: ${JSON.stringify({ original, patch })}`;
    assert.ok(jsonEquals(applyStrategicMergePatch(original, original, everyStrategy), original), label);
    const once = deepFreeze(applyStrategicMergePatch(original, patch, everyStrategy));
    assert.ok(jsonEquals(applyStrategicMergePatch(once, patch, everyStrategy), once), label);
  }
});

test(`merged lists hold the keys of both sides, each once and in the patch's order, seed ${seed}`, () => {
  const random = seededRandom(seed);
  const names = (object: Json): string[] => ((object["items"] ?? []) as Json[]).map((item) => String(item["name"]));
  for (let run = 0; run < runs; run++) {
    const original = deepFreeze(makeObject(random, 0));
    const patch = deepFreeze(makeObject(random, 0));
    const merged = names(applyStrategicMergePatch(original, patch, everyStrategy));
    assert.deepEqual(merged.toSorted(), [...new Set([...names(original), ...names(patch)])].sort());
    const given = new Set(names(patch));
    assert.deepEqual(
      merged.filter((name) => given.has(name)),
      names(patch),
    );
    assert.deepEqual(
      merged.filter((name) => !given.has(name)),
      names(original).filter((name) => !given.has(name)),
    );
  }
});

const below = (random: Random, limit: number): number => Math.floor(random.next() * limit);
const letter = (random: Random): string => "abcd"[below(random, 4)]!;

const distinct = (random: Random): string[] => [
  ...new Set(Array.from({ length: below(random, 4) }, () => letter(random))),
];

function makeItem(random: Random, name: string): Json {
  const item: Json = { name };
  if (random.next() < 0.5) item["value"] = letter(random);
  if (random.next() < 0.4) item["tags"] = distinct(random);
  if (random.next() < 0.4)
    item["ports"] = distinct(random).map((text) => ({ port: text.charCodeAt(0), label: letter(random) }));
  return item;
}

function makeObject(random: Random, depth: number): Json {
  const object: Json = {};
  const items = (): Json[] => distinct(random).map((name) => makeItem(random, name));
  const makers: Record<string, () => unknown> = {
    name: () => letter(random),
    items,
    tags: () => distinct(random),
    plain: () => distinct(random),
    atomic: items,
    volumes: items,
    labels: () => Object.fromEntries(distinct(random).map((name) => [name, letter(random)])),
    union: () => ({ type: letter(random), a: makeItem(random, letter(random)) }),
    replace: () => makeItem(random, letter(random)),
  };
  for (const [name, make] of Object.entries(makers)) if (random.next() < 0.4) object[name] = make();
  if (depth > 0 && random.next() < 0.4) object["nested"] = { items: items() };
  return object;
}

/** Makes a patch from a document: with nulls and directives in it, some of which make no sense. */
function makePatch(random: Random, value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => makePatch(random, item));
    if (random.next() < 0.03)
      items.push({ $patch: ["delete", "replace", "merge", 5][below(random, 4)], name: letter(random) });
    return items;
  }
  if (typeof value !== "object" || value === null) return random.next() < 0.02 ? null : value;
  const patch: Json = {};
  for (const [name, inner] of Object.entries(value)) {
    patch[name] = random.next() < 0.05 ? null : makePatch(random, inner);
    if (!Array.isArray(inner)) continue;
    if (random.next() < 0.2) patch[`$setElementOrder/${name}`] = random.next() < 0.5 ? inner : inner.toReversed();
    if (random.next() < 0.1) patch[`$deleteFromPrimitiveList/${name}`] = distinct(random);
  }
  if (random.next() < 0.05) patch["$patch"] = ["delete", "replace", "merge", null][below(random, 4)];
  if (random.next() < 0.05) patch["$retainKeys"] = random.next() < 0.9 ? Object.keys(patch) : letter(random);
  return patch;
}
