/** Values that kube-apiserver 1.32.1 wrote can be decrypted. */
import assert from "node:assert/strict";
import { createDecipheriv, hash } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { aescbc } from "./aescbc.ts";
import { aesgcm } from "./aesgcm.ts";
import type { KmsPlugin } from "./kms/grpc.ts";
import { KmsProvider } from "./kms/provider.ts";
import { secretbox } from "./secretbox.ts";
import type { ValueTransformer } from "./transformer.ts";

const random = seededRandom(1);
/** All keys are 32 bytes of 1. */
const keys = [{ name: "key1", secret: Buffer.alloc(32, 1) }];

/** Keys of etcd, and values in base64. */
const written = {
  aescbc: {
    key: "/registry/secrets/n1/s",
    value: [
      "azhzOmVuYzphZXNjYmM6djE6a2V5MTocGKKKihfxWXufglVr370ubmPiogFTcA0IUIieL6cHDANITOIDBMz5SYIvpB3dpDOPyk57tHHDYWPB",
      "ua/nNtirYWJL0eMXt9qkhFUWkoEg2Ma29B50tA4+osKDB9t/+zS74lodPPfJRZtVnhOXiNv+qMDvEIR7I30m7PsvT3QzhKOV6RPTIs73PkOB",
      "Qn8xG2RWoxpq/4uTCi5/kxs2R9+JeXeHmIk20VqGuVpng6/VwU+Exv0YzJn1X1fgbR8FwTYgnnBRVrRHdotwfyI2QhJCuAohvGCQaTGf5eWt",
      "34rRSA==",
    ],
  },
  aesgcm: {
    key: "/registry/configmaps/n1/m",
    value: [
      "azhzOmVuYzphZXNnY206djE6a2V5MTpOLqUuB3m6Vnq2YHH5EIU6T5tlWo19kgkO5a6plG9fbSvQgceNjyjcYrhe9+HW50aENtKPNRII9QJp",
      "B8+PwlrrfaFuQEaCkBkHXUs96hBYH13LcJX6uFj6qPCgOIsX/IzTpfrpnvqSoQu5GE+hNMIkLAgD6HVU5ZQ=",
    ],
  },
  secretbox: {
    key: "/registry/leases/n1/l",
    value: [
      "azhzOmVuYzpzZWNyZXRib3g6djE6a2V5MTryeqvNMraNWyc2D1ntn8Yz+RisSr6ixu6pBf4t3iqn2o27aG3TqyLBqbgZ5ovxzr/G2SuKJrOw",
      "tIqFn/yJmL+gZUP1aBrXNFaluPF5WH237RcE4y9x5VCDZNxjkpOvvTDzp+e/JJPfaqVEv9YgVtkPbAWVanabcpzoeeFOb0h+c/11D6dltGv/",
      "hMAYvBE0oi0+fzByYg0=",
    ],
  },
  kms: {
    key: "/registry/secrets/n1/s",
    value: [
      "azhzOmVuYzprbXM6djI6bWluZToKhgIkVkESkD2c7HlJnqlzXkUSPmj4Syxc9spldJ5QWHqF3MKTHoXRi0Xhw24/Dw0qZJe4CuMtt6+sG6Jl",
      "Xg4tpdwvVuCAB/G06Ywn1UOHZsWj434fnSq0qlm9h9H18N4cqGG8KG+51zSCtZ4QCxQfQhSqo+wNLCQ/XXRvr82pRac4+aFDMj8E6PfFdsNv",
      "/nc/wngu0mcD36enkPzi5m7iViZqa64ZsEvPkHD3Y5CXWQD18bc0hYDigRPMyPX523t2jEAms/3NWHPKuX97LQJ2gvx6Kdpx0a59oEhnJhOI",
      "NuwHhNEU5mrTac9ab6eM7Evqz0Ctix02OWDWJIhuW6eWOgedM7aOmjSQEgVrZXktMRo8ArfycxuozQU1Kd3j7SAa6ZdfS04/+NVJaAuTWQ3f",
      "pNbGRcD4hnQWVpzKlTFCVZw90Qtpzp3M4wMZaZGkIhgKD2ttcy5leGFtcGxlLmNvbRIFbm90ZWQoAQ==",
    ],
  },
} as const;

async function read(provider: ValueTransformer, { key, value }: (typeof written)[keyof typeof written]) {
  const decrypted = await provider.decrypt(Buffer.from(value.join(""), "base64"), Buffer.from(key));
  return { ...decrypted, text: decrypted.value.toString("latin1") };
}

test("values of aescbc, aesgcm and secretbox are read", async () => {
  for (const [provider, of, kind] of [
    [aescbc(keys, random), written.aescbc, "Secret"],
    [aesgcm(keys, random), written.aesgcm, "ConfigMap"],
    [secretbox(keys, random), written.secretbox, "Lease"],
  ] as const) {
    const { text, origin } = await read(provider, of);
    assert.equal(text.slice(0, 4), "k8s\u0000");
    assert.ok(text.includes(kind), kind);
    assert.equal(origin, provider.origin);
  }
});

/** The plugin that encrypted the seed: AES-GCM with a key derived from its name. */
const plugin: KmsPlugin = {
  status: () => Promise.resolve({ version: "v2", healthz: "ok", keyId: "key-1" }),
  encrypt: (ciphertext) => Promise.resolve({ ciphertext, keyId: "key-1", annotations: {} }),
  decrypt({ ciphertext, keyId, annotations }) {
    assert.deepEqual({ ...annotations }, { "kms.example.com": Buffer.from("noted") });
    const secret = hash("sha256", `secret of ${keyId}`, "buffer");
    const cipher = createDecipheriv("aes-256-gcm", secret, ciphertext.subarray(0, 12), { authTagLength: 16 });
    cipher.setAuthTag(ciphertext.subarray(-16));
    return Promise.resolve(Buffer.concat([cipher.update(ciphertext.subarray(12, -16)), cipher.final()]));
  },
  close() {},
};

test("values of KMS v2 are read, and are not stale", async () => {
  const changed = (): void => undefined;
  const provider = new KmsProvider({ name: "mine", plugin, clock: new FakeClock(), random, observe: {}, changed });
  await provider.start();
  const { text, origin } = await read(provider, written.kms);
  assert.match(text, /^k8s\u0000[^]*Secret/);
  assert.equal(origin, provider.origin);
  provider.close();
});
