/** Strategic merge patch: answers and errors recorded from upstream's library, and hostile input. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "#schema/schema.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { deepFreeze } from "./deep-freeze.ts";
import type { JsonObject } from "./json-value.ts";
import { PatchError, type PatchErrorKind } from "./patch-error.ts";
import { everyStrategy } from "./schemas-for-tests.ts";
import { applyStrategicMergePatch } from "./strategic-merge-patch.ts";

// biome-ignore format: a table
const original: JsonObject = deepFreeze({
  name: "t", tags: ["a", "b", "c"], plain: ["q"], labels: { l: "1", m: "2" }, union: { type: "A", a: { name: "n" } },
  items: [{ name: "x", value: "1", tags: ["p"] }, { name: "y", value: "2" }, { name: "z" }],
  ports: [{ port: 80, label: "http" }, { port: 443, label: "https" }], atomic: [{ name: "at" }],
  volumes: [{ name: "v", value: "1", count: 2 }], mapOf: { k: { name: "i" } }, replace: { name: "r", value: "1" },
  raw: { a: { b: 1 } },
});

class Refusal {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}
const error = (message: string): Refusal => new Refusal(message);

/** Patches of `original`, and the members that upstream's library changes, or its error. */
// biome-ignore format: one row a line
const recorded: readonly (readonly [JsonObject, JsonObject | Refusal])[] = [
  [{name:"u",labels:{l:null,n:"3"}}, {name:"u",labels:{m:"2",n:"3"}}],
  [{labels:null,tags:null}, {tags:undefined,labels:undefined}],
  [{fresh:{x:1,y:null,z:{q:null}}}, {fresh:{x:1,z:{}}}],
  [{items:[{name:"y",value:"9"}]}, {items:[{name:"x",tags:["p"],value:"1"},{name:"y",value:"9"},{name:"z"}]}],
  [{items:[{name:"w"}]}, {items:[{name:"w"},{name:"x",tags:["p"],value:"1"},{name:"y",value:"2"},{name:"z"}]}],
  [{items:[{name:"w"},{name:"y",count:1},{name:"v"}]}, {items:[{name:"w"},{name:"x",tags:["p"],value:"1"},{count:1,name:"y",value:"2"},{name:"v"},{name:"z"}]}],
  [{items:[{name:"x",value:null,tags:["o"]}]}, {items:[{name:"x",tags:["o","p"]},{name:"y",value:"2"},{name:"z"}]}],
  [{items:[]}, {}],
  [{items:[{name:"new",value:null}]}, {items:[{name:"new",value:null},{name:"x",tags:["p"],value:"1"},{name:"y",value:"2"},{name:"z"}]}],
  [{items:[{$patch:"delete",name:"y"}]}, {items:[{name:"x",tags:["p"],value:"1"},{name:"z"}]}],
  [{items:[{$patch:"delete",name:"none"}]}, {}],
  [{items:[{$patch:"delete",name:"x"},{name:"w"},{$patch:"delete",name:"z"}]}, {items:[{name:"w"},{name:"y",value:"2"}]}],
  [{items:[{$patch:"replace"},{name:"only"}]}, {items:[{name:"only"}]}],
  [{items:[{name:"only"},{$patch:"replace"}]}, {items:[{name:"only"}]}],
  [{items:[{$patch:"replace"}]}, {items:[]}],
  [{labels:{$patch:"replace",z:"1"}}, {labels:{z:"1"}}],
  [{labels:{$patch:"delete"}}, {labels:{}}],
  [{ports:[{port:443,label:"tls"},{port:8080}]}, {ports:[{label:"http",port:80},{label:"tls",port:443},{port:8080}]}],
  [{ports:[{port:"443"}]}, {ports:[{port:"443"},{label:"http",port:80},{label:"https",port:443}]}],
  [{tags:["d"]}, {tags:["d","a","b","c"]}],
  [{tags:["b","d"]}, {tags:["a","b","d","c"]}],
  [{tags:["c","a"]}, {tags:["b","c","a"]}],
  [{"$deleteFromPrimitiveList/tags":["b","none"]}, {tags:["a","c"]}],
  [{"$deleteFromPrimitiveList/tags":["a"],tags:["e"]}, {tags:["e","b","c"]}],
  [{"$deleteFromPrimitiveList/none":["a"]}, {}],
  [{"$setElementOrder/tags":["c","a","b"]}, {tags:["c","a","b"]}],
  [{"$setElementOrder/tags":["d","a","c"],tags:["d"]}, {tags:["d","a","b","c"]}],
  [{"$setElementOrder/items":[{name:"z"},{name:"x"}]}, {items:[{name:"y",value:"2"},{name:"z"},{name:"x",tags:["p"],value:"1"}]}],
  [{"$setElementOrder/items":[{name:"w"},{name:"x"}],items:[{name:"w"},{$patch:"delete",name:"y"}]}, {items:[{name:"z"},{name:"w"},{name:"x",tags:["p"],value:"1"}]}],
  [{"$setElementOrder/items":[{name:"w"}],items:[{name:"w"},{$patch:"delete",name:"x"}]}, {items:[{name:"y",value:"2"},{name:"z"},{name:"w"}]}],
  [{"$setElementOrder/none":["a"]}, error("unable to find api field in struct Testing for the json field \"none\"")],
  [{"$setElementOrder/labels":["a"]}, error("expected a []interface {}, but received a map[string]interface {}")],
  [{"$setElementOrder/tags":"a"}, error("expected a []interface {}, but received a string")],
  [{$setElementOrder:["a"]}, error("invalid patch format of setElementOrder list")],
  [{"$setElementOrder/tags":["b"],tags:["c"]}, error("The order in patch list:\n[c]\n doesn't match $setElementOrder list:\n[b]\n")],
  [{"$setElementOrder/items":[{x:1}]}, error("map: map[x:1] does not contain declared merge key: name")],
  [{"$setElementOrder/plain":["r","q"],plain:["r"]}, {plain:["r"]}],
  [{"$setElementOrder/tags":[],tags:["e","f"]}, {tags:["a","b","c","f","e"]}],
  [{union:{$retainKeys:["type"],type:"B"}}, {union:{type:"B"}}],
  [{union:{$retainKeys:["type","b"],type:"B",b:{name:"m"}}}, {union:{b:{name:"m"},type:"B"}}],
  [{union:{$retainKeys:["type"],b:{name:"m"}}}, error("invalid patch format of retainKeys")],
  [{union:{$retainKeys:"type"}}, error("invalid patch format of retainKeys")],
  [{volumes:[{name:"v",$retainKeys:["name","count"],count:3}]}, {volumes:[{count:3,name:"v"}]}],
  [{plain:["r"]}, {plain:["r"]}],
  [{atomic:[{$patch:"replace"},{name:"b"}]}, {atomic:[{$patch:"replace"},{name:"b"}]}],
  [{atomic:[{name:"b",value:null}]}, {atomic:[{name:"b",value:null}]}],
  [{replace:{value:"2"}}, {replace:{value:"2"}}],
  [{mapOf:{k:{value:"v"}}}, error("merging an object in json but data type is not struct, instead is: map")],
  [{mapOf:{o:{value:"v"}}}, {mapOf:{k:{name:"i"},o:{value:"v"}}}],
  [{raw:{a:{c:2}}}, error("unable to find api field in struct RawExtension for the json field \"a\"")],
  [{raw:5}, {raw:5}],
  [{items:{name:"no list"}}, {items:{name:"no list"}}],
  [{labels:["no map"]}, {labels:["no map"]}],
  [{items:[{value:"no key"}]}, error("map: map[value:no key] does not contain declared merge key: name")],
  [{items:[{$patch:"delete"}]}, error("map: map[$patch:delete] does not contain declared merge key: name")],
  [{items:[{$patch:"merge",name:"x"}]}, error("merging lists cannot yet be specified in the patch")],
  [{items:[{$patch:"odd",name:"x"}]}, error("unknown patch type: odd in map: map[$patch:odd name:x]")],
  [{items:[{$patch:5,name:"x"}]}, error("unknown patch type: %!s(int64=5) in map: map[$patch:5 name:x]")],
  [{items:["x"]}, error("list element types are not identical: [[map[name:x tags:[p] value:1] map[name:y value:2] map[name:z]] [x]]")],
  [{tags:[["x"]]}, error("list element types are not identical: [[a b c] [[x]]]")],
  [{tags:[1]}, error("list element types are not identical: [[a b c] [1]]")],
  [{tags:[null]}, error("list element types are not identical: [[a b c] [<nil>]]")],
  [{$deleteFromPrimitiveList:["x"]}, error("invalid patch format of primitive list")],
  [{$patch:"odd"}, error("unknown patch type: odd in map: map[$patch:odd]")],
  [{nested:{items:[{name:"n",$patch:"delete"},{name:"m",$retainKeys:["name"]}]}}, {nested:{items:[{$retainKeys:["name"],name:"m"}]}}],
];

