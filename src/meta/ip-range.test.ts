/** IP ranges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ipFamily, parseIpRange } from "./ip-range.ts";

test("an address has a number in its range, and none outside", () => {
  const range = parseIpRange("10.0.0.7/24")!;
  assert.deepEqual([range.text, range.family, range.size], ["10.0.0.0/24", "IPv4", 256n]);
  assert.equal(range.indexOf("10.0.0.9"), 9n);
  assert.equal(range.indexOf("10.0.0.09"), 9n);
  assert.equal(range.indexOf("::ffff:10.0.0.9"), 9n);
  for (const other of ["10.0.1.0", "9.255.255.255", "fd00::9", "x"]) assert.equal(range.indexOf(other), undefined);
  const wide = parseIpRange("fd00:10::/108")!;
  assert.equal(wide.addressAt(0x1_0002n), "fd00:10::1:2");
  assert.equal(wide.indexOf("FD00:10::1:2"), 0x1_0002n);
});

test("a range strictly holds the smaller ranges inside of it", () => {
  const holds = (outer: string, inner: string): boolean => parseIpRange(outer)!.strictlyHolds(parseIpRange(inner)!);
  for (const [outer, inner] of [
    ["10.0.0.0/8", "10.255.0.0/16"],
    ["10.0.0.0/23", "10.0.1.255/32"],
    ["0.0.0.0/0", "128.0.0.0/1"],
    ["fd00::/9", "fd7f:ffff::/32"],
  ] as const) {
    assert.ok(holds(outer, inner), `${outer} ${inner}`);
  }
  for (const [outer, inner] of [
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["10.0.0.0/8", "10.0.0.0/7"],
    ["10.0.0.0/23", "10.0.2.0/24"],
    ["0.0.0.0/0", "fd00::/64"],
    ["::/0", "10.0.0.0/8"],
    ["fd00::/9", "fd80::/32"],
  ] as const) {
    assert.ok(!holds(outer, inner), `${outer} ${inner}`);
  }
  assert.deepEqual(
    ["10.0.7.9/22", "fd00:ffff::1/17", "1.2.3.4/0", "1.2.3.4/32"].map((text) => parseIpRange(text)!.text),
    ["10.0.4.0/22", "fd00:8000::/17", "0.0.0.0/0", "1.2.3.4/32"],
  );
});

test("text that is no range is refused", () => {
  for (const text of ["", "10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "10.0.0.0/-1", "x/8"]) {
    assert.equal(parseIpRange(text), undefined, text);
  }
});

test("an IPv4 address is one however it is written", () => {
  assert.deepEqual(
    ["1.2.3.4", "::ffff:1.2.3.4", "::1", "1.2.3"].map((text) => ipFamily(text)),
    ["IPv4", "IPv4", "IPv6", undefined],
  );
});
