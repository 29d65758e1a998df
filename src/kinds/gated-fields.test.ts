/** Tests that the table names existing gates and fields. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Schema } from "#schema/schema.ts";
import { gatedParts } from "./gated-fields.ts";

const tables = loadDefinitions(kubernetesDomain);
const gates = new Set(tables.gates.map(({ name }) => name));

/** Returns the type at a path; `undefined` if the path does not exist. */
function typeAt(schema: Schema | undefined, path: string): Schema | undefined {
  let found = schema;
  for (const name of path === "" ? [] : path.split(".")) {
    found = name === "*" ? (found?.type === "array" ? found.items : undefined) : found?.fields?.get(name)?.schema;
  }
  return found;
}

test("every gate is one of the release, and every path that of a field, in each version of its kind", () => {
  const seen = new Set<string>();
  for (const facts of tables.kinds) {
    const name = `${facts.kubernetesGroup}/${facts.kind}`;
    const schema = tables.schemaOf(facts);
    for (const { at, fields } of gatedParts(facts.kubernetesGroup, facts.kind)) {
      seen.add(name);
      for (const row of fields) {
        for (const gate of row.gates) assert.ok(gates.has(gate), `${name}: there is no gate ${gate}`);
        for (const path of [...row.paths, ...(row.usedAt ?? [])]) {
          const whole = at === "" ? path : `${at}.${path}`;
          assert.ok(typeAt(schema, whole) !== undefined, `${name}: there is no field ${whole}`);
        }
      }
    }
  }
  assert.ok(seen.has("/Pod") && seen.has("batch/CronJob") && seen.has("resource.k8s.io/ResourceClaim"));
});
