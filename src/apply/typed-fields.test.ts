/** Comparison of typed values: results recorded from structured-merge-diff, and cases of plain writes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Field, Schema } from "#schema/schema.ts";
import { seededRandom } from "#std/random.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { compareElements } from "./field-set.ts";
import type { JsonObject } from "./json-value.ts";
import { configMap, everyTopology, workload } from "./schemas-for-tests.ts";
import { compareObjects, compareTyped, fieldsOf } from "./typed-fields.ts";

/** Old value, new value, the differences that upstream's library finds, and the fields of the new one that it finds. */
// biome-ignore format: one row a line
const recorded: readonly (readonly [JsonObject, JsonObject, JsonObject, JsonObject])[] = [
  [{}, {}, {}, {}],
  [{}, {s:"x"}, {added:{"f:s":{}}}, {"f:s":{}}],
  [{s:"x"}, {s:"y"}, {modified:{"f:s":{}}}, {"f:s":{}}],
  [{s:"x"}, {}, {removed:{"f:s":{}}}, {}],
  [{s:null}, {s:"x"}, {modified:{"f:s":{}}}, {"f:s":{}}],
  [{s:"x"}, {s:null}, {modified:{"f:s":{}}}, {"f:s":{}}],
  [{i:1}, {i:2,b:true}, {added:{"f:b":{}},modified:{"f:i":{}}}, {"f:b":{},"f:i":{}}],
  [{}, {st:{}}, {added:{"f:st":{}}}, {"f:st":{}}],
  [{}, {st:{s:"x",set:[]}}, {added:{"f:st":{".":{},"f:s":{},"f:set":{}}}}, {"f:st":{"f:s":{}}}],
  [{st:{}}, {st:{s:"x"}}, {added:{"f:st":{"f:s":{}}}}, {"f:st":{"f:s":{}}}],
  [{st:{s:"x"}}, {st:{}}, {removed:{"f:st":{"f:s":{}}}}, {"f:st":{}}],
  [{st:{s:"x"}}, {}, {removed:{"f:st":{".":{},"f:s":{}}}}, {}],
  [{st:null}, {st:{}}, {modified:{"f:st":{}}}, {"f:st":{}}],
  [{st:null}, {st:{s:"x"}}, {added:{"f:st":{"f:s":{}}}}, {"f:st":{"f:s":{}}}],
  [{st:{s:"x"}}, {st:null}, {removed:{"f:st":{"f:s":{}}}}, {"f:st":{}}],
  [{}, {at:{s:"x"}}, {added:{"f:at":{}}}, {"f:at":{}}],
  [{at:{s:"x",i:1}}, {at:{i:1,s:"x"}}, {}, {"f:at":{}}],
  [{at:{s:"x"}}, {at:{s:"y"}}, {modified:{"f:at":{}}}, {"f:at":{}}],
  [{}, {m:{a:"1","b/c":"2"}}, {added:{"f:m":{".":{},"f:a":{},"f:b/c":{}}}}, {"f:m":{"f:a":{},"f:b/c":{}}}],
  [{m:{a:"1",b:"2"}}, {m:{a:"1",b:"3",c:"4"}}, {added:{"f:m":{"f:c":{}}},modified:{"f:m":{"f:b":{}}}}, {"f:m":{"f:a":{},"f:b":{},"f:c":{}}}],
  [{m:{a:"1"}}, {m:{}}, {removed:{"f:m":{"f:a":{}}}}, {"f:m":{}}],
  [{m:{a:"1"}}, {am:{a:"1"}}, {added:{"f:am":{}},removed:{"f:m":{".":{},"f:a":{}}}}, {"f:am":{}}],
  [{ms:{k:{s:"x"}}}, {ms:{k:{s:"y"},l:{}}}, {added:{"f:ms":{"f:l":{}}},modified:{"f:ms":{"f:k":{"f:s":{}}}}}, {"f:ms":{"f:k":{".":{},"f:s":{}},"f:l":{}}}],
  [{}, {set:["b","a",10,2,true,1.5,"a<b>&"]}, {added:{"f:set":{".":{},"v:1.5":{},"v:2":{},"v:10":{},"v:\"a\"":{},"v:\"a\\u003cb\\u003e\\u0026\"":{},"v:\"b\"":{},"v:true":{}}}}, {"f:set":{"v:1.5":{},"v:2":{},"v:10":{},"v:\"a\"":{},"v:\"a\\u003cb\\u003e\\u0026\"":{},"v:\"b\"":{},"v:true":{}}}],
  [{set:["a","b"]}, {set:["b","c"]}, {added:{"f:set":{"v:\"c\"":{}}},removed:{"f:set":{"v:\"a\"":{}}}}, {"f:set":{"v:\"b\"":{},"v:\"c\"":{}}}],
  [{set:["a"]}, {set:["a","a"]}, {added:{"f:set":{"v:\"a\"":{}}},removed:{"f:set":{"v:\"a\"":{}}}}, {"f:set":{"v:\"a\"":{}}}],
  [{set:["a","a"]}, {set:["a"]}, {added:{"f:set":{"v:\"a\"":{}}},removed:{"f:set":{"v:\"a\"":{}}}}, {"f:set":{"v:\"a\"":{}}}],
  [{set:["a","a"]}, {set:["a","a","a"]}, {modified:{"f:set":{"v:\"a\"":{}}}}, {"f:set":{"v:\"a\"":{}}}],
  [{set:["a","a"]}, {}, {removed:{"f:set":{".":{},"v:\"a\"":{}}}}, {}],
  [{set:[]}, {set:null}, {modified:{"f:set":{}}}, {"f:set":{}}],
  [{set:null}, {set:["a"]}, {added:{"f:set":{"v:\"a\"":{}}}}, {"f:set":{"v:\"a\"":{}}}],
  [{}, {kl:[{name:"x",v:"1"},{name:"a"}]}, {added:{"f:kl":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}}}, {"f:kl":{"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}}],
  [{kl:[{name:"x",v:"1"},{name:"y"}]}, {kl:[{name:"y"},{name:"x",v:"2"}]}, {modified:{"f:kl":{"k:{\"name\":\"x\"}":{"f:v":{}}}}}, {"f:kl":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}},"k:{\"name\":\"y\"}":{".":{},"f:name":{}}}}],
  [{kl:[{name:"x"}]}, {kl:[{name:"x",sub:{s:"t"}}]}, {added:{"f:kl":{"k:{\"name\":\"x\"}":{"f:sub":{".":{},"f:s":{}}}}}}, {"f:kl":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:sub":{"f:s":{}}}}}],
  [{kl:[{name:"x",v:"1"}]}, {kl:[{name:"x",v:"1"},{name:"x",v:"2"}]}, {added:{"f:kl":{"k:{\"name\":\"x\"}":{}}},removed:{"f:kl":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}}}, {"f:kl":{"k:{\"name\":\"x\"}":{}}}],
  [{kl:[{name:"x"},{name:"x",v:"1"}]}, {kl:[{name:"x",v:"1"}]}, {added:{"f:kl":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}},removed:{"f:kl":{"k:{\"name\":\"x\"}":{}}}}, {"f:kl":{"k:{\"name\":\"x\"}":{".":{},"f:name":{},"f:v":{}}}}],
  [{}, {kl2:[{port:80},{port:80,proto:"UDP"},{port:8}]}, {added:{"f:kl2":{".":{},"k:{\"port\":8,\"proto\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"proto\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"proto\":\"UDP\"}":{".":{},"f:port":{},"f:proto":{}}}}}, {"f:kl2":{"k:{\"port\":8,\"proto\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"proto\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":80,\"proto\":\"UDP\"}":{".":{},"f:port":{},"f:proto":{}}}}],
  [{kl2:[{port:80}]}, {kl2:[{port:80,proto:"TCP"}]}, {added:{"f:kl2":{"k:{\"port\":80,\"proto\":\"TCP\"}":{"f:proto":{}}}}}, {"f:kl2":{"k:{\"port\":80,\"proto\":\"TCP\"}":{".":{},"f:port":{},"f:proto":{}}}}],
  [{al:["a"]}, {al:["b"]}, {modified:{"f:al":{}}}, {"f:al":{}}],
  [{}, {al:[]}, {added:{"f:al":{}}}, {"f:al":{}}],
  [{al:[]}, {al:null}, {modified:{"f:al":{}}}, {"f:al":{}}],
  [{}, {any:{a:{b:1},l:[{c:1}],n:null,e:{}}}, {added:{"f:any":{".":{},"f:a":{".":{},"f:b":{}},"f:e":{},"f:l":{},"f:n":{}}}}, {"f:any":{"f:a":{".":{},"f:b":{}},"f:e":{},"f:l":{},"f:n":{}}}],
  [{any:{a:{b:1}}}, {any:{a:{b:2,c:3}}}, {added:{"f:any":{"f:a":{"f:c":{}}}},modified:{"f:any":{"f:a":{"f:b":{}}}}}, {"f:any":{"f:a":{".":{},"f:b":{},"f:c":{}}}}],
  [{any:{a:1}}, {any:"text"}, {modified:{"f:any":{}},removed:{"f:any":{"f:a":{}}}}, {"f:any":{}}],
  [{any:"text"}, {any:{a:1}}, {added:{"f:any":{"f:a":{}}},modified:{"f:any":{}}}, {"f:any":{"f:a":{}}}],
  [{any:[1]}, {any:[1,2]}, {modified:{"f:any":{}}}, {"f:any":{}}],
  [{any:[1]}, {any:{a:1}}, {added:{"f:any":{"f:a":{}}},modified:{"f:any":{}}}, {"f:any":{"f:a":{}}}],
  [{any:null}, {any:{a:1}}, {added:{"f:any":{"f:a":{}}}}, {"f:any":{"f:a":{}}}],
  [{any:null}, {any:1}, {modified:{"f:any":{}}}, {"f:any":{}}],
  [{any:{}}, {any:null}, {modified:{"f:any":{}}}, {"f:any":{}}],
  [{any:1}, {any:{}}, {modified:{"f:any":{}}}, {"f:any":{}}],
  [{raw:{a:1}}, {raw:{a:1,b:2}}, {modified:{"f:raw":{}}}, {"f:raw":{}}],
  [{raw:{a:1,b:2}}, {raw:{b:2,a:1}}, {}, {"f:raw":{}}],
  [{}, {m:{"😀":"1","￮":"2",z:"3"}}, {added:{"f:m":{".":{},"f:z":{},"f:￮":{},"f:😀":{}}}}, {"f:m":{"f:z":{},"f:￮":{},"f:😀":{}}}],
];

