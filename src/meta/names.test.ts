/** The syntax of names, with upstream's messages. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { cidr } from "./ip-range.ts";
import { parseIp, printIp } from "./ip-address.ts";
import {
  cIdentifier,
  configKey,
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  formMessage,
  type NameCheck,
  nameRules,
  pathSegment,
  percent,
  portName,
  qualifiedName,
} from "./names.ts";

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const key =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

const check = (rule: NameCheck, text: string, ...messages: readonly string[]) =>
  assert.deepEqual([...rule(text)], messages, text);

test("names are DNS subdomains, labels or path segments by kind [NAME-08]", () => {
  for (const right of ["a", "0", "a.b-c.0", "x".repeat(253)]) check(dns1123Subdomain, right);
  for (const wrong of ["Bad_Name", "-a", "a-", "a..b", "a b", "a/b", "", ".", "a.-b", "a-.b", "é"]) {
    check(dns1123Subdomain, wrong, subdomain);
  }
  check(dns1123Subdomain, "x".repeat(254), "must be no more than 253 characters");
  check(dns1123Label, "a-0");
  check(dns1123Label, "a.b", "must not contain dots");
  check(dns1123Label, "A", label);
  check(dns1123Label, "x".repeat(64), "must be no more than 63 characters");
  check(dns1123Label, "é".repeat(32), "must be no more than 63 characters", label);
  check(dns1035Label, "a-0");
  assert.equal(dns1035Label("0a").length, 1);
  for (const right of ["system:Any Name_*", "UPPER", "..."]) check(pathSegment, right);
  check(pathSegment, ".", "may not be '.'");
  check(pathSegment, "..", "may not be '..'");
  check(pathSegment, "a/b%", "may not contain '/'", "may not contain '%'");
});

test("a trailing dash of generateName is no mistake [NAME-08]", () => {
  const rule = nameRules["dns1123subdomain"]!;
  assert.deepEqual(rule("p-", true), []);
  assert.deepEqual(rule("Bad_", true), [subdomain]);
  assert.deepEqual(rule("a.-", true), []);
  assert.deepEqual(rule("-", true), [subdomain]);
  assert.deepEqual(nameRules["pathSegment"]!("..", true), []);
});

test("keys are qualified names [META-19]", () => {
  for (const right of ["a", "x".repeat(63), "example.com/A_b.c-0"]) check(qualifiedName, right);
  check(qualifiedName, "bad key", key);
  check(qualifiedName, "", "name part must be non-empty", key);
  check(qualifiedName, "/x", "prefix part must be non-empty");
  check(qualifiedName, "Upper.example.com/x", `prefix part ${subdomain}`);
  check(qualifiedName, "x".repeat(64), "name part must be no more than 63 characters");
  check(
    qualifiedName,
    "a/b/c",
    "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
  );
});

test("labels, ports, IP addresses and other formats are checked", () => {
  for (const right of ["key.name", "KEY_NAME", "key-name", "...a".slice(2)]) check(configKey, right);
  check(configKey, ".", "must not be '.'");
  check(configKey, "..", "must not be '..'");
  check(configKey, "..a", "must not start with '..'");
  assert.equal(configKey("a/b").length, 1);
  assert.equal(configKey("").length, 1);
  assert.equal(configKey("x".repeat(254)).length, 1);
  check(cIdentifier, "_a1");
  assert.equal(cIdentifier("1a").length, 1);
  check(percent, "93%");
  assert.equal(percent("%").length, 1);
  check(portName, "http-2");
  check(
    portName,
    "-A--",
    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    "must contain at least one letter (a-z)",
    "must not contain consecutive hyphens",
    "must not begin or end with a hyphen",
  );
  assert.equal(formMessage("x", "r"), "x (regex used for validation is 'r')");
});

test("addresses are parsed and printed in canonical form", () => {
  const round = (text: string, canonical: string | undefined) => {
    const bytes = parseIp(text);
    assert.equal(bytes === undefined ? undefined : printIp(bytes), canonical, text);
  };
  round("10.9.8.7", "10.9.8.7");
  round("010.9.8.7", "10.9.8.7");
  round("256.0.0.1", undefined);
  round("1.2.3", undefined);
  round("::", "::");
  round("::1", "::1");
  round("2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1");
  round("1:0:0:0:0:0:0:0", "1::");
  round("1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8");
  round("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0");
  round("1:2:3:4:5:6:7", undefined);
  round("1::2::3", undefined);
  round("::ffff:1.2.3.4", "::ffff:1.2.3.4");
  round("g::", undefined);
  check(cidr, "10.9.8.0/24");
  check(cidr, "2001:db8::/64");
  assert.equal(cidr("10.9.8.0/33").length, 1);
  assert.equal(cidr("10.9.8.0").length, 1);
  assert.deepEqual(nameRules["canonicalIP"]!("::0001", false), ["must be a canonical format IP address"]);
});

test("hostile names cost no more than their length", async () => {
  for (const rule of [dns1123Subdomain, dns1123Label, qualifiedName, configKey, pathSegment])
    await growsInProportion(100_000, (length) => rule(`${"a".repeat(length)}!`));
});
