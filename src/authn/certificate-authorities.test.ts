/** The bundle of authorities to which a certificate belongs. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { RequestCredentials, VerifiedCertificate } from "./authenticator.ts";
import { CertificateAuthorities } from "./certificate-authorities.ts";
import { clientCertificate } from "./client-certificate.ts";
import { type FakeAuthority, fakeAuthority, type IssueOptions } from "./fake-authority.ts";

const der = (pem: string): Buffer => new X509Certificate(pem).raw;

async function formatAuthorities(
  by: FakeAuthority,
  options: IssueOptions,
  issuers: readonly FakeAuthority[] = [],
): Promise<VerifiedCertificate> {
  const { certificate } = await by.issue(options);
  return {
    commonName: options.commonName ?? "",
    organizations: [],
    raw: der(certificate),
    issuers: issuers.map((issuer) => der(issuer.certificate)),
  };
}

const first = await fakeAuthority("first");
const second = await fakeAuthority("second");
const both = new CertificateAuthorities(first.certificate + second.certificate);
const onlyFirst = new CertificateAuthorities(first.certificate);
const alice = { commonName: "alice" };

test("a certificate belongs to the bundles that hold its authority [ACERT-02] [ACERT-05]", async () => {
  const bySecond = await formatAuthorities(second, alice);
  assert.notEqual(both.validityOf(bySecond), undefined);
  assert.equal(onlyFirst.validityOf(bySecond), undefined);
  assert.deepEqual([both.size, both.overlaps(onlyFirst)], [2, true]);
  assert.equal(new CertificateAuthorities(second.certificate).overlaps(onlyFirst), false);
});

test("an authority of the same name with another key has issued nothing", async () => {
  const twin = await fakeAuthority("first");
  assert.equal(onlyFirst.validityOf(await formatAuthorities(twin, alice)), undefined);
});

test("authorities in between may come with the certificate, and do not count without the one above", async () => {
  const middle = await first.subordinate("middle");
  const lower = await middle.subordinate("lower");
  assert.notEqual(onlyFirst.validityOf(await formatAuthorities(lower, alice, [lower, middle])), undefined);
  assert.notEqual(onlyFirst.validityOf(await formatAuthorities(lower, alice, [first, middle, lower])), undefined);
  assert.equal(onlyFirst.validityOf(await formatAuthorities(lower, alice, [lower])), undefined);
  assert.equal(onlyFirst.validityOf(await formatAuthorities(lower, alice)), undefined);
  assert.notEqual(
    new CertificateAuthorities(middle.certificate).validityOf(await formatAuthorities(middle, alice)),
    undefined,
  );
});

test("a certificate that is no authority's issues nothing", async () => {
  for (const usage of ["any", "client"] as const) {
    const leaf = await first.usurper({ commonName: "leaf", usage });
    assert.notEqual(onlyFirst.validityOf(await formatAuthorities(first, { commonName: "leaf", usage })), undefined);
    assert.equal(onlyFirst.validityOf(await formatAuthorities(leaf, alice, [leaf])), undefined, usage);
    const middle = await leaf.subordinate("middle");
    assert.equal(onlyFirst.validityOf(await formatAuthorities(middle, alice, [middle, leaf])), undefined, usage);
  }
});

test("a path is valid while all its certificates are", async () => {
  const middle = await first.subordinate("middle");
  const validity = onlyFirst.validityOf(
    await formatAuthorities(middle, { ...alice, notAfter: new Date(Date.now() + 10 * 86_400_000) }, [middle]),
  );
  assert.equal(validity?.notAfterMs, new X509Certificate(middle.certificate).validToDate.getTime());
});

test("authorities that go take their clients with them, on connections that stand too", async () => {
  let present = both;
  const authenticator = clientCertificate({
    domain: kubernetesDomain,
    clock: new FakeClock(Date.now()),
    authorities: () => present,
  });
  const given: RequestCredentials = {
    headers: {},
    headerValues: () => [],
    path: "/",
    clientCertificate: await formatAuthorities(second, alice),
    clientCertificateProblem: "",
    warnings: [],
  };
  assert.equal((await authenticator.authenticate(given)).outcome, "user");
  present = onlyFirst;
  assert.deepEqual(await authenticator.authenticate(given), {
    outcome: "refused",
    reason: "client certificate: certificate signed by unknown authority",
  });
  present = both;
  assert.equal((await authenticator.authenticate(given)).outcome, "user");
});

test("a bundle with something else than certificates in its blocks is refused", () => {
  assert.throws(() => new CertificateAuthorities("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"));
  assert.equal(new CertificateAuthorities("").size, 0);
});
