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
    for (const [field, said] of fields) {
      assert.ok(known.has(field), `${name} has no field ${field}`);
      assert.ok(said.split(" ").length >= 5, `${name}.${field} says too little`);
    }
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

/** Returns the words of a text that carry its meaning, in the singular. */
function meaningOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  const small = new Set("a an the of that it is its for and or in with are to by".split(" "));
  return new Set(words.filter((word) => !small.has(word)).map((word) => word.replace(/s$/, "")));
}

test("no type only repeats what each field that holds it says, since readers see both", () => {
  /** Whether each field that holds a type says all that its own description says, by name of the type. */
  const repeated = new Map<string, boolean>();
  for (const [name, { fields }] of descriptions) {
    if (tables.type(name)?.published !== true) continue;
    for (const [field, text] of fields) {
      const { schema } = tables.schema(name)!.fields!.get(field)!;
      const held = schema.name ?? schema.items?.name;
      const own = held === undefined ? "" : (descriptions.get(held)?.text ?? "");
      if (held === undefined || own === "") continue;
      const says = schema.name !== undefined && meaningOf(own).isSubsetOf(meaningOf(text));
      repeated.set(held, says && (repeated.get(held) ?? true));
    }
  }
  assert.ok(repeated.size > 100);
  assert.deepEqual([...repeated].filter(([, says]) => says).map(([name]) => name), []);
});

test("names and texts are those of the domain", () => {
  const renamed = loadDescriptions(apiDomain("platform.io"));
  assert.match(renamed.get("io.platform.api.core.v1.Secret")!.fields.get("type")!, / platform\.io\/tls;/);
  assert.equal(renamed.get("io.k8s.api.core.v1.Secret"), undefined);
});
