/** Tests regular expressions whose automata are large, and the names of groups. */
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mock, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RE2JS } from "re2js";
import { compileNode } from "./node.ts";
import { patternWeight } from "./pattern-weight.ts";
import { LinearRegExp } from "./re2.ts";

/** Returns whether a text matches, and the number of parts of the states that were made for it. */
function matchTimed(pattern: string, text: string): readonly [boolean, number] {
  let parts = 0;
  return [new LinearRegExp(pattern).test(text, { spend: (more) => (parts += more) }), parts];
}

test("the states of an automaton are counted as they are made, and made once", () => {
  const [matches, parts] = matchTimed("^(a{1,100}){1,10}$", "a".repeat(300));
  assert.equal(matches, true);
  assert.ok(parts > 50_000, `${parts}`);
  assert.ok(matchTimed("^(a{1,100}){1,10}$", "b")[1] < 1000);
  assert.ok(matchTimed("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "a-name-of-usual-length")[1] < 200);
  assert.equal(matchTimed("^[a-z]{1,200}$", "a".repeat(100))[1], 0);
  const known = new LinearRegExp("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$");
  known.test("some-name", { spend() {} });
  known.test("some-name", { spend: () => assert.fail("no state is new") });
});

test("the package has the members that are replaced, and its automaton uses them", () => {
  const { program } = new LinearRegExp("^(a{1,100}){1,10}$");
  // The package's types do not declare this member.
  const { dfa, ...engine } = program.re2Input as unknown as Record<string, unknown> & { readonly dfa: object };
  const inside = dfa as Record<string, unknown>;
  assert.deepEqual(
    [inside["memBudget"], inside["stateBudget"], inside["getState"], inside["match"]].map((member) => typeof member),
    ["number", "number", "function", "function"],
  );
  assert.equal("onepass" in engine && "prefixComplete" in engine, true);
  let calls = 0;
  new LinearRegExp("^(a{1,100}){1,10}$").test("aaa", { spend: () => calls++ });
  assert.ok(calls > 0, "no state was counted");
});

test("a test ends where its count says so, and the next one is right", () => {
  const pattern = new LinearRegExp("^(a{1,100}){1,10}$");
  const stop = (): never => {
    throw new Error("enough");
  };
  assert.throws(() => pattern.test("a".repeat(500), { spend: stop }), /^Error: enough$/);
  for (const [text, wanted] of [
    ["a".repeat(500), true],
    ["a".repeat(1001), false],
    ["", false],
  ] as const) {
    assert.equal(pattern.test(text, { spend() {} }), wanted, `${text.length}`);
  }
});

test("groups may have one name, as in Go; other mistakes stay mistakes", () => {
  for (const [pattern, text, wanted] of [
    ["^(?P<n>a)(?P<n>b)$", "ab", true],
    ["^(?<n>a)|(?P<n>b)$", "b", true],
    ["^(?P<n>a)[(?P<n>](?P<n>b)$", "a<b", true],
    ["^\\(?P<n>a)(?P<n>b)$", "(ab", false],
    ["^(?P<constructor>a)(?P<toString>b)$", "ab", true],
  ] as const) {
    try {
      assert.equal(matchTimed(pattern, text)[0], wanted, pattern);
    } catch (error) {
      assert.equal(wanted, false, `${pattern}: ${String(error)}`);
    }
  }
  assert.throws(() => new LinearRegExp("(?P<n>a)(?P<n>b"), /missing closing \)/);
  assert.throws(() => new LinearRegExp("(?P<n>a)(?P<n->b)"), /invalid named capture/);
});

test("a text weighs by its length and the size of its pattern, wherever the schema has it", () => {
  const pattern = "^(a{1,100}){1,10}$";
  const schema = { type: "string", pattern };
  const weigh = (props: object, value: unknown): number => patternWeight(compileNode(props), value);
  const one = weigh(schema, "a".repeat(100));
  assert.ok(one > 25_000, `${one}`);
  assert.equal(weigh({ type: "string" }, "a"), 0);
  assert.equal(weigh(schema, 5), 0);
  const list = { type: "array", items: schema };
  assert.ok(
    weigh(
      list,
      Array.from({ length: 10 }, () => "a".repeat(100)),
    ) > 250_000,
  );
  assert.equal(weigh({ type: "object", properties: { a: schema } }, { b: "a".repeat(100) }), 0);
  for (const props of [
    { type: "object", properties: { a: schema } },
    { type: "object", additionalProperties: schema },
    { type: "object", properties: { a: { type: "string", anyOf: [{ pattern }] } } },
    { type: "object", properties: { a: { type: "string", not: { pattern } } } },
  ]) {
    assert.equal(weigh(props, { a: "a".repeat(100) }), one, JSON.stringify(props));
  }
});

test("only names are a reason to compile a second time", () => {
  const re2js = (createRequire(import.meta.url)("re2js") as { RE2JS: typeof RE2JS }).RE2JS;
  const { mock: calls } = mock.method(re2js, "compile");
  try {
    for (const wrong of ["[".repeat(16_000), "[:a".repeat(5000), "(?P<n>a)(", "(?P<n->a)", "a**", "duplicate)"]) {
      calls.resetCalls();
      assert.throws(() => new LinearRegExp(wrong));
      assert.equal(calls.callCount(), 1, wrong.slice(0, 20));
    }
    calls.resetCalls();
    assert.throws(() => new LinearRegExp("(?P<n>a)(?P<n>b)["));
    assert.equal(calls.callCount(), 2);
  } finally {
    calls.restore();
  }
});

test("a pattern keeps nothing of the evaluation that used it", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const pattern = new LinearRegExp("^(a{1,100}){1,10}$");
  const use = (text: string, isStopped: boolean): WeakRef<object> => {
    const evaluation = { secret: text };
    const spend = (): void => {
      if (isStopped && evaluation.secret === text) throw new Error("enough");
    };
    try {
      pattern.test(text, { spend });
    } catch {
      assert.ok(isStopped);
    }
    return new WeakRef(evaluation);
  };
  const used = [use("a".repeat(200), false), use("a".repeat(900), true)];
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collect();
    assert.deepEqual(
      used.map((one) => one.deref()),
      [undefined, undefined],
    );
    assert.equal(pattern.test("a", { spend() {} }), true);
  });
});

test("weighing reads no more of an object than the parts that have patterns", () => {
  const pattern = { type: "string", pattern: "^a+$" };
  const plain = { type: "object", additionalProperties: { type: "string" } };
  const node = compileNode({
    type: "object",
    properties: { labels: plain, names: { type: "array", items: pattern }, plain: { type: "string" } },
  });
  const read: (string | symbol)[] = [];
  const object = new Proxy(
    { labels: { a: "b" }, names: ["aaa"], plain: "x", unknown: 5 },
    { get: (target, name) => (read.push(name), Reflect.get(target, name) as unknown) },
  );
  assert.ok(patternWeight(node, object) > 0);
  assert.deepEqual(
    read.filter((name) => name !== "rawJSON"),
    ["names"],
  );
});
