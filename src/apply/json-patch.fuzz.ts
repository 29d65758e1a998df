/** Random JSON patches against a naive applier that copies the whole document for every operation. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Random, seededRandom } from "#std/random.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { jsonEquals } from "./json-value.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 5000);

type Json = Record<string, unknown>;
interface Operation {
  readonly op: string;
  readonly path: string;
  readonly from: string;
  readonly value: unknown;
}

test(`random patches do what a naive applier does, seed ${seed} [PATCH-05]`, (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  let applied = 0;
  for (let run = 0; run < runs; run++) {
    const document = deepFreeze(makeObject(random, 3));
    const patch = deepFreeze(Array.from({ length: 1 + below(random, 4) }, () => makeOperation(random, document)));
    const expected = naive(document, patch);
    let target: unknown;
    try {
      target = applyJsonPatch(document, patch);
      applied++;
    } catch (error) {
      assert.ok(error instanceof PatchError, String(error));
    }
    assert.deepEqual(target, expected, `run ${run}: ${JSON.stringify({ document, patch })}`);
  }
  assert.ok(applied > runs / 20, "most patches were refused: the generator is of no use");
});

test(`a random merge patch to another document's members makes them so, seed ${seed} [PATCH-07]`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const document = deepFreeze(makeObject(random, 3));
    const wanted = deepFreeze(makeObject(random, 3));
    const patch = deepFreeze(diff(document, wanted));
    assert.ok(
      jsonEquals(applyMergePatch(document, patch), wanted),
      `run ${run}: ${JSON.stringify({ document, wanted })}`,
    );
  }
});

/** Makes the merge patch from one document to the other, both without nulls. */
function diff(from: Json, to: Json): Json {
  const patch: Json = {};
  for (const name of Object.keys(from)) if (!Object.hasOwn(to, name)) patch[name] = null;
  for (const [name, value] of Object.entries(to)) {
    const old = from[name];
    if (jsonEquals(old, value)) continue;
    patch[name] = isJson(old) && isJson(value) ? diff(old, value) : value;
  }
  return patch;
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

/** Applies a patch naively; `undefined` when an operation does not apply. */
function naive(document: unknown, patch: readonly Operation[]): unknown {
  let at = document;
  for (const { op, path, from, value } of patch) {
    const target = structuredClone(at) as Json;
    if (op === "test") {
      const location = read(target, path);
      if (location === undefined || !jsonEquals(location.value ?? null, value)) return undefined;
      continue;
    }
    if (op === "remove" && !remove(target, path)) return undefined;
    if ((op === "add" || op === "replace") && !write(target, path, value, op === "add")) return undefined;
    if (op === "move" || op === "copy") {
      const found = read(target, from);
      if (found === undefined || (op === "move" && !remove(target, from))) return undefined;
      if (!write(target, path, structuredClone(found.value ?? null), true)) return undefined;
    }
    at = target;
  }
  return at;
}

function parentOf(
  document: unknown,
  path: string,
): { readonly parent: Json | unknown[]; readonly key: string } | undefined {
  const keys = path.split("/").slice(1);
  let at: unknown = document;
  for (const key of keys.slice(0, -1)) {
    if (Array.isArray(at)) at = at[Number(key)];
    else at = isJson(at) ? at[key] : undefined;
  }
  return Array.isArray(at) || isJson(at) ? { parent: at, key: keys.at(-1)! } : undefined;
}

function read(document: unknown, path: string): { readonly value: unknown } | undefined {
  const parentOfTarget = parentOf(document, path);
  if (parentOfTarget === undefined) return undefined;
  const { parent, key } = parentOfTarget;
  if (!Array.isArray(parent)) return { value: parent[key] };
  return Number(key) < parent.length ? { value: parent[Number(key)] } : undefined;
}

function remove(document: unknown, path: string): boolean {
  const parentOfTarget = parentOf(document, path);
  if (parentOfTarget === undefined) return false;
  const { parent, key } = parentOfTarget;
  if (Array.isArray(parent)) return Number(key) < parent.length && parent.splice(Number(key), 1).length === 1;
  return Object.hasOwn(parent, key) && delete parent[key];
}

function write(document: unknown, path: string, value: unknown, isAdd: boolean): boolean {
  const parentOfTarget = parentOf(document, path);
  if (parentOfTarget === undefined) return false;
  const { parent, key } = parentOfTarget;
  if (!Array.isArray(parent)) {
    parent[key] = value;
    return true;
  }
  const index = key === "-" && isAdd ? parent.length : Number(key);
  if (!(index < parent.length + (isAdd ? 1 : 0))) return false;
  parent.splice(index, isAdd ? 0 : 1, value);
  return true;
}

const below = (random: Random, limit: number): number => Math.floor(random.next() * limit);

function makeObject(random: Random, depth: number): Json {
  const object: Json = {};
  for (let i = below(random, 4); i >= 0; i--) object["abcd"[below(random, 4)]!] = makeValue(random, depth - 1);
  return object;
}

function makeValue(random: Random, depth: number): unknown {
  const kind = below(random, depth > 0 ? 6 : 3);
  if (kind === 0) return below(random, 3);
  if (kind === 1) return "xyz"[below(random, 3)];
  if (kind === 2) return random.next() < 0.5;
  if (kind === 3) return Array.from({ length: below(random, 4) }, () => makeValue(random, depth - 1));
  return makeObject(random, depth);
}

/** Makes a path, which mostly exists. List indices are those on which every implementation agrees. */
function makePath(random: Random, document: unknown): string {
  let path = "";
  let at = document;
  do {
    const keys = Array.isArray(at)
      ? [...at.keys(), at.length].map(String)
      : isJson(at)
        ? [...Object.keys(at), "d"]
        : ["0"];
    const key = keys[below(random, keys.length)]!;
    path += `/${key}`;
    at = Array.isArray(at) ? at[Number(key)] : isJson(at) ? at[key] : undefined;
  } while (typeof at === "object" && random.next() < 0.7);
  return path;
}

function makeOperation(random: Random, document: unknown): Operation {
  const op = ["add", "remove", "replace", "move", "copy", "test"][below(random, 6)]!;
  const path = makePath(random, document);
  const known = op === "test" && random.next() < 0.7 ? read(document, path)?.value : undefined;
  return { op, path, from: makePath(random, document), value: known ?? makeValue(random, 2) };
}
