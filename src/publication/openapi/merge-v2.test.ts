/** Tests the merge of version 2 documents of other servers into this server's own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { addRemoteV2, type PartsV2 } from "./merge-v2.ts";

const group = "g.com";
const path = "/apis/g.com/v1/things";
const own = (): PartsV2 => ({
  paths: { "/version": { get: {} } },
  definitions: { Meta: { type: "object" }, Same: { type: "string" } },
  parameters: { "name-1": { name: "name" } },
});

async function merge(document: unknown, pause = (): Promise<void> => Promise.resolve()): Promise<PartsV2> {
  const parts = own();
  const text = typeof document === "string" ? document : JSON.stringify(document);
  await addRemoteV2(parts, { group, version: "v1", bytes: Buffer.from(text) }, pause);
  return parts;
}

test("paths of the group version are added, no others", async () => {
  const paths = {
    [path]: { get: {} },
    "/apis/g.com/v10/things": {},
    "/apis/other/v1": {},
    "/version": { get: { x: 1 } },
  };
  const { paths: all } = await merge({ paths });
  assert.deepEqual(Object.keys(all), ["/version", path]);
  assert.deepEqual(all["/version"], { get: {} });
});

test("a definition with the name of another one gets its own, references included; equal ones are one", async () => {
  const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
  const { paths, definitions, parameters } = await merge({
    paths: { [path]: { get: { schema: reference("Thing"), parameters: [{ $ref: "#/parameters/name-1" }] } } },
    definitions: {
      Meta: { type: "integer" },
      Same: { type: "string" },
      Thing: { properties: { meta: reference("Meta"), same: reference("Same"), far: reference("Missing") } },
    },
    parameters: { "name-1": { name: "other" } },
  });
  assert.deepEqual(definitions["Meta"], { type: "object" });
  assert.deepEqual(definitions["Meta_v2"], { type: "integer" });
  assert.deepEqual(definitions["Thing"], {
    properties: { meta: reference("Meta_v2"), same: reference("Same"), far: reference("Missing") },
  });
  assert.deepEqual(Object.keys(parameters), ["name-1", "name-1_v2"]);
  assert.deepEqual(paths[path], {
    get: { schema: reference("Thing"), parameters: [{ $ref: "#/parameters/name-1_v2" }] },
  });
});

test("a document that cannot be read adds nothing", async () => {
  const deep = `{"definitions":{"Deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
  for (const document of ["", "no JSON", "7", "null", "[]", '{"paths":7,"definitions":[]}', deep]) {
    assert.deepEqual(await merge(document), own(), document.slice(0, 40));
  }
});

test("others have turns while a long document is added", async () => {
  const names = Array.from({ length: 2000 }, (_, i) => `T${i}`);
  const definitions = Object.fromEntries(names.map((name) => [name, { type: "object" }]));
  let pauses = 0;
  const parts = await merge({ definitions }, () => {
    pauses++;
    return Promise.resolve();
  });
  assert.ok(names.every((name) => name in parts.definitions));
  assert.ok(pauses >= 10, `${pauses}`);
});