for (const [old, next, changes, fields] of recorded) {
  test(`recorded: ${JSON.stringify(old)} to ${JSON.stringify(next)} [MF-10]`, () => {
    const errors = compareTyped(everyTopology, deepFreeze(old), deepFreeze(next));
    assert.equal(JSON.stringify(errors), JSON.stringify({ added: {}, modified: {}, removed: {}, ...changes }));
    assert.equal(JSON.stringify(fieldsOf(everyTopology, next)), JSON.stringify(fields));
  });
}

test("structs and maps of scalars have the fields of their members, whatever their names, order and number", () => {
  const text = { type: "string" } as const;
  const names = [...Array.from({ length: 12 }, (_, at) => `n${at}`), "a,b", "\ue000", "😀"];
  const struct: Schema = { type: "object", fields: new Map(names.map((name) => [name, { schema: text }])) };
  const schema: Schema = {
    type: "object",
    fields: new Map<string, Field>([
      ["s", { schema: struct }],
      ["m", { schema: { type: "map", items: text } }],
    ]),
  };
  const check = (name: "s" | "m", members: readonly string[]): void => {
    const value = { [name]: Object.fromEntries(members.map((member) => [member, "x"])) };
    const { added } = compareTyped(schema, {}, value);
    const sorted = members.map((member) => `f:${member}`).sort(compareElements);
    assert.deepEqual(Object.keys(added[`f:${name}`]!), members.length === 0 ? [] : [".", ...sorted]);
  };
  const random = seededRandom(1);
  for (let at = 0; at < 2000; at++) {
    const members = names.filter(() => random.next() < 0.3).sort(() => random.next() - 0.5);
    check("s", members);
    check("m", members);
    check("s", [...members, `unknown-${at}`]);
  }
});

