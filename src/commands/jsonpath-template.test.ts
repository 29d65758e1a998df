/** Templates of `-o jsonpath=`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTemplate } from "./jsonpath-template.ts";

const pods = {
  items: [
    { metadata: { name: "a", labels: { "app.io/x": "1" } }, spec: { ports: [80, 443] } },
    { metadata: { name: "b" }, spec: { ports: [], isOn: true } },
  ],
};

const cases: readonly (readonly [template: string, text: string])[] = [
  ["{.items[*].metadata.name}", "a b"],
  [".items[0].metadata.name", "a"],
  ["name: {.items[0].metadata.name}!", "name: a!"],
  ['{range .items[*]}{.metadata.name}{"\\t"}{.spec.ports}{"\\n"}{end}', "a\t[80,443]\nb\t[]\n"],
  ['{.items[?(@.metadata.name=="b")].spec.isOn}', "true"],
  ["{.items[0].metadata.labels.app\\.io/x}", "1"],
  ["{.missing}", ""],
  ['{"}"}', "}"],
  ["{range .items[*]}{range .spec.ports[*]}<{@}>{end};{end}", "<80><443>;;"],
];

for (const [template, text] of cases) {
  test(`${template} prints ${JSON.stringify(text)}`, () => assert.equal(parseTemplate(template)(pods), text));
}

test("a wrong template is told", () => {
  for (const [template, problem] of [
    ["{.a", /a brace is not closed/],
    ["{range .a}x", /\{range\} has no \{end\}/],
    ["x{end}", /\{end\} has no \{range\}/],
    ["{.a[}", /is no path/],
    ["", /it is empty/],
  ] as const) {
    assert.throws(() => parseTemplate(template), problem);
  }
});
