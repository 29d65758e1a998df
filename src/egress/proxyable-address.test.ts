/** The addresses that are no targets of proxies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { hostProblem, isProxyableIp } from "./proxyable-address.ts";

test("addresses of this machine, of its link and of metadata services are no targets, in whatever form", async () => {
  const refused =
    "127.0.0.1 127.9.9.9 ::1 0.0.0.0 :: 169.254.169.254 fe80::1 fe80::1%eth0 224.0.0.1 ff02::1 255.255.255.255 " +
    "::ffff:127.0.0.1 ::ffff:169.254.169.254 ::ffff:7f00:1 0:0:0:0:0:0:0:1 fd00:ec2::254";
  for (const address of refused.split(" ")) assert.equal(isProxyableIp(address), false, address);
  for (const address of ["", "localhost", "127.1", "0x7f000001", "2130706433", "10.0.0.1:80", "[::1]"])
    assert.equal(isProxyableIp(address), false, address);
  for (const address of ["10.1.2.3", "192.168.0.1", "172.16.0.1", "8.8.8.8", "fd00::1", "2001:db8::1"])
    assert.equal(isProxyableIp(address), true, address);
  assert.equal(await hostProblem("localhost"), "address not allowed");
  assert.equal(await hostProblem("127.0.0.1"), "address not allowed");
  assert.equal(await hostProblem("10.1.2.3"), undefined);
});
