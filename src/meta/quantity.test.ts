/** Quantities compared with the reference server, and their arithmetic. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  integerQuantity,
  parseQuantity,
  quantityError,
  subtractQuantities,
} from "./quantity.ts";

/** Input and recorded answer; `ERR` precedes the text of an error. */
const recorded: readonly (readonly [string, string])[] = [
  ["0", "0"],
  ["1", "1"],
  ["1000m", "1"],
  ["1024Mi", "1Gi"],
  ["1.5Gi", "1536Mi"],
  ["0.1m", "100u"],
  ["1e3", "1e3"],
  ["1.0", "1"],
  ["0Gi", "0"],
  ["-0", "0"],
  ["100000E", "100"],
  ["1e30", "1e30"],
  ["1e-30", "1e-9"],
  ["9223372036854775807", "9223372036854775807"],
  ["9223372036854775808", "9223372036854775808"],
  ["10Ei", "9223372036854775807"],
  ["-100Ei", "-9223372036854775807"],
  ["0.5Ki", "512"],
  ["0.0001Ki", "102400u"],
  ["1.0001Ki", "1024102400u"],
  ["1023Ki", "1023Ki"],
  ["1024Ki", "1Mi"],
  ["1000k", "1M"],
  ["1000.5Ki", "1024512"],
  ["0.1n", "1n"],
  ["-0.1n", "-1n"],
  ["1500u", "1500u"],
  ["1.123456789123", "1123456790n"],
  ["-1.5", "-1500m"],
  ["+5", "+5"],
  ["05", "05"],
  ["1E3", "1E3"],
  ["1e05", "100e3"],
  ["1e+5", "100e3"],
  ["12e1", "120"],
  ["1e99999999999", "10e1215752190"],
  ["1i", "ERR unable to parse quantity's suffix"],
  ["1Kii", "ERR unable to parse quantity's suffix"],
  ["1K", "ERR unable to parse quantity's suffix"],
  ["1 ", "1"],
  [" 1Ki", "1Ki"],
  ["1e3Ki", "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["", "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["-512Mi", "-512Mi"],
  ["-1.5Mi", "-1536Ki"],
  ["0.9Ki", "921600m"],
  ["1e2.5", "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["5e-1", "500e-3"],
  ["100e-3", "100e-3"],
  ["123e4", "1230e3"],
  ["8Ei", "9223372036854775807"],
  ["7.999999999999Ei", "9223372036853622886495393154n"],
  ["1000E", "1"],
  ["1e21", "1e21"],
  ["999999999999999999E", "999999999999999999E"],
  ["0e5", "0"],
  ["1ee5", "ERR unable to parse quantity's suffix"],
  ["E", "0"],
  ["1E", "1E"],
  ["m", "0"],
  ["Pi", "ERR unable to parse numeric part of quantity"],
  ["e-12", "ERR unable to parse numeric part of quantity"],
  ["1m5", "ERR unable to parse quantity's suffix"],
  [".", "0"],
  ["1..5", "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["+-1", "ERR unable to parse quantity's suffix"],
  ["1ki", "ERR unable to parse quantity's suffix"],
  ["x", "ERR quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"],
  ["-7Ki", "-7Ki"],
  ["8Ki", "8Ki"],
  ["16Ki", "16Ki"],
  ["123456789Mi", "123456789Mi"],
  ["999999999999999999", "999999999999999999"],
  ["1000000", "1M"],
  ["1001", "1001"],
  ["0.001", "1m"],
  [".5", "500m"],
  ["5.", "5."],
];

test("quantities come back in the form upstream gives them, or with its error", () => {
  for (const [sent, answer] of recorded) {
    const error = quantityError(sent);
    assert.equal(canonicalQuantity(sent) ?? `ERR ${error}`, answer, JSON.stringify(sent));
    assert.equal(error === "", !answer.startsWith("ERR"), JSON.stringify(sent));
  }
});

test("a canonical form is a fixed point and means the same", () => {
  for (const [sent, answer] of recorded) {
    // Upstream prints an exponent that has no suffix as nothing, and keeps `05` and `+5` unchanged.
    if (answer.startsWith("ERR") || ["100000E", "1000E"].includes(sent)) continue;
    assert.equal(canonicalQuantity(answer), answer, answer);
    const rounded = parseQuantity(sent)!;
    assert.equal(compareQuantities(rounded, parseQuantity(answer)!), 0, sent);
    assert.equal(compareQuantities(rounded, parseQuantity(formatQuantity(rounded))!), 0, sent);
  }
});

test("quantities are compared by value, whatever their suffix", () => {
  const ordered = [
    "-1Ki",
    "-1",
    "0",
    "1n",
    "999u",
    "1m",
    "1",
    "1000m",
    "1k",
    "1Ki",
    "1Mi",
    "1Ei",
    "1e99",
    "1e2000000000",
  ];
  for (let i = 0; i < ordered.length; i++) {
    for (let j = 0; j < ordered.length; j++) {
      const order = compareQuantities(parseQuantity(ordered[i]!)!, parseQuantity(ordered[j]!)!);
      const same = [ordered[i], ordered[j]].every((text) => text === "1" || text === "1000m");
      assert.equal(Math.sign(order), same ? 0 : Math.sign(i - j), `${ordered[i]} ${ordered[j]}`);
    }
  }
});

test("texts that would be costly are refused, or cost no more than their length", async () => {
  await growsInProportion(500_000, (length) => assert.equal(canonicalQuantity("9".repeat(length)), undefined));
  assert.equal(canonicalQuantity("1e2000000000"), "100e1999999998");
  assert.equal(canonicalQuantity("1e-2000000000"), "1e-9");
});

test("a sum has the format of its first part that is not zero", () => {
  for (const [a, b, sum, rest] of [
    ["0", "1Gi", "1Gi", "-1Gi"],
    ["1Gi", "512Mi", "1536Mi", "512Mi"],
    ["1Gi", "500M", "1573741824", "573741824"],
    ["1", "500m", "1500m", "500m"],
    ["1500m", "1500m", "3", "0"],
    ["1", "1e3", "1001", "-999"],
    ["1", "1e999999999", "1e999999999", "-1e999999999"],
  ] as const) {
    const [one, other] = [parseQuantity(a)!, parseQuantity(b)!];
    const results = [addQuantities(one, other), subtractQuantities(one, other)];
    assert.deepEqual(results.map(formatQuantity), [sum, rest], `${a} ${b}`);
  }
});

test("whole numbers and thousandths are rounded up, and have a largest value", () => {
  for (const [text, whole, milli] of [
    ["0", 0n, 0n],
    ["1", 1n, 1000n],
    ["1500m", 2n, 1500n],
    ["1n", 1n, 1n],
    ["-1500m", -1n, -1500n],
    ["2Ki", 2048n, 2_048_000n],
    ["1e999999999", 2n ** 63n - 1n, 2n ** 63n - 1n],
  ] as const) {
    const quantity = parseQuantity(text)!;
    assert.deepEqual([integerQuantity(quantity, "whole"), integerQuantity(quantity, "milli")], [whole, milli], text);
  }
});
