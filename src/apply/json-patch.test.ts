/** JSON Patch: answers recorded from upstream's library, limits, and hostile input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze } from "./deep-freeze.ts";
import { applyJsonPatch, jsonPatchDepthMax } from "./json-patch.ts";
import { PatchError, type PatchErrorKind } from "./patch-error.ts";

const document = deepFreeze({ a: 1, b: { c: "x", d: [1, 2, 3] }, n: null, "a/b": 1, "x~y": 2, "": 3 });

const refused = Symbol("refused");

/** Patches of `document`, and the results of upstream's library. */
// biome-ignore format: one row a line
const recorded: readonly (readonly [unknown, unknown])[] = [
  [[{op:"add",path:"/e",value:{f:null}}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},e:{f:null},n:null,"x~y":2}],
  [[{op:"replace",path:"/a",value:"t"}], {"":3,a:"t","a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"replace",path:"/new",value:"t"}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,new:"t","x~y":2}],
  [[{op:"remove",path:"/a"}], {"":3,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"remove",path:"/none"}], refused],
  [[{op:"move",from:"/b/c",path:"/m"}], {"":3,a:1,"a/b":1,b:{d:[1,2,3]},m:"x",n:null,"x~y":2}],
  [[{op:"move",from:"/b",path:"/b/d"}], refused],
  [[{op:"copy",from:"/b/d",path:"/k"},{op:"add",path:"/k/-",value:4},{op:"add",path:"/b/d/0",value:0}], {"":3,a:1,"a/b":1,b:{c:"x",d:[0,1,2,3]},k:[1,2,3,4],n:null,"x~y":2}],
  [[{op:"copy",from:"/none",path:"/k"}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},k:null,n:null,"x~y":2}],
  [[{op:"test",path:"/b",value:{d:[1,2,3],c:"x"}}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"test",path:"/b/d",value:[3,2,1]}], refused],
  [[{op:"test",path:"/none",value:null}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"test",path:"/n",value:null}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"test",path:"/a",value:"1"}], refused],
  [[{op:"test",path:"/b/d/9",value:1}], refused],
  [[{op:"replace",path:"",value:{z:1}},{op:"add",path:"/y",value:2}], {y:2,z:1}],
  [[{op:"replace",path:"",value:"scalar"}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"add",path:"",value:{}}], refused],
  [[{op:"remove",path:""}], refused],
  [[{op:"add",path:"/b/d/-",value:4}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3,4]},n:null,"x~y":2}],
  [[{op:"add",path:"/b/d/3",value:4}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3,4]},n:null,"x~y":2}],
  [[{op:"add",path:"/b/d/4",value:4}], refused],
  [[{op:"add",path:"/b/d/-1",value:4}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3,4]},n:null,"x~y":2}],
  [[{op:"add",path:"/b/d/-4",value:4}], {"":3,a:1,"a/b":1,b:{c:"x",d:[4,1,2,3]},n:null,"x~y":2}],
  [[{op:"add",path:"/b/d/-5",value:4}], refused],
  [[{op:"replace",path:"/b/d/-1",value:9}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,9]},n:null,"x~y":2}],
  [[{op:"remove",path:"/b/d/-3"}], {"":3,a:1,"a/b":1,b:{c:"x",d:[2,3]},n:null,"x~y":2}],
  [[{op:"remove",path:"/b/d/-"}], refused],
  [[{op:"replace",path:"/b/d/01",value:9}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,9,3]},n:null,"x~y":2}],
  [[{op:"replace",path:"/b/d/+1",value:9}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,9,3]},n:null,"x~y":2}],
  [[{op:"replace",path:"/b/d/1e0",value:9}], refused],
  [[{op:"replace",path:"/b/d/3",value:9}], refused],
  [[{op:"replace",path:"/b/d/99999999999999999999",value:9}], refused],
  [[{op:"replace",path:"/a~1b",value:9},{op:"replace",path:"/x~0y",value:9},{op:"replace",path:"/",value:9}], {"":9,a:1,"a/b":9,b:{c:"x",d:[1,2,3]},n:null,"x~y":9}],
  [[{op:"remove",path:"x/a"}], {"":3,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,"x~y":2}],
  [[{op:"remove",path:"a"}], refused],
  [[{op:"add",path:"/a/b",value:1}], refused],
  [[{op:"add",path:"/n/b",value:1}], refused],
  [[{op:"add",path:"/none/b",value:1}], refused],
  [[{op:"add",path:"/q"}], {"":3,a:1,"a/b":1,b:{c:"x",d:[1,2,3]},n:null,q:null,"x~y":2}],
  [[{op:"increment",path:"/a"}], refused],
  [[{path:"/a",value:1}], refused],
  [[{op:"move",path:"/a"}], refused],
  [[{op:"remove"}], refused],
  [[null], refused],
];

