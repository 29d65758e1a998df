/** Tests sets, Kubernetes' functions on lists and regular expressions, and optional values. */
import { test } from "node:test";
import { assertErrors, assertValues } from "../evaluate-for-tests.ts";

const self = { i: 3, s: "hello", l: [1, 2, 3], n: null };

test("lists are searched, their extremes found, summed and ordered [EXPR-02] [EXPR-03] [EXPR-04] [EXPR-05] [EXPR-06] [EXPR-07] [EXPR-08]", () => {
  assertValues(
    [
      ["[1, 2, 2].indexOf(2)", "1"],
      ["[1, 2, 2].lastIndexOf(2)", "2"],
      ["[3, 1].min()", "1"],
      ["[3, 1].max()", "3"],
      ["[1, 3].sum()", "4"],
      ["[duration('1m'), duration('1s')].sum()", "duration('61s')"],
      ["[1, 2, 2].isSorted()", "true"],
      ["[2, 1].isSorted()", "false"],
      ["[3.5, 1.0].sum()", "4.5"],
      ["[duration('1s'), duration('2s')].sum()", "duration('3s')"],
      ["dyn([]).sum()", "0"],
      ["['b', 'a'].max() + ['b', 'a'].min()", "'ba'"],
      ["[1, 3, 2].isSorted() || !['a', 'b'].isSorted()", "false"],
      ["[1, 2, 1].indexOf(1)", "0"],
      ["[1, 2, 1].lastIndexOf(1)", "2"],
      ["self.l.indexOf(5)", "-1"],
      // Values without an order are passed over.
      ["[double('NaN'), 1.0].isSorted()", "true"],
      ["[2.0, double('NaN'), 1.0].min()", "1.0"],
      ["[1.0, double('NaN'), 2.0].max()", "2.0"],
      ["string([double('NaN'), 1.0].max())", "'NaN'"],
      ["[dyn(1), dyn('a')].max()", "1"],
    ],
    { self },
  );
  assertErrors(
    [
      ["self.l.filter(x, false).min()", "min called on empty list"],
      ["self.l.filter(x, false).max()", "max called on empty list"],
      ["dyn(['a']).sum()", "no such overload: sum(list)"],
      ["dyn([[1]]).isSorted()", "no such overload: isSorted(list)"],
    ],
    { self },
  );
});

test("matches says whether a part matches, find and findAll give the parts [EXPR-09] [EXPR-10] [EXPR-11]", () => {
  assertValues([
    ["'abc'.matches('^a')", "true"],
    ["'abc'.matches('^b')", "false"],
    ["'a1b2'.find('[0-9]')", "'1'"],
    ["'ab'.find('[0-9]')", "''"],
    ["'a1b2'.findAll('[0-9]')", "['1', '2']"],
    ["'a1b2'.findAll('[0-9]', 1)", "['1']"],
    ["'a1b2'.findAll('[0-9]', 0)", "[]"],
  ]);
  assertErrors(
    [
      ["'x'.find(self.s + '(')", "Illegal regex: error parsing regexp: missing closing ): `hello(`"],
      ["self.l.find('a')", "no such overload"],
      ["self.s.find(dyn(1))", "no such overload: find(string, int)"],
    ],
    { self },
  );
});

test("sets compare without order and repetition", () => {
  assertValues([
    ["sets.contains([1, 2], [2, 2])", "true"],
    ["sets.equivalent([1, 2, 1], [2, 1])", "true"],
    ["sets.intersects([1], [2])", "false"],
    ["sets.contains([1], [dyn(1.0)])", "true"],
  ]);
  assertErrors([["sets.contains(dyn(self.i), [1])", "no such overload: sets.contains(int, list)"]], { self });
});

test("optional values stand for what may be absent", () => {
  assertValues(
    [
      ["self.?zz.orValue(5)", "5"],
      ["self.?zz.foo.bar.hasValue()", "false"],
      ["self.?l[?7].hasValue()", "false"],
      ["self.?n.foo.hasValue()", "false"],
      ["self.?i.optMap(x, x + 1).value()", "4"],
      ["optional.of(1).orValue(1 / 0)", "1"],
      ["optional.of(1).or(optional.of(1 / 0)).value()", "1"],
      ["optional.ofNonZeroValue(duration('0s')).hasValue()", "false"],
      ["optional.ofNonZeroValue(timestamp(0)).hasValue()", "true"],
      ["optional.ofNonZeroValue(optional.none()).hasValue()", "true"],
      ["[?self.?zz, ?optional.of(1)]", "[1]"],
      ["{?'a': self.?zz, ?'b': self.?i}", "{'b': 3}"],
    ],
    { self },
  );
});
