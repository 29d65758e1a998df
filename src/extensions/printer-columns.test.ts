/** Paths and cells as recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeJson } from "#codec/json.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { parseJsonPath } from "#schema/jsonpath.ts";
import { printerColumns } from "./printer-columns.ts";

/** The spec as text, so that numbers have the form that a client sends. */
const spec = `{"s": "text", "i": 7, "n": 1.25, "b": true, "nul": null, "l": ["x", "y", "z"], "o": {"y": 2, "x": "q"}, "big": 9007199254740992, "neg": -3, "small": 1e-05, "items": [{"name": "a", "v": 1, "f": 1.5, "ok": true, "sub": [1]}, {"name": "b", "v": 2, "f": 2.5, "ok": false, "sub": []}, {"name": "c", "v": 3, "f": 3.5}], "m": {"a.b": "dotted", "a": "plain", "a b": "space", " a": "lead", "": "none", "a\\\\b": "bs"}, "html": {"a": "<&>"}, "uni": "é😀", "deep": {"a": {"b": {"c": "deep"}}}, "empty": "", "emptyl": [], "emptyo": {}, "numkeys": {"9": 2, "10": 1, "b": 1, "a": {"z": 1, "y": 2}}, "exp": 12345678.5, "zero": 0, "half": 0.5, "tiny": 1e-07, "fl": -1.9, "été": "ok", "d1": "2020-01-02T03:04:05Z", "d2": "x", "d3": "", "d4": "null", "d5": "0001-01-01T00:00:00Z", "d6": "2090-01-01T00:00:00Z", "d7": "2020-01-02T03:04:05.123+02:00", "d8": 5, "d9": "2020-01-02"}`;
const object = decodeJson(Buffer.from(`{"kind":"Widget","metadata":{"name":"w"},"spec":${spec}}`))
  .value as Unstructured;
const nowMs = Date.parse("2026-11-21T16:06:24Z");

function cell(type: string, jsonPath: string): unknown {
  const column = printerColumns([{ name: "C", type, jsonPath }], kubernetesDomain)[1];
  assert.ok(column !== undefined, `${jsonPath} cannot be read`);
  // The cell is compared in its sent form, since JavaScript cannot represent some numbers.
  return JSON.parse(JSON.stringify(column.cell(object, nowMs) ?? null));
}