for (const [patch, expected] of recorded) {
  test(`recorded: ${JSON.stringify(patch)} [PATCH-05]`, () => {
    if (expected === refused) assert.throws(() => applyJsonPatch(document, deepFreeze(patch)), ofKind("invalid"));
    else assert.deepEqual(applyJsonPatch(document, deepFreeze(patch)), expected);
  });
}

const ofKind = (kind: PatchErrorKind, message?: string) => (error: unknown) =>
  error instanceof PatchError && error.kind === kind && (message === undefined || error.message === message);

test("a patch that is no list of operations is a bad request in upstream's words [PATCH-05]", () => {
  const messages: readonly (readonly [unknown, string])[] = [
    [{ data: {} }, "object into Go value of type []handlers.jsonPatchOp"],
    ["text", "string into Go value of type []handlers.jsonPatchOp"],
    [["add"], "string into Go value of type handlers.jsonPatchOp"],
    [[{ op: 5 }], "number into Go struct field jsonPatchOp.op of type string"],
    [[{ op: "add", path: [] }], "array into Go struct field jsonPatchOp.path of type string"],
  ];
  for (const [patch, text] of messages) {
    const message = `error decoding patch: json: cannot unmarshal ${text}`;
    assert.throws(() => applyJsonPatch({}, patch), ofKind("bad-request", message));
  }
  assert.deepEqual(applyJsonPatch({ a: 1 }, null), { a: 1 });
});

test("an operation that does not apply is refused in the words of upstream's library", () => {
  const of = { a: "1", list: ["x"] };
  const cases: readonly (readonly [object, string])[] = [
    [{ op: "add", path: "/x/y" }, 'add operation does not apply: doc is missing path: "/x/y": missing value'],
    [{ op: "add", path: "/a/b" }, 'add operation does not apply: doc is missing path: "/a/b": missing value'],
    [{ op: "add", path: "/list/9/x" }, 'add operation does not apply: doc is missing path: "/list/9/x": missing value'],
    [
      { op: "add", path: "/list/5" },
      "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { op: "add", path: "/list/y" },
      `error in add for path: '/list/y': value was not a proper array index: 'y': strconv.Atoi: parsing "y": invalid syntax`,
    ],
    [{ op: "remove", path: "" }, 'remove operation does not apply: doc is missing path: "": missing value'],
    [
      { op: "remove", path: "/b~1c" },
      "error in remove for path: '/b~1c': Unable to remove nonexistent key: b/c: missing value",
    ],
    [
      { op: "remove", path: "/list/y" },
      `error in remove for path: '/list/y': strconv.Atoi: parsing "y": invalid syntax`,
    ],
    [{ op: "replace", path: "/x/y" }, "replace operation does not apply: doc is missing path: /x/y: missing value"],
    [
      { op: "replace", path: "/list/3" },
      "replace operation does not apply: doc is missing key: /list/3: missing value",
    ],
    [{ op: "move", path: "/b" }, "move operation failed to decode from: operation, missing from field: missing value"],
    [
      { op: "move", from: "/x/y", path: "/b" },
      "move operation does not apply: doc is missing from path: /x/y: missing value",
    ],
    [
      { op: "move", from: "/b", path: "/c" },
      "error in move for path: 'b': Unable to remove nonexistent key: b: missing value",
    ],
    [
      { op: "move", from: "/a", path: "/x/y" },
      "move operation does not apply: doc is missing destination path: /x/y: missing value",
    ],
    [
      { op: "copy", from: "/list/5", path: "/b" },
      "error in copy for from: '/list/5': Unable to access invalid index: 5: invalid index referenced",
    ],
    [
      { op: "copy", from: "/a", path: "/list/9" },
      "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
    ],
    [{ op: "test", path: "/x/y" }, "test operation does not apply: is missing path: /x/y: missing value"],
  ];
  for (const [operation, message] of cases) {
    assert.throws(() => applyJsonPatch(of, [operation]), ofKind("invalid", message), JSON.stringify(operation));
  }
});

