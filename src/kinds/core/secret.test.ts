/** Rules of secrets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const secrets = kindUnderTest({ group: "", version: "v1", kind: "Secret" });
const secret = (type: string, texts: Record<string, string> = {}): Unstructured => ({
  metadata: { name: "a" },
  type,
  stringData: texts,
});

test("stringData becomes data and the type is Opaque unless said otherwise", () => {
  const secret = secrets.create({
    metadata: { name: "a" },
    data: { a: "MQ==", b: "Mg==" },
    stringData: { b: "é", c: "" },
  });
  const { metadata: _metadata, ...rest } = secret;
  assert.deepEqual(rest, { data: { a: "MQ==", b: "w6k=", c: "" }, type: "Opaque" });
  const hostile = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const object = secrets.create({ metadata: { name: "a" }, stringData: hostile })["data"] as Record<string, string>;
  assert.deepEqual(Object.entries(object), [["__proto__", "eA=="]]);
});

test("some types ask for certain keys", () => {
  const check = (object: Unstructured, ...expected: string[]) =>
    assert.deepEqual(secrets.refuseCreate(object), expected);
  check(secret("kubernetes.io/tls", { "tls.crt": "", "tls.key": "" }));
  check(secret("kubernetes.io/tls"), "data[tls.crt]: Required value", "data[tls.key]: Required value");
  check(secret("kubernetes.io/basic-auth", { password: "" }));
  check(secret("kubernetes.io/basic-auth"), "data[username]: Required value", "data[password]: Required value");
  check(secret("kubernetes.io/ssh-auth", { "ssh-privatekey": "" }), "data[ssh-privatekey]: Required value");
  check(secret("kubernetes.io/dockercfg", { ".dockercfg": "{}" }));
  check(secret("kubernetes.io/dockerconfigjson"), "data[.dockerconfigjson]: Required value");
  check(
    secret("kubernetes.io/dockercfg", { ".dockercfg": "x" }),
    "data[.dockercfg]: Invalid value: \"<secret contents redacted>\": invalid character 'x' looking for beginning of value",
  );
  check(
    secret("kubernetes.io/service-account-token"),
    "metadata.annotations[kubernetes.io/service-account.name]: Required value",
  );
  check(secret("example.com/anything"));
});

test("the types are named after the domain", () => {
  const platform = kindUnderTest({ group: "", version: "v1", kind: "Secret" }, { domain: "platform.io" });
  assert.equal(platform.refuseCreate(secret("platform.io/tls")).length, 2);
  assert.equal(platform.refuseCreate(secret("kubernetes.io/tls")).length, 0);
});

test("keys have a syntax and all values together are at most a mebibyte", () => {
  assert.equal(secrets.refuseCreate(secret("Opaque", { "a/b": "" })).length, 1);
  const most = "x".repeat(1024 * 1024);
  assert.deepEqual(secrets.refuseCreate(secret("Opaque", { a: most })), []);
  assert.deepEqual(secrets.refuseCreate(secret("Opaque", { a: most, b: "x" })), [
    "data: Too long: may not be more than 1048576 bytes",
  ]);
});

test("the type never changes, and nothing does once it is immutable", () => {
  const old = secrets.create({ metadata: { name: "a" }, data: { a: "MQ==" }, type: "x", immutable: true });
  assert.deepEqual(secrets.refuseUpdate(old, old), []);
  const message = "Forbidden: field is immutable when `immutable` is set";
  assert.deepEqual(secrets.refuseUpdate({ metadata: { name: "a" }, data: {} }, old), [
    'type: Invalid value: "Opaque": field is immutable',
    `immutable: ${message}`,
    `data: ${message}`,
  ]);
});

test("a table shows type and number of keys, and selectors may name the type", () => {
  const object = secrets.create(secret("x", { a: "", b: "" }));
  assert.deepEqual(secrets.row(object), { Name: "a", Type: "x", Data: 2, Age: "<unknown>" });
  assert.deepEqual(secrets.definition.strategy.fields!(object), { type: "x" });
});
