/** Selectors in queries: their text form, matching and errors, compared with recorded answers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import { parseFieldSelector, parseLabelSelector, type SelectableFields } from "./selector.ts";
import { StatusError } from "./status-error.ts";

function refusal(parse: () => unknown): string {
  try {
    parse();
  } catch (error) {
    assert(error instanceof StatusError);
    assert.equal(error.status.code, 400);
    assert.equal(error.status.reason, "BadRequest");
    return error.message;
  }
  return "accepted";
}

function checkLabels(text: string, canonical: string): void {
  const selector = parseLabelSelector(text);
  assert.equal(selector.text, canonical, text);
  assert.equal(parseLabelSelector(canonical).text, canonical);
}

test("label selectors have one canonical text [QP-05]", () => {
  checkLabels("", "");
  checkLabels(" ", "");
  checkLabels("a", "a");
  checkLabels("! a", "!a");
  checkLabels("b = 1 ,a==2", "a==2,b=1");
  checkLabels("x in (b,a,b)", "x in (a,b)");
  checkLabels("x notin(b)", "x notin (b)");
  checkLabels("a=,b!=", "a=,b!=");
  checkLabels("a in ()", "a in ()");
  checkLabels("a in (b,)", "a in (,b)");
  checkLabels("a in (,,b)", "a in (,b)");
  checkLabels("a in (b,,c)", "a in (,b,c)");
  checkLabels("size > 5,size<10", "size>5,size<10");
  checkLabels("in in (in,notin)", "in in (in,notin)");
  checkLabels("a=x,in=y,notin", "a=x,in=y,notin");
});

test("label selectors match as their operators say [QP-05]", () => {
  const objects: Record<string, Record<string, string> | undefined> = {
    a: { color: "red", size: "1" },
    b: { color: "blue", size: "10" },
    c: { color: "red", size: "20", empty: "" },
    d: { size: "big" },
    e: undefined,
  };
  const check = (text: string, expected: string) => {
    const selector = parseLabelSelector(text);
    const found = Object.keys(objects).filter((name) => selector.matches(objects[name]));
    assert.equal(found.join(""), expected, text);
  };
  check("", "abcde");
  check("color=red", "ac");
  check("color==red", "ac");
  check("color!=red", "bde");
  check("color=red,size=20", "c");
  check("color=red,color=blue", "");
  check("empty=", "c");
  check("color=", "");
  check("color!=", "abcde");
  check("color in (red,blue)", "abc");
  check("color notin (red)", "bde");
  check("color", "abc");
  check("!color", "de");
  check("color,!empty", "ab");
  check("size>9", "bc");
  check("size<10", "a");
  check("size>0,size<20", "ab");
  check("size>00000000000000000000000000000000000009", "bc");
  check("missing<1", "");
  check("constructor", "");
  check("!toString", "abcde");
  check("hasOwnProperty notin (x)", "abcde");
});

test("malformed label selectors are told where they stop making sense [QP-05] [ERR-09]", () => {
  const check = (text: string, message: string) =>
    assert.equal(
      refusal(() => parseLabelSelector(text)),
      message,
      text,
    );
  const requirement = (text: string, message: string) => check(text, `unable to parse requirement: ${message}`);
  const binary = "in, notin, =, ==, !=, gt, lt";
  check("a=1=2", "found '=', expected: ',' or 'end of string'");
  requirement("a in 1", "found '1' expected: '('");
  requirement("a in (", "found '', expected: ',', ')' or identifier");
  requirement("a in (b", "found '', expected: ',' or ')'");
  requirement("a in (b c)", "found 'c', expected: ',' or ')'");
  requirement("a in (b,,)", "found ')', expected: ',', or identifier");
  requirement("a in (,", "found '', expected: ',', or identifier");
  requirement("a in (b,=", "found '=', expected: ',', or identifier");
  check("a in (b))", "found ')', expected: ',' or 'end of string'");
  check("=", "found '=', expected: !, identifier, or 'end of string'");
  check(",", "found ',', expected: !, identifier, or 'end of string'");
  check("(a)", "found '(', expected: !, identifier, or 'end of string'");
  check("a,,b", "found ',', expected: identifier after ','");
  check("a,", "found '', expected: identifier after ','");
  requirement("a b", `found 'b', expected: ${binary}`);
  requirement("a!b", `found '!', expected: ${binary}`);
  requirement("a)", `found ')', expected: ${binary}`);
  check("!a=1", "found '=', expected: ',' or 'end of string'");
  requirement("!", "found '', expected: identifier");
  requirement("a>=5", "found '=', expected: identifier");
  requirement("a>x", "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer");
  requirement("a>1_0", "values[0]: Invalid value: \"1_0\": for 'Gt', 'Lt' operators, the value must be an integer");
  check("a=bad value", "found 'value', expected: ',' or 'end of string'");
  const value =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  requirement("a=-bad", `values[0][a]: Invalid value: "-bad": ${value}`);
  requirement(
    "a>x-",
    `[values[0]: Invalid value: "x-": for 'Gt', 'Lt' operators, the value must be an integer, values[0][a]: Invalid value: "x-": ${value}]`,
  );
  requirement(
    "-a=1",
    "<nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  );
});

const plain: SelectableFields = { fields: [] };
const pods: SelectableFields = {
  fields: ["spec.nodeName", "status.phase"],
  aliases: { "spec.host": "spec.nodeName" },
};

test("field selectors match names, namespaces and the kind's own fields [QP-04]", () => {
  const fieldsOf = () => ({ "status.phase": "Running" });
  const check = (text: string, expected: boolean, canonical = text) => {
    const selector = parseFieldSelector(text, pods);
    assert.equal(selector.matches("a", "n", fieldsOf), expected, text);
    assert.equal(selector.text, canonical);
  };
  check("", true);
  check("metadata.name=a", true);
  check("metadata.name==a", true, "metadata.name=a");
  check("metadata.name!=a", false);
  check("metadata.namespace=n,metadata.name=a", true, "metadata.name=a,metadata.namespace=n");
  check("metadata.name=a,metadata.name=b", false);
  check("metadata.name=", false);
  check(",metadata.name=a,", true, "metadata.name=a");
  check("=", true, "");
  check("status.phase=Running", true);
  check("status.phase!=Running", false);
  check("spec.host=", true, "spec.nodeName=");
  check("spec.nodeName=x", false);
  check(String.raw`metadata.name=\,\=\\`, false);
  assert.equal(parseFieldSelector("metadata.name=a,status.phase=x", pods).exact("metadata.name"), "a");
  assert.equal(parseFieldSelector("metadata.name!=a", pods).exact("metadata.name"), undefined);
});

test("malformed and unknown field selectors are refused [QP-04] [ERR-09]", () => {
  const check = (text: string, message: string, selectable = plain) =>
    assert.equal(
      refusal(() => parseFieldSelector(text, selectable)),
      message,
      text,
    );
  const known = 'only "metadata.name", "metadata.namespace"';
  check("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'");
  check("metadata.name>a", "invalid selector: 'metadata.name>a'; can't understand 'metadata.name>a'");
  check("metadata.name=a,b", "invalid selector: 'metadata.name=a,b'; can't understand 'b'");
  check("spec.x=1", `"spec.x" is not a known field selector: ${known}`);
  check("metadata.name=a,spec.x=1", `"spec.x" is not a known field selector: ${known}`);
  check("=a", `"" is not a known field selector: ${known}`);
  check("metadata.name=a\\", "invalid field selector: invalid escape sequence: \\");
  check("metadata.name=a\\x", "invalid field selector: invalid escape sequence: \\x");
  check("metadata.name=a=b", "invalid field selector: unescaped character in value: 61");
  check("zzz=1,aaa=2", "field label not supported: aaa", pods);
  check("__proto__=1", "field label not supported: __proto__", pods);
  check("metadata.namespace=x", "field label not supported: metadata.namespace", {
    fields: ["status.phase"],
    namespaced: false,
  });
});

/** Returns the text of the requirement in a selector. */
const operators: readonly ((key: string, value: string) => string)[] = [
  (key, value) => `${key}=${value}`,
  (key, value) => `${key}!=${value}`,
  (key, value) => `${key} in (${value},1)`,
  (key, value) => `${key} notin (${value},2)`,
  (key) => key,
  (key) => `!${key}`,
  (key, value) => `${key}>${/^\d$/.test(value) ? value : "0"}`,
  (key, value) => `${key}<${/^\d$/.test(value) ? value : "2"}`,
];

