/** Expired credentials. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { expiredCredential } from "./expired-credential.ts";

const now = Date.parse("2026-06-01T00:00:00Z");

test("a client certificate that has ended is told with its end", async () => {
  const authority = await fakeAuthority();
  const notBefore = new Date("2025-01-01T00:00:00Z");
  const notAfter = new Date("2026-05-01T00:00:00Z");
  const { certificate: cert, key } = await authority.issue({ notBefore, notAfter });
  assert.match(
    expiredCredential({ certificate: { cert, key } }, now) ?? "",
    /certificate expired at 2026-05-01 00:00 UTC/,
  );
  assert.equal(expiredCredential({ certificate: { cert, key } }, notAfter.getTime() - 1000), undefined);
});

test("a JSON Web Token that has ended is told with its end, and other tokens are not looked into", () => {
  const token = (claims: unknown): string => `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.y`;
  const end = Date.parse("2026-05-01T12:30:00Z") / 1000;
  assert.match(expiredCredential({ token: token({ exp: end }) }, now) ?? "", /token expired at 2026-05-01 12:30 UTC/);
  for (const claims of [{ exp: now / 1000 + 1 }, { exp: "1" }, { exp: 1e300 }, { exp: -1 }, {}, [], null, "a"]) {
    assert.equal(expiredCredential({ token: token(claims) }, now), undefined, JSON.stringify(claims));
  }
  for (const opaque of ["", "secret", "a.b", "..", "a.!.c"])
    assert.equal(expiredCredential({ token: opaque }, now), undefined);
});
