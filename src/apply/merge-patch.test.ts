/** JSON Merge Patch: answers recorded from upstream's library, refusals, and hostile input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze } from "./deep-freeze.ts";
import type { JsonObject } from "./json-value.ts";
import { applyMergePatch } from "./merge-patch.ts";
import { PatchError } from "./patch-error.ts";

/** Document, patch, and the answer of upstream's library. */
// biome-ignore format: one row a line
const recorded: readonly (readonly [JsonObject, JsonObject, JsonObject])[] = [
  [{a:"b"}, {a:"c"}, {a:"c"}],
  [{a:"b"}, {b:"c"}, {a:"b",b:"c"}],
  [{a:"b"}, {a:null}, {}],
  [{a:"b",b:"c"}, {a:null}, {b:"c"}],
  [{a:["b"]}, {a:"c"}, {a:"c"}],
  [{a:"c"}, {a:["b"]}, {a:["b"]}],
  [{a:{b:"c"}}, {a:{b:"d",c:null}}, {a:{b:"d"}}],
  [{a:[{b:"c"}]}, {a:[1]}, {a:[1]}],
  [{e:null}, {a:1}, {a:1,e:null}],
  [{}, {a:{bb:{ccc:null}}}, {a:{bb:{}}}],
  [{a:1}, {a:{x:null,y:[{z:null,w:1},null]}}, {a:{y:[{w:1},null]}}],
  [{a:{k:1}}, {a:[{z:null,w:1}]}, {a:[{z:null,w:1}]}],
  [{a:[1]}, {a:[{z:null,w:1}]}, {a:[{w:1}]}],
  [{a:null}, {a:{x:null}}, {a:{}}],
  [{a:1}, {none:null}, {a:1}],
];

for (const [document, patch, expected] of recorded) {
  test(`recorded: ${JSON.stringify(document)} with ${JSON.stringify(patch)} [PATCH-07]`, () => {
    assert.deepEqual(applyMergePatch(deepFreeze(document), deepFreeze(patch)), expected);
  });
}

test("only an object is a merge patch [PATCH-07]", () => {
  const check = (patch: unknown, message: string): void => {
    assert.throws(
      () => applyMergePatch({}, patch),
      (error) => error instanceof PatchError && error.kind === "bad-request" && error.message === message,
    );
  };
  check(null, "Invalid JSON Patch");
  const target = "into Go value of type map[string]interface {}";
  check([], `error decoding patch: json: cannot unmarshal array ${target}`);
  check("x", `error decoding patch: json: cannot unmarshal string ${target}`);
  check(7, `error decoding patch: json: cannot unmarshal number ${target}`);
  check(true, `error decoding patch: json: cannot unmarshal bool ${target}`);
});

test("a merge patch that changes nothing gives the document back", () => {
  const document = deepFreeze({ a: { b: 1 }, c: "x" });
  assert.equal(applyMergePatch(document, { a: { b: 1, none: null }, c: "x" }), document);
});

test("__proto__ in a merge patch is an ordinary member", () => {
  const patch = deepFreeze(JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":2}}') as unknown);
  const result = applyMergePatch(deepFreeze({}), patch);
  assert.equal(JSON.stringify(result), '{"__proto__":{"polluted":1},"a":{"__proto__":2}}');
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});