test("many requirements mean what they mean one by one", () => {
  const random = seededRandom(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;
  const keys = ["a", "b", "c", "constructor"];
  const values = ["1", "2", "3", "x", "9223372036854775808"];
  let matched = 0;
  for (let run = 0; run < 3000; run++) {
    const count = 9 + Math.floor(random.next() * 12);
    // Most requirements concern keys that no object has, so that some objects match.
    const texts = Array.from({ length: count }, (_, i) =>
      i < 3 ? pick(operators)(pick(keys), pick(values)) : `${i % 2 === 0 ? "!" : ""}z${i}${i % 2 === 0 ? "" : "!=1"}`,
    );
    const selector = parseLabelSelector(texts.join(","));
    const single = texts.map((text) => parseLabelSelector(text));
    for (let i = 0; i < 8; i++) {
      const labels = Object.fromEntries(keys.flatMap((key) => (random.next() < 0.5 ? [[key, pick(values)]] : [])));
      const expected = single.every((one) => one.matches(labels));
      if (expected) matched++;
      assert.equal(selector.matches(labels), expected, `${texts.join(",")} ${JSON.stringify(labels)}`);
    }
    assert.equal(
      selector.matches(undefined),
      single.every((one) => one.matches(undefined)),
      texts.join(","),
    );
  }
  assert.ok(matched > 1000, `${matched} matched`);
});

test("the work of a selector for an object does not grow with its requirements", () => {
  const looks = (count: number, labels: Record<string, string>): number => {
    let looked = 0;
    const watched = new Proxy(labels, {
      get(target, key) {
        looked++;
        return Reflect.get(target, key) as unknown;
      },
      getOwnPropertyDescriptor(target, key) {
        looked++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
    const terms = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? `!k${i}` : `l notin (v${i})`));
    assert.ok(parseLabelSelector(terms.join()).matches(watched));
    return looked;
  };
  const few = { l: "1", m: "2", n: "3" };
  assert.equal(looks(20_000, few), looks(100, few));
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`m${i}`, "x"]));
  assert.ok(looks(20, many) < 100, "of many labels only those of few keys are looked at");
  const never = parseLabelSelector(Array.from({ length: 2001 }, (_, i) => `k${i}=v`).join());
  assert.ok(!never.matches({ k1: "v" }));
  const fields = { fields: ["spec.x"] };
  const names = Array.from({ length: 2001 }, (_, i) => `metadata.name!=n${i}`).join();
  assert.ok(!parseFieldSelector(names, fields).matches("n7", ""));
  assert.ok(parseFieldSelector(names, fields).matches("other", ""));
  assert.ok(!parseFieldSelector("metadata.name=a,metadata.name=b", fields).matches("a", ""));
});
