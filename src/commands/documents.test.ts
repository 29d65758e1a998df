/** The documents of files for `binnacle import`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocuments } from "./documents.ts";

/** Returns the names of the objects in a text, and its problems with their lines. */
async function read(text: string): Promise<string[]> {
  const texts: string[] = [];
  const lines = (async function* () {
    await Promise.resolve();
    yield* text.split("\n");
  })();
  for await (const document of readDocuments(lines)) {
    texts.push(
      "object" in document ? (document.object.metadata.name ?? "") : `line ${document.line}: ${document.problem}`,
    );
  }
  return texts;
}

const map = (name: string): string => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;
const json = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

test("YAML documents and JSON values are read one after the other, in any mixture", async () => {
  const inOneLine = JSON.stringify(json("c"));
  const inManyLines = JSON.stringify(json("d{"), undefined, 2);
  const text = `# head\n---\n${map("a")}---\n# nothing\n---\n${map("b")}...\n${inOneLine}\n${inManyLines}\n\n${inOneLine}\n---\n${map("e")}`;
  assert.deepEqual(await read(text), ["a", "b", "c", "d{", "c", "e"]);
  assert.deepEqual(await read(""), []);
  assert.deepEqual(await read("---\n---\n"), []);
});

test("lines of dashes within a value do not end a document", async () => {
  const text = `${map("a")}data:\n  k: |\n    ---\n    x\n---\n${map("b")}`;
  assert.deepEqual(await read(text), ["a", "b"]);
});

test("the objects of lists are read one by one", async () => {
  const list = JSON.stringify({ apiVersion: "v1", kind: "List", items: [json("a"), { ...json("b"), kind: "Secret" }] });
  assert.deepEqual(await read(list), ["a", "b"]);
});

test("a document that is no object is reported with its line, and the next document is read", async () => {
  const text = `${map("a")}---\nkey: [\n---\n- 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {}\n---\na: 1\n---\n${map("b")}`;
  const [first, broken, list, nameless, other, last, ...more] = await read(text);
  assert.deepEqual([first, last, more], ["a", "b", []]);
  assert.match(broken!, /^line 5: yaml: /);
  assert.equal(list, "line 7: is no object");
  assert.equal(nameless, "line 9: ConfigMap without a name");
  assert.equal(other, "line 13: has no apiVersion, kind and metadata");
});

test("a JSON value without an end is an error", async () => {
  assert.match((await read(`{"apiVersion": "v1",\n`))[0]!, /^line 1: /);
});

test("metadata of a wrong type is an error, and empty fields count as absent", async () => {
  const withField = (name: string, field: string): string =>
    `---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n  ${field}\n`;
  const fields = ["namespace: 5", "labels: {a: 1}", "annotations: [b]", "ownerReferences: 7", "ownerReferences: [~]"];
  const text = fields.map((field) => withField("bad", field)).join("") + withField("empty", "labels:");
  assert.deepEqual(await read(text), [
    'line 2: ConfigMap "bad" with a metadata.namespace that is no text',
    'line 8: ConfigMap "bad" with a metadata.labels that does not consist of names with texts',
    'line 14: ConfigMap "bad" with a metadata.annotations that does not consist of names with texts',
    'line 20: ConfigMap "bad" with a metadata.ownerReferences that does not consist of references',
    'line 26: ConfigMap "bad" with a metadata.ownerReferences that does not consist of references',
    "empty",
  ]);
});
