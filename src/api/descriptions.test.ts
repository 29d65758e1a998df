/** Tests that descriptions name only existing types and fields, and cover the common kinds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { loadDefinitions } from "./definitions.ts";
import { loadDescriptions } from "./descriptions.ts";

const tables = loadDefinitions(kubernetesDomain);
const descriptions = loadDescriptions(kubernetesDomain);

/** The beginnings of descriptions without a noun as their head, such as "What was observed." */
const fragment = /^(About|As|By|How|It|Its|Not|Of|On|Since|Such|That|To|What|When|Where|Which|Who|Whose|Why)\b/;

test("every description is a sentence about a type or field that there is", () => {
  assert.ok(descriptions.size > 150);
  for (const [name, { text, fields }] of descriptions) {
    const known = tables.schema(name)?.fields;
    assert.ok(known !== undefined, `no type ${name}`);
    for (const field of fields.keys()) assert.ok(known.has(field), `${name} has no field ${field}`);
    for (const sentence of [...(text === "" ? [] : [text]), ...fields.values()]) {
      assert.match(sentence, /^[A-Z0-9*"].*\.$/, name);
      assert.ok(sentence.length < 300, `${name}: too long`);
      assert.doesNotMatch(sentence, fragment, name);
      assert.ok(!sentence.includes("*/"), `${name}: it would end a comment`);
    }
  }
});

test("every field of every published type is described, except those that all kinds share", () => {
  const shared = new Set(["kind", "apiVersion", "metadata", "items"]);
  const missing: string[] = [];
  let count = 0;
  for (const name of tables.typeNames()) {
    const { fields } = tables.schema(name)!;
    const { kinds, published } = tables.type(name)!;
    if (fields === undefined || !published) continue;
    const described = descriptions.get(name);
    if (kinds.length === 1 && !fields.has("items") && (described?.text ?? "") === "") missing.push(name);
    for (const field of fields.keys()) {
      if (kinds.length > 0 && shared.has(field)) continue;
      count++;
      if (described?.fields.has(field) !== true) missing.push(`${name}.${field}`);
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(count > 2000, `${count} fields`);
});

test("names and texts are those of the domain", () => {
  const renamed = loadDescriptions(apiDomain("platform.io"));
  assert.match(renamed.get("io.platform.api.core.v1.Secret")!.fields.get("type")!, / platform\.io\/tls;/);
  assert.equal(renamed.get("io.k8s.api.core.v1.Secret"), undefined);
});
