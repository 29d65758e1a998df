/** Valid EncryptionConfigurations, and kube-apiserver 1.32's errors for invalid ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "#codec/config-document.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { type EncryptionRule, readEncryptionConfig } from "./config.ts";

const domain = apiDomain("k8s.io");
const secret = (bytes = 32, fill = 1): string => Buffer.alloc(bytes, fill).toString("base64");
const key = (name: string, bytes = 32): object => ({ name, secret: secret(bytes) });
const identity = { identity: {} };
const aescbc = (...keys: readonly object[]): object => ({ aescbc: { keys } });
const kms = (settings: object = {}): object => ({
  kms: { apiVersion: "v2", name: "a", endpoint: "unix:///run/kms.sock", ...settings },
});
/** Returns rules, each from a list of resources and its providers. */
const rules = (...list: readonly (readonly [readonly string[], ...object[]])[]): object => ({
  resources: list.map(([resources, ...providers]) => ({ resources, providers })),
});

const read = (config: object): readonly EncryptionRule[] =>
  readEncryptionConfig(
    JSON.stringify({ kind: "EncryptionConfiguration", apiVersion: "apiserver.config.k8s.io/v1", ...config }),
    domain,
  );

function refusal(config: object): string {
  try {
    read(config);
  } catch (error) {
    assert.ok(error instanceof ConfigError, String(error));
    return error.message;
  }
  return assert.fail(`it was read: ${JSON.stringify(config)}`);
}

test("rules, keys and KMS providers are read, under the former name of the document as well", () => {
  const config = rules(
    [["secrets", "deployments.apps"], aescbc(key("a"), key("b", 16)), identity],
    [["*.apps"], { secretbox: { keys: [key("c")] } }, kms({ timeout: "1m" }), kms({ name: "b" })],
    [["*.*"], { aesgcm: { keys: [key("d", 24)] } }],
  );
  const expected = [
    {
      resources: ["secrets", "deployments.apps"],
      providers: [
        {
          type: "aescbc",
          keys: [
            { name: "a", secret: Buffer.alloc(32, 1) },
            { name: "b", secret: Buffer.alloc(16, 1) },
          ],
        },
        { type: "identity" },
      ],
    },
    {
      resources: ["*.apps"],
      providers: [
        { type: "secretbox", keys: [{ name: "c", secret: Buffer.alloc(32, 1) }] },
        { type: "kms", kms: { name: "a", socket: "/run/kms.sock", timeoutMs: 60_000 } },
        { type: "kms", kms: { name: "b", socket: "/run/kms.sock", timeoutMs: 3000 } },
      ],
    },
    { resources: ["*.*"], providers: [{ type: "aesgcm", keys: [{ name: "d", secret: Buffer.alloc(24, 1) }] }] },
  ];
  assert.deepEqual(read(config), expected);
  assert.deepEqual(read({ ...config, kind: "EncryptionConfig", apiVersion: "v1" }), expected);
});

test("names of resources that are no mistakes are accepted", () => {
  for (const resources of [["*."], ["*.*"], ["deployments.apps", "*."], ["foos.bar.example"], ["pods."], [""]]) {
    assert.equal(read(rules([resources, identity])).length, 1, resources.join());
  }
  assert.equal(read(rules([["secrets"], identity], [["secrets"], identity])).length, 2);
  assert.equal(read(rules([["secrets"], aescbc(key("a"), key("a")), identity])).length, 1);
});

