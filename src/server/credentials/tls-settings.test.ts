/** TLS versions and cipher suites by kube-apiserver's names. */
import assert from "node:assert";
import { test } from "node:test";
import { tlsSettings } from "./tls-settings.ts";

void test("cipher suites are translated to OpenSSL's names, have a fixed order, and those of TLS 1.3 stay", () => {
  const { minVersion, ciphers } = tlsSettings({
    tlsMinVersion: "VersionTLS13",
    tlsCipherSuites: [
      "TLS_AES_128_GCM_SHA256",
      "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
      "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
      "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
      "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
      "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
      "TLS_RSA_WITH_AES_128_GCM_SHA256",
    ],
  });
  assert.strictEqual(minVersion, "TLSv1.3");
  assert.deepStrictEqual(ciphers?.split(":"), [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
  ]);
});

void test("an unknown cipher suite is refused", () => {
  assert.throws(
    () => tlsSettings({ tlsMinVersion: "VersionTLS12", tlsCipherSuites: ["TLS_NONE"] }),
    /invalid value "TLS_NONE" for --tls-cipher-suites: no such suite here/,
  );
});
