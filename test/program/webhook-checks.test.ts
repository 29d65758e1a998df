/** The reasons for which a webhook cannot be called, as its configuration shows them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { configReasons, endingSoon, readyServices } from "#commands/doctor/webhook-checks.ts";

const now = Date.parse("2026-06-01T00:00:00Z");
const day = 86_400_000;
const service = { namespace: "shop", name: "hook" };
const whats = (...args: Parameters<typeof configReasons>): readonly string[] =>
  configReasons(...args).map(({ what }) => what);

test("a service that is missing, and one behind which nothing is ready, are told apart", () => {
  assert.match(whats({ service }, { ready: new Map(), nowMs: now })[0]!, /shop\/hook, which does not exist/);
  assert.match(whats({ service }, { ready: new Map([["shop/hook", false]]), nowMs: now })[0]!, /it has no endpoints/);
  assert.deepStrictEqual(whats({ service }, { ready: new Map([["shop/hook", true]]), nowMs: now }), []);
  assert.deepStrictEqual(
    whats({ service }, { ready: undefined, nowMs: now }),
    [],
    "services that are hidden are not missing",
  );
});

test("a bundle without certificates and one whose certificates have ended are reasons; one that ends soon is a warning", async () => {
  const authority = await fakeAuthority();
  const bundle = async (notAfter: number): Promise<string> => {
    const { certificate } = await authority.issue({
      notBefore: new Date(now - 90 * day),
      notAfter: new Date(notAfter),
    });
    return Buffer.from(certificate).toString("base64");
  };
  const known = { ready: undefined, nowMs: now };
  assert.deepStrictEqual(whats({ caBundle: Buffer.from("x").toString("base64") }, known), [
    "Its caBundle has no certificate.",
  ]);
  const ended = await bundle(now - day);
  assert.deepStrictEqual(whats({ caBundle: ended }, known), [
    "The certificate in its caBundle expired at 2026-05-31 00:00 UTC.",
  ]);
  assert.deepStrictEqual(endingSoon("x", { caBundle: ended }, now), []);
  const soon = await bundle(now + day);
  assert.deepStrictEqual(whats({ caBundle: soon }, known), []);
  assert.equal(endingSoon("x", { caBundle: soon }, now)[0]?.severity, "warning");
  assert.deepStrictEqual(endingSoon("x", { caBundle: await bundle(now + 60 * day) }, now), []);
});

test("endpoints, or ready endpoints of a slice, make a service ready", () => {
  const object = (name: string, more: object, labels: Readonly<Record<string, string>> = {}) => ({
    metadata: { name, namespace: "shop", labels },
    ...more,
  });
  const slice = (name: string, of: string, ready: boolean | undefined) =>
    object(
      name,
      { endpoints: [{ conditions: ready === undefined ? {} : { ready } }] },
      { "kubernetes.io/service-name": of },
    );
  const ready = readyServices(
    [
      object("a", { subsets: [{ addresses: [{ ip: "10.0.0.1" }] }] }),
      object("b", { subsets: [{ notReadyAddresses: [{}] }] }),
      object("c", {}),
    ],
    [
      slice("d-1", "d", true),
      slice("e-1", "e", false),
      slice("f-1", "f", undefined),
      object("g-1", { endpoints: null }, { "kubernetes.io/service-name": "g" }),
    ],
  );
  assert.deepStrictEqual([...ready].toSorted(), ["shop/a", "shop/d", "shop/f"]);
});