test("errors of the configuration have kube-apiserver's words", () => {
  const events =
    "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file";
  const overlapping =
    "using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked";
  const noProvider =
    'resources[0].providers[0]: Invalid value: "": provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity';
  const removed = "'extensions' group has been removed and cannot be used for encryption";
  const noRest = "resources which do not have REST API/s cannot be encrypted";
  const star = "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources";
  const secretsBy = (...providers: readonly object[]): object => rules([["secrets"], ...providers]);
  const invalidName = (name: string, why: string): [object, string] => [
    rules([[name], identity]),
    `resources[0].resources[0]: Invalid value: ${JSON.stringify(name)}: ${why}`,
  ];
  const secretIs = (secret: unknown, detail: string, type = "aescbc"): [object, string] => [
    secretsBy({ [type]: { keys: [{ name: "a", secret }] } }),
    `resources[0].providers[0].${type}.keys[0].secret: Invalid value: "REDACTED": ${detail}`,
  ];
  const kmsIs = (settings: object, problem: string): [object, string] => [
    secretsBy(kms(settings)),
    `resources[0].providers[0].kms.${problem}`,
  ];
  const wrong: readonly [object, string][] = [
    [{}, "resources: Required value: at least one resources is required"],
    [rules([[], identity]), "resources[0].resources: Required value: at least one resources[0].resources is required"],
    [rules([["secrets"]]), "resources[0].providers: Required value: at least one resources[0].providers is required"],
    [secretsBy({}), noProvider],
    [secretsBy({ identity: null }), noProvider],
    [
      secretsBy({ ...identity, ...aescbc(key("a")) }),
      'resources[0].providers[0]: Invalid value: "aescbc, identity": more than one provider specified in a single element, should split into different list elements',
    ],
    [secretsBy(aescbc()), "resources[0].providers[0].aescbc.keys: Required value: at least one keys is required"],
    [
      secretsBy(aescbc({ secret: secret() })),
      "resources[0].providers[0].aescbc.keys[0].name: Required value: name is a mandatory field for a key",
    ],
    [
      secretsBy(aescbc({ name: "a" })),
      "resources[0].providers[0].aescbc.keys[0].secret: Required value: secret is a mandatory field for a key",
    ],
    secretIs("not base64!", "secrets must be base64 encoded"),
    secretIs(secret().replace("=", ""), "secrets must be base64 encoded"),
    secretIs(secret(15), "secret is not of the expected length, got 15, expected one of [16 24 32]"),
    secretIs(secret(33), "secret is not of the expected length, got 33, expected one of [16 24 32]", "aesgcm"),
    secretIs(secret(16), "secret is not of the expected length, got 16, expected one of [32]", "secretbox"),
    invalidName("Secrets", "resource name should not contain capital letters"),
    invalidName("*", star),
    invalidName("secrets.*", "encrypting the same resource across groups is not supported"),
    invalidName("events.events.k8s.io", events),
    invalidName("*.events.k8s.io", events),
    invalidName("deployments.extensions", removed),
    invalidName("*.extensions", removed),
    invalidName("serviceipallocations", noRest),
    [
      rules([["secrets", "secrets"], identity]),
      'resources[0].resources: Invalid value: []string{"secrets", "secrets"}: the same resource cannot be specified multiple times',
    ],
    ...[
      ["secrets", "*."],
      ["*.*", "*."],
      ["deployments.apps", "*.apps"],
    ].map((resources): [object, string] => [
      rules([resources, identity]),
      `resources[0].resources: Invalid value: []string{${resources.map((one) => JSON.stringify(one)).join(", ")}}: ${overlapping}`,
    ]),
    [
      rules([["*."], identity], [["secrets"], identity]),
      'error while building transformers: resource "secrets" is masked by earlier rule "*."',
    ],
    [
      rules([["*.*"], identity], [["*.apps"], identity]),
      'error while building transformers: resource "*.apps" is masked by earlier rule "*.*"',
    ],
    [
      rules([["*.apps"], identity], [["*.apps"], identity]),
      'error while building transformers: resource "*.apps" is masked by earlier rule "*.apps"',
    ],
    kmsIs({ name: "" }, "name: Required value: name is a mandatory field for a provider"),
    kmsIs({ name: "a:b" }, "name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':'"),
    [
      secretsBy(kms(), kms()),
      'resources[0].providers[1].kms.name: Invalid value: "a": duplicate KMS provider name a, names must be unique',
    ],
    kmsIs({ endpoint: "" }, 'endpoint: Invalid value: "": endpoint is a mandatory field for a kms'),
    kmsIs(
      { endpoint: "http://a" },
      'endpoint: Invalid value: "http://a": unsupported scheme "http" for KMS provider, only unix is supported',
    ),
    kmsIs(
      { endpoint: "/run/a" },
      'endpoint: Invalid value: "/run/a": unsupported scheme "" for KMS provider, only unix is supported',
    ),
    kmsIs({ cachesize: 0 }, "cachesize: Invalid value: 0: cachesize is not supported in v2"),
    kmsIs(
      { timeout: "-1s" },
      "timeout: Invalid value: v1.Duration{Duration:-1000000000}: timeout should be a positive value",
    ),
  ];
  for (const [config, message] of wrong) assert.equal(refusal(config), message);
});

test("KMS v1 is refused with the way out, fields that are unknown and other documents as well", () => {
  assert.match(refusal(rules([["secrets"], kms({ apiVersion: "v1" })])), /KMSv1 is deprecated/);
  assert.match(refusal(rules([["secrets"], kms({ apiVersion: undefined })])), /Use KMSv2 instead/);
  assert.match(refusal(rules([["secrets"], kms({ apiVersion: "v3" })])), /only v1 and v2 are supported/);
  assert.match(refusal({ ...rules([["secrets"], identity]), extra: 1 }), /unknown field "extra"/);
  assert.match(
    refusal(rules([["secrets"], aescbc({ ...key("a"), x: 1 })])),
    /unknown field "resources\[0\].providers\[0\].aescbc.keys\[0\].x"/,
  );
  assert.match(refusal({ kind: "Nothing" }), /must be of kind EncryptionConfiguration/);
  assert.match(
    refusal(rules([["secrets"], kms({ timeout: "x" })])),
    /^resources\.providers\.kms\.timeout: time: invalid duration "x"$/,
  );
});