/** The expected cells of columns of type string. */
const texts: readonly (readonly [path: string, text: string | null])[] = [
  [".spec.s", "text"],
  [".spec.i", "7"],
  [".spec.n", "1.25"],
  [".spec.b", "true"],
  [".spec.nul", "<no value>"],
  [".spec.l", '["x","y","z"]'],
  [".spec.o", '{"x":"q","y":2}'],
  [".spec.neg", "-3"],
  [".spec.small", "1e-05"],
  [".spec.l[0]", "x"],
  [".spec.l[-1]", "z"],
  [".spec.l[-2]", "y"],
  [".spec.l[5]", null],
  [".spec.l[]", "x"],
  [".spec.l[0:2]", "x"],
  [".spec.l[1:]", "y"],
  [".spec.l[:1]", "x"],
  [".spec.l[::2]", "x"],
  [".spec.l[0:0]", null],
  [".spec.l[2:1]", null],
  [".spec.l[*]", "x"],
  [".spec.l.*", "x"],
  [".spec.o.*", "2"],
  [".spec.o.x", "q"],
  [".spec.o['x']", "q"],
  [".spec.o['x','y']", "q"],
  [".spec.l[0,1]", "x"],
  [".spec.l[5,0]", null],
  [".spec.items[?(@.name=='b')].v", "2"],
  ['.spec.items[?(@.name=="b")].v', "2"],
  [".spec.items[?(@.v>1)].name", "b"],
  [".spec.items[?(@.v>=1.5)].name", null],
  [".spec.items[?(@.v==2)].name", "b"],
  [".spec.items[?(@.v==2.0)].name", null],
  [".spec.items[?(@.f==2.5)].name", "b"],
  [".spec.items[?(@.f>2)].name", null],
  [".spec.items[?(@.ok==true)].name", "a"],
  [".spec.items[?(@.ok)].name", "a"],
  [".spec.items[?(@.nope)].name", null],
  [".spec.items[?(@.name!='a')].name", "b"],
  [".spec.items[?(@.name<'b')].name", "a"],
  [".spec.items[?(@.ok<true)].name", null],
  [".spec.items[?(@.name==@.name)].name", "a"],
  [".spec.items[?(@.name=='it\\'s')].v", null],
  [".spec.items[?(@.sub[0])].name", "a"],
  [".spec.items[?(@.sub[5])].name", "a"],
  [".spec.items[?('x'==@.name)].v", null],
  [".spec.o[?(@.x)]", null],
  [".spec.items[?()].name", "a"],
  [".spec.items[*].sub[*]", "1"],
  ["..name", "w"],
  ["..v", "1"],
  ["...name", "w"],
  ["..[0]", null],
  [".spec.m.a\\.b", "dotted"],
  [".spec.m['a.b']", null],
  [".spec.m['a\\.b']", "dotted"],
  [".spec.m.a\\\\b", null],
  [".spec.m.a b", null],
  [".spec.m. a", null],
  [".spec.m", '{"":"none"," a":"lead","a":"plain","a b":"space","a.b":"dotted","a\\\\b":"bs"}'],
  [".spec.m.", "none"],
  [".", null],
  [".spec.o.x.y", null],
  [".spec.o[0]", null],
  [".spec.s[0]", null],
  [".spec.s.*", "116"],
  [".spec.nul.x", null],
  [".spec.nul[0]", null],
  [".spec.nul[?(@.x)]", null],
  [".spec.a}", null],
  [".spec.s}", "text"],
  [".spec.s}{.i", "text"],
  [".spec.s}{.l[9]}", "text"],
  [".spec.s 5", "5"],
  [".spec.s 'q'", "q"],
  [".spec.s true", "true"],
  [".spec.s word", null],
  [".spec.s range", null],
  [".spec.s end", null],
  ['.spec.s "q"', "q"],
  [".spec.s 5.5", "5.5"],
  [".spec.s 5.0", "5"],
  [".spec.s +5", "5"],
  [".spec.s -5", "-5"],
  [".spec.s 99999999999999999999", "1e+20"],
  [".spec.s@", "text"],
  [".spec.s$", "text"],
  [".spec.l[1:2:0]", null],
  [".spec.l[1:2:-1]", null],
  [".spec.l[0:3:2]", "x"],
  [".spec.l[0:9]", null],
  [".spec.html", '{"a":"\\u003c\\u0026\\u003e"}'],
  [".spec.uni", "é😀"],
  [".spec.items[?(@.name=='a' )].v", "1"],
  [".spec.items[?( @.name=='a')].v", "1"],
  [".spec.items[?(@.name == 'a')].v", "1"],
  [".spec.items[?(@['name']=='a')].v", "1"],
  [".spec.items[?(@.name)]['v']", "1"],
  [".spec.deep.a.b.c", "deep"],
  [".spec.empty", ""],
  [".spec.emptyl", "[]"],
  [".spec.emptyo", "{}"],
  [".spec.emptyl[0]", null],
  [".spec.emptyl[*]", null],
  [".spec.emptyo.*", null],
  [".spec.numkeys", '{"10":1,"9":2,"a":{"y":2,"z":1},"b":1}'],
  [".spec.exp", "1.23456785e+07"],
  [".spec.zero", "0"],
  [".spec.half", "0.5"],
  [".spec.tiny", "1e-07"],
  [".spec.items[0]['name','v']", "a"],
  [".spec.l[0]['x']", null],
  [".spec.items[1:].name", "b"],
  [".spec.i.x", null],
  [".spec.b.x", null],
  [".spec.fl", "-1.9"],
  [".spec.items.name", null],
  [".spec.l(", null],
  [".spec.l#", null],
  [".spec.été", "ok"],
  [".spec.items[?(@.v in 'a')]", '{"f":1.5,"name":"a","ok":true,"sub":[1],"v":1}'],
  [".spec.items[?(@.v<>1)].name", null],
  [".spec.sé", null],
  [".spec.l[ 0, 1 ]", "x"],
  [".spec.l[0]  ", "x"],
  [".spec.l[0].", null],
];

test("columns of texts print what their paths lead to [TABLE-03]", () => {
  for (const [path, text] of texts) assert.equal(cell("string", path), text, path);
});