test("the fields of a value do not depend on the values before it", () => {
  const random = seededRandom(2);
  const pick = <T>(...values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!;
  const members = (names: readonly string[], value: () => unknown): JsonObject =>
    Object.fromEntries(
      names
        .filter(() => random.next() < 0.5)
        .sort(() => random.next() - 0.5)
        .map((name) => [name, value()]),
    );
  const scalar = (): unknown => pick<unknown>("x", 1, true, null);
  const sub = (): unknown => pick<unknown>(members(["s", "i", "unknown"], scalar), {}, null);
  const item = (): unknown =>
    pick<unknown>(
      members(["name", "v", "sub"], () => pick<unknown>("x", "y", sub())),
      { name: pick("x", "y"), sub: sub() },
    );
  const list = (of: () => unknown): unknown[] => Array.from({ length: pick(0, 1, 2, 3) }, of);
  const value = (): JsonObject => ({
    st: pick<unknown>(sub(), null),
    m: members(["a", "b", "c"], scalar),
    ms: members(["a", "b"], sub),
    set: list(() => pick<unknown>("a", "b", 1, null)),
    kl: pick<unknown>(list(item), { name: "x" }),
    kl2: list(() => ({ port: pick<unknown>(80, 81, "80"), proto: pick("TCP", "UDP"), sub: sub() })),
    any: pick<unknown>(members(["a", "b"], sub), list(scalar)),
  });
  for (let at = 0; at < 2000; at++) {
    const next = value();
    const { added } = compareTyped(everyTopology, {}, next);
    assert.equal(JSON.stringify(added), JSON.stringify(compareTyped(structuredClone(everyTopology), {}, next).added));
  }
});

test("objects with the same members share the nodes of their fields", () => {
  const created = (text: string) =>
    compareTyped(everyTopology, {}, { st: { s: text }, kl: [{ name: "a", sub: { s: text, i: 1 } }], m: { l: text } });
  const [one, other] = [created("1").added, created("2").added];
  assert.deepEqual(one, other);
  for (const name of ["f:st", "f:kl", "f:m"]) assert.equal(one[name], other[name]);
});

test("values that are the same object are not looked into", () => {
  const trap = new Proxy<Record<string, unknown>>({}, { ownKeys: () => assert.fail("looked into") });
  const changes = compareTyped(everyTopology, { any: trap, s: "a" }, { any: trap, s: "b" });
  assert.deepEqual(changes, { added: {}, modified: { "f:s": {} }, removed: {} });
});

test("fields of metadata that the server sets are in no field set [MF-12]", () => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", uid: "u", labels: { l: "1" } } };
  const changes = compareObjects(configMap, undefined, deepFreeze(object));
  assert.deepEqual(changes.added, { "f:metadata": { "f:labels": { ".": {}, "f:l": {} } } });
});

test("a created object is compared with the zero value of its type", () => {
  const spec = { replicas: 0, strategy: { type: "x" }, containers: [{ name: "c" }], volumes: [{ name: "v" }] };
  const { added, modified, removed } = compareObjects(workload, undefined, { metadata: {}, spec, status: {} });
  assert.equal(
    JSON.stringify({ added, modified, removed }),
    '{"added":{"f:spec":{"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:name":{}}},"f:replicas":{},"f:strategy":{"f:type":{}},' +
      '"f:volumes":{".":{},"k:{\\"name\\":\\"v\\"}":{".":{},"f:name":{}}}}},"modified":{},"removed":{}}',
  );
});

test("items of a keyed list without their key are passed over", () => {
  const changes = compareTyped(everyTopology, {}, { kl: [{ v: "1" }, null, 5, { name: "x" }] });
  assert.deepEqual(changes.added, { "f:kl": { ".": {}, 'k:{"name":"x"}': { ".": {}, "f:name": {} } } });
});
