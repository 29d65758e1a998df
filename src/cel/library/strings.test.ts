/** Tests the strings extension: results and the reference's error texts. */
import { test } from "node:test";
import { assertErrors, assertValues } from "../evaluate-for-tests.ts";

const self = { i: 3, s: "hello", d: 1.5, l: [1, 2, 3], m: { a: "b" }, n: null };

test("indices count code points", () => {
  assertValues([
    ["'a😀b'.charAt(1)", "'😀'"],
    ["'a😀b'.charAt(3)", "''"],
    ["'a😀b'.indexOf('b')", "2"],
    ["'a😀b😀'.lastIndexOf('😀')", "3"],
    ["'a😀b'.substring(1, 2)", "'😀'"],
    ["'a😀b'.substring(2)", "'b'"],
    ["'abc'.indexOf('', 5)", "5"],
    ["'abc'.indexOf('c', 5)", "-1"],
    ["'abc'.lastIndexOf('c', 9)", "-1"],
    ["'abc'.lastIndexOf('', 9)", "9"],
    ["'abc'.indexOf('c', 9223372036854775807)", "-1"],
    ["'abc'.lastIndexOf('c', 9223372036854775807)", "-1"],
    ["'abc'.indexOf('', -1)", "-1"],
    ["'abc'.lastIndexOf('', -1)", "-1"],
    ["''.lastIndexOf('')", "0"],
    ["''.lastIndexOf('a', 0)", "-1"],
  ]);
});

test("texts stand for the doubles that have no literals", () => {
  assertValues([
    ["'%f %.1f %.2e'.format(['NaN', 'Infinity', '-Infinity'])", "'NaN ∞ -∞'"],
    // The precision of %e is the least number of characters.
    ["'%e|%.10e|%.17e'.format(['NaN', '-Infinity', -1.5])", "'   NaN|        -∞| -1.500000\u202f×\u202f10⁰⁰'"],
    ["'%f %.1e %s'.format([-0.0, 0.0 * -1.0, -0.0])", "'0.000000 0.000000\u202f×\u202f10⁰⁰ -0'"],
    ["'%f'.format([dyn('NaN')])", "'NaN'"],
  ]);
});

test("indices out of range have the reference's texts", () => {
  assertErrors(
    [
      ["self.s.charAt(30)", "index out of range: 30"],
      ["self.s.charAt(-1)", "index out of range: -1"],
      ["self.s.indexOf('b', -1)", "index out of range: -1"],
      ["''.lastIndexOf('a')", "index out of range: -1"],
      ["self.s.lastIndexOf('b', -1)", "index out of range: -1"],
      ["self.s.indexOf('b', -9223372036854775808)", "index out of range: -9223372036854775808"],
      ["self.s.substring(30)", "index out of range: 30"],
      ["self.s.substring(4, 3)", "invalid substring range. start: 4, end: 3"],
      ["self.s.split(dyn(1))", "no such overload: split(string, int)"],
      ["dyn([self.i]).join(',')", "no such overload: join(list, string)"],
    ],
    { self },
  );
});

test("texts are split, joined, replaced and trimmed as in Go", () => {
  assertValues([
    ["'a,b,c'.split(',', 2)", "['a', 'b,c']"],
    ["'a,b,c'.split(',', 0)", "[]"],
    ["'a😀'.split('')", "['a', '😀']"],
    ["'aXbX'.replace('X', 'y', 1)", "'aybX'"],
    ["'abc'.replace('', '-')", "'-a-b-c-'"],
    ["'abc'.replace('', '-', 2)", "'-a-bc'"],
    ["'\\u00a0 a \\u2003\\u0085'.trim()", "'a'"],
    ["'\\ufeffa'.trim()", "'\\ufeffa'"],
    ["'AÉ'.lowerAscii() + 'aé'.upperAscii()", "'aÉAé'"],
    ["['a', 'b'].join() + [].join('-')", "'ab'"],
    ["strings.quote('a\\n\"')", '\'"a\\\\n\\\\""\''],
  ]);
});

test("format prints as the reference does", () => {
  assertValues(
    [
      ["'%d %d %s %%'.format([self.i, 5u, true])", "'3 5 true %'"],
      ["'%f'.format([self.d * 1000000.0])", "'1,500,000.000000'"],
      ["'%.2f|%.0f'.format([self.d * 1234567.0, 2.5])", "'1,851,850.50|2'"],
      ["'%e'.format([self.d * 12345.0])", "'1.851750\u202f×\u202f10⁰⁴'"],
      ["'%.3e'.format([0.000123])", "'1.230000\u202f×\u202f10⁻⁰⁴'"],
      ["'%e'.format([0.0])", "'0.000000\u202f×\u202f10⁰⁰'"],
      ["'%f %f'.format([0.0 / 0.0, -1.0 / 0.0])", "'NaN -∞'"],
      ["'%.20f'.format([0.1])", "'0.10000000000000000555'"],
      ["'%x %X %o %b'.format([-26, 'héllo', -9, -5])", "'-1a 68C3A96C6C6F -11 -101'"],
      ["'%s %s'.format([1e30, 0.00001])", "'1e+30 1e-05'"],
      [
        "'%s %s'.format([duration('90m'), [timestamp(self.i), type(1), 'a\"b', -1]])",
        '\'5400s [timestamp("1970-01-01T00:00:03Z"), int, "a\\\\"b", -1]\'',
      ],
      ["'%s'.format([self])", '\'{"d":1.500000, "i":3, "l":[1, 2, 3], "m":{"a":"b"}, "n":null, "s":"hello"}\''],
      ["'%d'.format([1, 2])", "'1'"],
    ],
    { self },
  );
});

test("format's errors have the reference's texts", () => {
  const precision = "could not parse formatting clause: error while parsing precision: ";
  assertErrors(
    [
      [
        "'%d'.format([self.d])",
        "error during formatting: decimal clause can only be used on integers, was given double",
      ],
      [
        "'%f'.format([self.s])",
        "error during formatting: fixed-point clause can only be used on doubles, was given string",
      ],
      ["'%d %d'.format([self.i])", "index 1 out of range"],
      ["('%' + self.s).format([1])", 'could not parse formatting clause: unrecognized formatting clause "h"'],
      ["('%' + '').format([1])", "unexpected end of string"],
      ["('%.' + '').format([1.0])", `${precision}could not find end of precision specifier`],
      [
        "('%.' + self.s).format([1])",
        `${precision}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax`,
      ],
      [
        "'%s'.format([b'\\xff'])",
        'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
      ],
    ],
    { self },
  );
});