const typed: readonly (readonly [path: string, type: string, cell: unknown])[] = [
  [".spec.s", "integer", null],
  [".spec.s", "number", null],
  [".spec.s", "boolean", null],
  [".spec.s", "date", "<invalid>"],
  [".spec.i", "integer", 7],
  [".spec.i", "number", 7],
  [".spec.i", "boolean", null],
  [".spec.i", "date", null],
  [".spec.n", "integer", 1],
  [".spec.n", "number", 1.25],
  [".spec.n", "boolean", null],
  [".spec.n", "date", null],
  [".spec.b", "integer", null],
  [".spec.b", "number", null],
  [".spec.b", "boolean", true],
  [".spec.b", "date", null],
  [".spec.nul", "integer", null],
  [".spec.nul", "number", null],
  [".spec.nul", "boolean", null],
  [".spec.nul", "date", null],
  [".spec.l", "integer", null],
  [".spec.l", "number", null],
  [".spec.l", "boolean", null],
  [".spec.l", "date", null],
  [".spec.o", "integer", null],
  [".spec.o", "number", null],
  [".spec.o", "boolean", null],
  [".spec.o", "date", null],
  [".spec.empty", "integer", null],
  [".spec.empty", "number", null],
  [".spec.empty", "boolean", null],
  [".spec.empty", "date", "<unknown>"],
  [".spec.numkeys", "integer", null],
  [".spec.numkeys", "number", null],
  [".spec.numkeys", "boolean", null],
  [".spec.numkeys", "date", null],
  [".spec.exp", "integer", 12345678],
  [".spec.exp", "number", 12345678.5],
  [".spec.exp", "boolean", null],
  [".spec.exp", "date", null],
  [".spec.zero", "integer", 0],
  [".spec.zero", "number", 0],
  [".spec.zero", "boolean", null],
  [".spec.zero", "date", null],
  [".spec.half", "integer", 0],
  [".spec.half", "number", 0.5],
  [".spec.half", "boolean", null],
  [".spec.half", "date", null],
  [".spec.fl", "integer", -1],
  [".spec.fl", "number", -1.9],
  [".spec.fl", "boolean", null],
  [".spec.fl", "date", null],
  [".spec.d2", "date", "<invalid>"],
  [".spec.d3", "date", "<unknown>"],
  [".spec.d4", "date", "<unknown>"],
  [".spec.d5", "date", "<unknown>"],
  [".spec.d6", "date", "<invalid>"],
  [".spec.d8", "date", null],
  [".spec.d9", "date", "<invalid>"],
  [".spec.d1", "date", "6y325d"],
  [".spec.d7", "date", "6y325d"],
];

test("cells of other types are of that type or empty [TABLE-03]", () => {
  for (const [path, type, wanted] of typed) assert.deepEqual(cell(type, path), wanted, `${path} as ${type}`);
});

test("paths that cannot be read end the columns", () => {
  const unreadable = [
    '.spec.o["x"]',
    ".spec.items[?(@.name=~'b')].name",
    "....name",
    "..*",
    ".spec.s}{.b[",
    ".spec.s 1.2.3",
    ".spec.s[",
    ".spec.s[']",
    ".spec.s[a]",
    ".spec.l[1:a]",
    ".spec.l[--1]",
    ".spec.l[-]",
    ".spec.l,",
    ".spec.items[?(@.name==)].v",
    ".spec.items[?(==1)].v",
    ".spec.items[?(@.name=='b').v",
    ".spec.items[?(@.name=='b'].v",
    ".spec.l[ 0 ]",
  ];
  for (const path of unreadable) assert.equal(parseJsonPath(path), undefined, path);
  const names = [".spec.s", ".spec.s[", ".spec.i"].map((jsonPath) => ({ name: jsonPath, type: "string", jsonPath }));
  assert.deepEqual(
    printerColumns(names, kubernetesDomain).map(({ name }) => name),
    ["Name", ".spec.s"],
  );
});

test("a kind without columns shows name and age, in the names of the domain", () => {
  const [name, age, ...others] = printerColumns(undefined, apiDomain("platform.io"));
  assert.deepEqual([name?.name, age?.name, others.length], ["Name", "Age", 0]);
  assert.match(name?.description ?? "", /https:\/\/platform\.io\/docs/);
  assert.equal(age?.cell({ ...object, metadata: { creationTimestamp: "2026-11-21T16:06:19Z" } }, nowMs), "5s");
});

test("whole numbers beyond the exact ones of JavaScript stay exact", () => {
  const big = decodeJson(Buffer.from('{"metadata":{},"n":9007199254740993}')).value as Unstructured;
  const columns = ["integer", "string"].map((type) => ({ name: type, type, jsonPath: ".n" }));
  const cells = printerColumns(columns, kubernetesDomain).map((column) => column.cell(big, nowMs));
  assert.equal(JSON.stringify(cells.slice(1)), '[9007199254740993,"9007199254740993"]');
});

test("names of prototypes are ordinary keys", () => {
  for (const path of [".constructor", ".__proto__", ".spec.toString", ".spec.o.hasOwnProperty"]) {
    assert.equal(cell("string", path), null, path);
  }
});

test("a path that multiplies what it finds is given up", () => {
  const deep = (levels: number): unknown => (levels === 0 ? { a: "x" } : { a: deep(levels - 1), b: deep(levels - 1) });
  const value = { metadata: {}, spec: deep(10) };
  assert.equal(parseJsonPath("..a..a..a..a..a")?.find(value), undefined);
  assert.equal(parseJsonPath(`${".a".repeat(20_000)}`)?.find(value)?.length, 0);
});
