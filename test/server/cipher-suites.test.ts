/** The cipher suites that connections get, as clients see them. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { connect, type ConnectionOptions } from "node:tls";
import { openServer } from "../harness.ts";

/** Returns the suite of a new connection. Rejects when there is none that both sides take. */
async function suiteOf(url: string, options: ConnectionOptions): Promise<string> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ...options });
  try {
    await once(socket, "secureConnect");
    return socket.getCipher().name;
  } finally {
    socket.destroy();
  }
}

const old = { maxVersion: "TLSv1.2" } as const;

test("by default AES with 128 bits comes first, except for clients that prefer ChaCha20, and there are no weak suites", async () => {
  const { url } = await openServer("k8s.io");
  assert.equal(await suiteOf(url, {}), "TLS_AES_128_GCM_SHA256");
  const strong = "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305";
  assert.equal(await suiteOf(url, { ...old, ciphers: strong }), "ECDHE-ECDSA-AES128-GCM-SHA256");
  const portable = "TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256";
  assert.equal(await suiteOf(url, { ciphers: portable }), "TLS_CHACHA20_POLY1305_SHA256");
  await assert.rejects(suiteOf(url, { ...old, ciphers: "ECDHE-ECDSA-AES256-SHA384" }));
});

test("--tls-cipher-suites names the suites of TLS 1.2, and leaves TLS 1.3", async () => {
  const { url } = await openServer("k8s.io", { tlsCipherSuites: ["TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"] });
  assert.equal(await suiteOf(url, {}), "TLS_AES_128_GCM_SHA256");
  assert.equal(await suiteOf(url, old), "ECDHE-ECDSA-AES256-GCM-SHA384");
  await assert.rejects(suiteOf(url, { ...old, ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }));
});
