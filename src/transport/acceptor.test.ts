/** Tests of the address under which connections are counted. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { networkOf } from "./acceptor.ts";

test("IPv6 addresses of a network of 64 bits count as one, and IPv4 addresses each", () => {
  for (const [address, expected] of [
    ["10.0.0.1", "10.0.0.1"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::6", "2001:db8:1:2::/64"],
    ["2001:db8::6", "2001:db8:0:0::/64"],
    ["fe80::1%eth0", "fe80:0:0:0::/64"],
    ["::1", "0:0:0:0::/64"],
    ["", ""],
  ] as const) {
    assert.equal(networkOf(address), expected);
  }
});