test("ten thousand operations are taken, one more is too large [PATCH-05]", () => {
  const many = (count: number): unknown[] =>
    Array.from({ length: count }, () => ({ op: "test", path: "/a", value: 1 }));
  assert.equal(applyJsonPatch(document, many(10_000)), document);
  const message = "The allowed maximum operations in a JSON patch is 10000, got 10001";
  assert.throws(() => applyJsonPatch(document, many(10_001)), ofKind("too-large", message));
});

test("copies may add three MiB and no more", () => {
  const large = deepFreeze({ text: "x".repeat(1024 * 1024 - 2) });
  const copies = (count: number): unknown[] =>
    Array.from({ length: count }, (_, i) => ({ op: "copy", from: "/text", path: `/copy${i}` }));
  assert.equal(Object.keys(applyJsonPatch(large, copies(3)) as object).length, 4);
  assert.throws(() => applyJsonPatch(large, copies(4)), ofKind("invalid"));
});

test("doubling a document by copies of itself is stopped early", () => {
  const bomb = Array.from({ length: 10_000 }, () => ({ op: "copy", from: "/a", path: "/a/-" }));
  assert.throws(() => applyJsonPatch({ a: [1] }, bomb), ofKind("invalid"));
});

test("moves cannot nest a document without end", () => {
  const nest = Array.from({ length: 2 * jsonPatchDepthMax }, (_, i) => [
    { op: "add", path: `/${i % 2 === 0 ? "b" : "a"}`, value: {} },
    { op: "move", from: `/${i % 2 === 0 ? "a" : "b"}`, path: `/${i % 2 === 0 ? "b" : "a"}/x` },
  ]).flat();
  assert.throws(() => applyJsonPatch({ a: {} }, nest), ofKind("invalid", "the document would be nested too deeply"));
});

test("__proto__ and constructor are ordinary members", () => {
  const patch = JSON.parse(
    '[{"op":"add","path":"/__proto__","value":{"p":1}},{"op":"add","path":"/__proto__/q","value":2},{"op":"copy","from":"/__proto__","path":"/constructor"}]',
  ) as unknown;
  const result = applyJsonPatch(deepFreeze({}), deepFreeze(patch)) as object;
  assert.equal(JSON.stringify(result), '{"__proto__":{"p":1,"q":2},"constructor":{"p":1,"q":2}}');
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/__proto__/polluted", value: 1 }]), ofKind("invalid"));
  assert.throws(() => applyJsonPatch({}, [{ op: "remove", path: "/toString" }]), ofKind("invalid"));
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

test("numbers beyond 2^53 compare exactly", () => {
  const big = deepFreeze({ n: 9007199254740993n });
  assert.equal(applyJsonPatch(big, [{ op: "test", path: "/n", value: 9007199254740993n }]), big);
  assert.throws(() => applyJsonPatch(big, [{ op: "test", path: "/n", value: 9007199254740992 }]), ofKind("invalid"));
});

test("untouched parts are shared with the document", () => {
  const result = applyJsonPatch(document, [{ op: "replace", path: "/a", value: 2 }]) as { b: unknown };
  assert.equal(result.b, document.b);
});
