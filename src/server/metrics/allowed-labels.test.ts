/** The syntax of `--allow-metric-labels`. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allowedLabels, allowedValuesMistake } from "./allowed-labels.ts";

const shown = (...texts: string[]): unknown =>
  Object.fromEntries(
    [...allowedLabels(texts)].map(([metric, labels]) => [
      metric,
      Object.fromEntries([...labels].map(([label, values]) => [label, [...values]])),
    ]),
  );

test("a value is one label of a metric with its values, or several in quotes", () => {
  assert.deepEqual(shown("m,l=a,b"), { m: { l: ["a", "b"] } });
  assert.deepEqual(shown('"m,l=a, b"'), { m: { l: ["a", " b"] } });
  assert.deepEqual(shown("m,l="), { m: { l: [""] } });
});

test("of values for the same label the last one counts", () => {
  assert.deepEqual(shown('"m,l=a,b","m,k=""c"""', '"n,l=d=e"', "m,l=f"), {
    m: { l: ["f"], k: ['"c"'] },
    n: { l: ["d=e"] },
  });
});

test("other values are refused", () => {
  for (const text of ["", "a", "a=c", "a b=c", "=c", "a,b,c=d", "a=b=c", "1a,b=c", "a,1b=c", "a, b=c", "a,b=c,d,e=f"]) {
    assert.match(allowedValuesMistake(text) ?? "", /metric,label=value,value/, text);
  }
  for (const text of ['"a,b=c","d,e=f', '"a,b=c"x,"d,e=f"', '"a,b=c","d,e=f",']) {
    assert.match(allowedValuesMistake(text) ?? "", /metric,label=value,value/, text);
  }
  assert.equal(allowedValuesMistake('"a:b,_c=d,e","f,g=h"'), undefined);
});
