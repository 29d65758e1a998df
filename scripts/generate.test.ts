/** Tests that the committed types and kinds equal the output of the generator. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { generateTypes } from "./generate-types.ts";
import { generateFiles } from "./generate.ts";
import { root } from "./steps.ts";

test("the committed types and kinds equal those that the tables give", () => {
  const files = generateFiles();
  assert.ok(files.size > 50);
  for (const [name, text] of files) {
    assert.ok(readFileSync(join(root, "src", name), "utf8") === text, `${name} differs; run npm run generate`);
  }
});

test("a package may have any name with dots, and an unknown type is an error", () => {
  const harbor = "com.example.harbor.v1";
  const typesOfSpec = (type: string) =>
    generateTypes(
      new Map([
        [`${harbor}.Pier`, new Map([["spec", { type, isPointer: false, isOmitted: true }]])],
        [`${harbor}.PierSpec`, new Map([["name", { type: "s", isPointer: false, isOmitted: true }]])],
      ]),
    ).get("harbor/v1.ts")!;
  assert.match(typesOfSpec(`${harbor}.PierSpec`), /readonly spec: PierSpec;/);
  assert.throws(
    () => typesOfSpec(`${harbor}.Quay`),
    /harbor\/v1: the tables have no type com\.example\.harbor\.v1\.Quay/,
  );
  assert.throws(() => typesOfSpec("x"), /harbor\/v1: there is no type "x"/);
});

test("a type that is the same in a preferred version is written once", () => {
  const fields = (names: readonly string[]) =>
    new Map(names.map((name) => [name, { type: "s", isPointer: false, isOmitted: true }]));
  const harbor = "com.example.harbor";
  const files = generateTypes(
    new Map([
      [`${harbor}.v1beta1.Pier`, fields(["name", "depth"])],
      [`${harbor}.v1beta1.Quay`, fields(["name"])],
      [`${harbor}.v1.Pier`, fields(["name", "depth"])],
      [`${harbor}.v1.Quay`, fields(["name", "length"])],
    ]),
  );
  assert.match(files.get("harbor/v1.ts")!, /export interface Pier/);
  const older = files.get("harbor/v1beta1.ts")!;
  assert.match(older, /export type \{ Pier \} from "\.\/v1\.ts";/);
  assert.match(older, /export interface Quay/);
  assert.doesNotMatch(older, /interface Pier/);
});
