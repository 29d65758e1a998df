/** Values of providers: kube-apiserver's layouts, bound to their key, refused when damaged. */
import assert from "node:assert/strict";
import { createDecipheriv } from "node:crypto";
import { test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { seededRandom } from "#std/random.ts";
import { aescbc } from "./aescbc.ts";
import { aesgcm } from "./aesgcm.ts";
import { identity } from "./identity.ts";
import type { Key } from "./keyed.ts";
import { observeTransformer } from "./transform-observer.ts";
import { secretbox } from "./secretbox.ts";
import { type Decrypted, ProviderList, TransformError, type ValueTransformer } from "./transformer.ts";

const random = seededRandom(1);
const key = (name: string, fill: number, length = 32): Key => ({ name, secret: Buffer.alloc(length, fill) });
const storageKey = Buffer.from("/registry/core/secrets/default/a");
const value = Buffer.from("a value in clear, longer than a block");

const providers = {
  aescbc: (...keys: readonly Key[]) => aescbc(keys, random),
  aesgcm: (...keys: readonly Key[]) => aesgcm(keys, random),
  secretbox: (...keys: readonly Key[]) => secretbox(keys, random),
} as const;

function refusal(transformer: ValueTransformer, stored: Buffer, context = storageKey): string {
  try {
    void transformer.decrypt(stored, context);
  } catch (error) {
    assert.ok(error instanceof TransformError, String(error));
    return error.message;
  }
  return assert.fail("it was decrypted");
}

const open = (transformer: ValueTransformer, stored: Buffer): Decrypted => {
  const decrypted = transformer.decrypt(stored, storageKey);
  assert.ok(!(decrypted instanceof Promise));
  return decrypted;
};

test("aescbc writes a vector and padded blocks, for 16, 24 and 32 bytes of key", () => {
  for (const length of [16, 24, 32]) {
    const stored = providers.aescbc(key("k", 7, length)).encrypt(value, storageKey);
    const prefix = "k8s:enc:aescbc:v1:k:";
    assert.equal(stored.toString("latin1", 0, prefix.length), prefix);
    const rest = stored.subarray(prefix.length);
    const cipher = createDecipheriv(`aes-${length * 8}-cbc`, Buffer.alloc(length, 7), rest.subarray(0, 16));
    assert.deepEqual(Buffer.concat([cipher.update(rest.subarray(16)), cipher.final()]), value);
  }
});

test("aesgcm writes a nonce, the sealed value and the tag, with the object's key as additional data", () => {
  const stored = providers.aesgcm(key("k", 7)).encrypt(value, storageKey);
  const rest = stored.subarray("k8s:enc:aesgcm:v1:k:".length);
  assert.equal(rest.length, 12 + value.length + 16);
  const cipher = createDecipheriv("aes-256-gcm", Buffer.alloc(32, 7), rest.subarray(0, 12));
  cipher.setAAD(storageKey);
  cipher.setAuthTag(rest.subarray(-16));
  assert.deepEqual(Buffer.concat([cipher.update(rest.subarray(12, -16)), cipher.final()]), value);
});

test("a value is never encrypted twice in the same way, and an empty one is a value", () => {
  for (const provider of Object.values(providers)) {
    const transformer = provider(key("k", 1));
    assert.ok(!transformer.encrypt(value, storageKey).equals(transformer.encrypt(value, storageKey)));
    assert.equal(open(transformer, transformer.encrypt(Buffer.alloc(0), storageKey)).value.length, 0);
  }
});

test("values of every key are read, and the origin tells which one it was, also under the same name", () => {
  for (const provider of Object.values(providers)) {
    const before = provider(key("k1", 1));
    const after = provider(key("k2", 2), key("k1", 1));
    const stored = before.encrypt(value, storageKey);
    assert.deepEqual(open(after, stored), { value, origin: before.origin });
    assert.notEqual(before.origin, after.origin);
    assert.equal(after.knows(before.origin), true);
    assert.equal(before.knows(after.origin), false);
    assert.notEqual(provider(key("k1", 9)).origin, before.origin);
    assert.doesNotMatch(before.origin, /AQEBAQ|010101/);
  }
});

test("a key that is not there is named as kube-apiserver does", () => {
  const titles = { aescbc: "AES", aesgcm: "AES", secretbox: "Secretbox" };
  for (const [name, provider] of Object.entries(providers)) {
    const stored = provider(key("k1", 1)).encrypt(value, storageKey);
    const title = titles[name as keyof typeof titles]; // of the same keys
    assert.equal(
      refusal(provider(key("k2", 2)), stored),
      `no matching key was found for the provided ${title} transformer`,
    );
  }
});

test("every cut, and every changed byte of what is authenticated, is refused without a value", () => {
  for (const provider of [providers.aesgcm, providers.secretbox]) {
    const transformer = provider(key("k", 1));
    const stored = transformer.encrypt(value, storageKey);
    for (let at = transformer.prefix.length; at < stored.length; at++) {
      const changed = Buffer.from(stored);
      changed[at]! ^= 1;
      refusal(transformer, changed);
      refusal(transformer, stored.subarray(0, at));
    }
  }
  const cbc = providers.aescbc(key("k", 1));
  const stored = cbc.encrypt(value, storageKey);
  refusal(cbc, stored.subarray(0, -1));
  refusal(cbc, stored.subarray(0, cbc.prefix.length + 2 + 10));
});

test("bytes of any kind after a prefix are refused in words", () => {
  for (const provider of Object.values(providers)) {
    const transformer = provider(key("k", 1));
    for (let length = 0; length < 200; length++) {
      const bytes = Buffer.concat([transformer.prefix, Buffer.from("k:"), random.bytes(length)]);
      try {
        transformer.decrypt(bytes, storageKey);
      } catch (error) {
        assert.ok(error instanceof TransformError, String(error));
      }
    }
  }
});

test("a value that was moved to another object is refused by aesgcm", () => {
  const transformer = providers.aesgcm(key("k", 1));
  const stored = transformer.encrypt(value, storageKey);
  const other = Buffer.from("/registry/core/secrets/default/b");
  assert.equal(refusal(transformer, stored, other), "cipher: message authentication failed");
});

test("a list writes with its first provider and reads with all", () => {
  const cbc = providers.aescbc(key("k", 1));
  const gcm = providers.aesgcm(key("k", 1));
  const list = new ProviderList(gcm, identity, cbc);
  assert.equal(list.origin, gcm.origin);
  assert.equal(open(list, list.encrypt(value, storageKey)).origin, gcm.origin);
  // An `identity` provider before the provider of an encrypted value does not prevent decryption.
  assert.equal(open(list, cbc.encrypt(value, storageKey)).origin, cbc.origin);
  assert.deepEqual(open(list, value), { value, origin: "" });
  assert.equal(refusal(new ProviderList(identity, gcm), cbc.encrypt(value, storageKey)), "no matching prefix found");
  assert.equal(refusal(new ProviderList(gcm), value), "no matching prefix found");
  assert.equal(refusal(new ProviderList(identity), gcm.encrypt(value, storageKey)), "no matching prefix found");
});

test("each operation of a provider is reported with its prefix and whether it succeeded", () => {
  const lines: string[] = [];
  const transformer = observeTransformer(providers.aesgcm(key("k", 1)), systemClock, (type, prefix, error) =>
    lines.push(`${type} ${prefix} ${error?.message ?? "OK"}`),
  );
  open(transformer, transformer.encrypt(value, storageKey));
  refusal(transformer, transformer.encrypt(value, storageKey), Buffer.from("elsewhere"));
  const prefix = "k8s:enc:aesgcm:v1:";
  assert.deepEqual(lines, [
    `to_storage ${prefix} OK`,
    `from_storage ${prefix} OK`,
    `to_storage ${prefix} OK`,
    `from_storage ${prefix} cipher: message authentication failed`,
  ]);
});