for (const [patch, expected] of recorded) {
  test(`recorded: ${JSON.stringify(patch)} [PATCH-08]`, () => {
    const run = (): JsonObject => applyStrategicMergePatch(original, deepFreeze(patch), everyStrategy);
    if (expected instanceof Refusal) {
      assert.throws(run, (thrown) => thrown instanceof PatchError && thrown.message === expected.message);
      return;
    }
    const wanted = Object.entries({ ...original, ...expected }).filter(([, value]) => value !== undefined);
    assert.deepEqual(run(), Object.fromEntries(wanted));
  });
}

const check = (patch: unknown, expected: JsonObject): void =>
  assert.deepEqual(applyStrategicMergePatch(original, deepFreeze(patch), everyStrategy), expected);

test("the whole object can be replaced or emptied [PATCH-08]", () => {
  check({ $patch: "replace", name: "whole" }, { name: "whole" });
  check({ $patch: "delete" }, {});
  check(null, original);
});

test("refusals say which answer they are [PATCH-08]", () => {
  const refusals: readonly (readonly [unknown, PatchErrorKind, string])[] = [
    [[], "bad-request", "json: cannot unmarshal array into Go value of type map[string]interface {}"],
    ["x", "bad-request", "json: cannot unmarshal string into Go value of type map[string]interface {}"],
    [{ union: { $retainKeys: "type" } }, "bad-request", "invalid patch format of retainKeys"],
    [{ $setElementOrder: [] }, "bad-request", "invalid patch format of setElementOrder list"],
    [{ $deleteFromPrimitiveList: [] }, "bad-request", "invalid patch format of primitive list"],
    [{ items: [{}] }, "internal", "map: map[] does not contain declared merge key: name"],
    [{ items: [{ name: { a: 1 } }] }, "invalid", "merge key name is no scalar"],
  ];
  for (const [patch, kind, message] of refusals) {
    assert.throws(
      () => applyStrategicMergePatch(original, patch, everyStrategy),
      (thrown) => thrown instanceof PatchError && thrown.kind === kind && thrown.message === message,
    );
  }
});

