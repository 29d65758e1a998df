/** Version 2 documents of other servers in this server's own. */
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

function merged(document: unknown, version = "v1"): PartsV2 {
  const parts = own();
  const text = typeof document === "string" ? document : JSON.stringify(document);
  addRemoteV2(parts, { group, version, bytes: Buffer.from(text) });
  return parts;
}

test("paths of the group version are added, no others", () => {
  const paths = {
    [path]: { get: {} },
    "/apis/g.com/v10/things": {},
    "/apis/other/v1": {},
    "/version": { get: { x: 1 } },
  };
  assert.deepEqual(Object.keys(merged({ paths }).paths), ["/version", path]);
  assert.deepEqual(merged({ paths }).paths["/version"], { get: {} });
});

test("a definition with the name of another one gets its own, references included; equal ones are one", () => {
  const reference = (name: string) => ({ $ref: `#/definitions/${name}` });
  const { paths, definitions, parameters } = merged({
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

test("a document that cannot be read adds nothing", () => {
  const deep = `{"definitions":{"Deep":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`;
  for (const document of ["", "no JSON", "7", "null", "[]", '{"paths":7,"definitions":[]}', deep]) {
    assert.deepEqual(merged(document), own(), document.slice(0, 40));
  }
});
