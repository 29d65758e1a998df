/** Cases of `npm run differ -- --definitions`: the same seed gives the same case, and many definitions are valid. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FieldPath } from "#meta/field-path.ts";
import { checkStructural, type JsonSchemaProps } from "#schema/structural.ts";
import { definitionCase } from "./definitions.ts";

void test("a seed gives the same case each time", () => {
  assert.deepEqual(definitionCase(7), definitionCase(7));
  assert.notDeepEqual(definitionCase(7), definitionCase(8));
});

/** Returns the schema as a server decodes it. */
const withoutNulls = (schema: JsonSchemaProps | undefined): JsonSchemaProps | undefined =>
  schema && (JSON.parse(JSON.stringify(schema, (_name, value: unknown) => value ?? undefined)) as JsonSchemaProps); // still one

void test("most definitions have a schema that is right, and objects; their mutations are not all alike", () => {
  let right = 0;
  let objects = 0;
  const mutations = new Set<string>();
  for (let seed = 0; seed < 30; seed++) {
    const { definition, mutation, objects: made } = definitionCase(seed);
    const { versions } = definition["spec"] as { versions: { schema?: { openAPIV3Schema?: JsonSchemaProps } }[] };
    const schema = withoutNulls(versions[0]?.schema?.openAPIV3Schema);
    if (schema !== undefined && checkStructural(schema, FieldPath.root).length === 0) right++;
    if (made.length > 0) objects++;
    mutations.add(mutation);
  }
  assert.ok(right >= 10, `${right} of 30 are right`);
  assert.ok(objects >= 15, `${objects} of 30 have objects`);
  assert.equal(mutations.size, 30);
});
