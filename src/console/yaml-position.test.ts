/** The field at the cursor, in texts that are being written. The cursor is where the bar is. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { yamlPosition } from "./yaml-position.ts";

/** Returns the position as `way word`, with the other names. A value has an equals sign before its word. */
function at(text: string): string | undefined {
  const lines = text.split("\n");
  const line = lines.findIndex((one) => one.includes("|"));
  const cursor = lines[line]!.indexOf("|");
  lines[line] = lines[line]!.replace("|", "");
  const found = yamlPosition({ count: lines.length, line: (i) => lines[i]! }, line, cursor);
  if (found === undefined) return undefined;
  const way = found.way.map((step) => (step === "item" ? "[]" : `.${step.member}`)).join("");
  const others = found.siblings.size === 0 ? "" : ` beside ${[...found.siblings].toSorted().join(" ")}`;
  return `${way} ${found.isValue ? "=" : ""}${found.word}${others}`;
}

test("names and values are found by their indentation", () => {
  assert.equal(at("ki|\nmetadata:\n  name: a"), " ki beside metadata");
  assert.equal(at("kind: Pod\nmetadata:\n  na|\nspec:"), ".metadata na");
  assert.equal(at("kind: Pod\nmetadata:\n  name: a\n|"), "  beside kind metadata");
  assert.equal(at("metadata:\n  name: a\n  |\n  labels: {}\nspec:"), ".metadata  beside labels name");
  assert.equal(at("spec:\n  restartPolicy: Al|"), ".spec.restartPolicy =Al");
  assert.equal(at("spec:\n  restartPolicy: |"), ".spec.restartPolicy =");
  assert.equal(at("spec:\n  deep:\n    deeper: 1\n  s|"), ".spec s beside deep");
  assert.equal(at("# comment\n\nspec:\n\n  # more\n  s|"), ".spec s");
  assert.equal(at("\"quoted name\":\n  'other':\n    x|"), ".quoted name.other x");
  assert.equal(at("a:b: 1\nspec:\n  x|"), ".spec x");
});

test("items of lists stand below their name, at its column or deeper, and their names behind the dash", () => {
  for (const indent of ["", "  "]) {
    const list = `spec:\n  containers:\n  ${indent}- name: a\n  ${indent}  image: b\n`;
    assert.equal(at(`${list}  ${indent}  po|`), ".spec.containers[] po beside image name");
    assert.equal(at(`${list}  ${indent}- na|`), ".spec.containers[] na");
    assert.equal(at(`${list}  ${indent}- |`), ".spec.containers[] ");
    assert.equal(
      at(`${list}  ${indent}  ports:\n  ${indent}  - x: 1\n  ${indent}    pro|`),
      ".spec.containers[].ports[] pro beside x",
    );
    assert.equal(
      at(`${list}  ${indent}  imagePullPolicy: If|`),
      ".spec.containers[].imagePullPolicy =If beside image name",
    );
  }
  assert.equal(at("rules:\n- verbs:\n  - ge|"), ".rules[].verbs[] ge");
  assert.equal(at("rules:\n- verbs: [get]\n- |"), ".rules[] ");
  assert.equal(at("rules:\n- - x|"), ".rules[][] x");
  assert.equal(at("rules:\n-\n  verbs: a\n  x|"), ".rules[] x beside verbs");
});

test("comments, braces, blocks of text and what is no field have no position", () => {
  for (const text of [
    "# na|",
    "spec: {na|",
    "spec: [na|",
    "data:\n  script: >\n    if th|",
    "data: one\n  tw|",
    "- x|\n",
    "a: b c|",
    "a:|",
    '"na|',
  ]) {
    assert.equal(at(text), undefined, text);
  }
});

test("texts of many lines are looked at up to a bound", () => {
  const lines = Array.from({ length: 200_000 }, () => "  x: 1");
  let read = 0;
  const line = (i: number): string => {
    read += 1;
    return lines[i]!;
  };
  assert.equal(yamlPosition({ count: lines.length, line }, 100_000, 3), undefined);
  assert.ok(read < 12_000, `${read} lines`);
});