test("__proto__ in a strategic patch is an ordinary member", () => {
  const patch = JSON.parse('{"labels":{"__proto__":"x"},"__proto__":{"polluted":1}}') as unknown;
  const result = applyStrategicMergePatch(original, deepFreeze(patch), everyStrategy);
  assert.equal(JSON.stringify(result["labels"]), '{"l":"1","m":"2","__proto__":"x"}');
  assert.equal(Object.getPrototypeOf(result), Object.prototype);
});

test("long lists merge in time proportional to their length", async () => {
  const schema: Schema = everyStrategy;
  await growsInProportion(10_000, (length) => {
    const items = Array.from({ length }, (_, i) => ({ name: `n${i}` }));
    const patch = items.map(({ name }) => ({ name, value: "v" })).reverse();
    const result = applyStrategicMergePatch({ items }, { items: patch }, schema) as { items: JsonObject[] };
    assert.deepEqual(result.items[0], { name: `n${length - 1}`, value: "v" });
  });
});

test("many deletions from a long list take time proportional to both", async () => {
  await growsInProportion(5000, (length) => {
    const items = Array.from({ length }, (_, i) => ({ name: `n${i}` }));
    const deleted = Array.from({ length: 6 * length }, (_, i) => ({ $patch: "delete", name: `n${i % (length - 1)}` }));
    const result = applyStrategicMergePatch({ items }, { items: deleted }, everyStrategy);
    assert.deepEqual(result["items"], [{ name: `n${length - 1}` }]);
  });
});
