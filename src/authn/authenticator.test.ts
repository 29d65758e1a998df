/** Users from credentials: each method alone, and all in order. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import {
  type Authentication,
  type Authenticator,
  type RequestCredentials,
  orAnonymous,
  union,
  type VerifiedCertificate,
  withAuthenticatedGroup,
} from "./authenticator.ts";
import { bearerToken } from "./bearer-token.ts";
import { reviewedUser } from "./self-subject-review.ts";
import { CertificateAuthorities } from "./certificate-authorities.ts";
import { clientCertificate } from "./client-certificate.ts";
import { fakeAuthority, type IssueOptions } from "./fake-authority.ts";
import { parseCsv, readTokenFile } from "./token-file.ts";

const clock = new FakeClock(Date.now());

function credentials(over: Partial<RequestCredentials> = {}): RequestCredentials {
  return {
    headers: {},
    headerValues: () => [],
    path: "/",
    clientCertificate: undefined,
    clientCertificateProblem: "",
    warnings: [],
    ...over,
  };
}

const withToken = (token: string): RequestCredentials => credentials({ headers: { authorization: `Bearer ${token}` } });

const authority = await fakeAuthority();
const authorities = new CertificateAuthorities(authority.certificate);

async function issueVerified(options: IssueOptions): Promise<VerifiedCertificate> {
  const { certificate } = await authority.issue(options);
  return {
    commonName: options.commonName ?? "",
    organizations: options.organizations ?? [],
    raw: new X509Certificate(certificate).raw,
    issuers: [],
  };
}

/** Compares the result with `name [groups] uid`, `none`, or `refused`. */
async function check(using: Authenticator, given: RequestCredentials, expected: string): Promise<void> {
  const answer: Authentication = await using.authenticate(given);
  const printed =
    answer.outcome === "user"
      ? `${answer.user.name} [${answer.user.groups.join(" ")}] ${answer.user.uid ?? ""}`.trimEnd()
      : answer.outcome;
  assert.equal(printed, expected);
}

const file = readTokenFile('t1,alice,u1,"g1,g2"\nt2,bob,u2\na.b-c_d~e+f/g=,carol: of the sea,u3,one\n', "tokens.csv");
const tokens = bearerToken([file]);

test("a token of the file gives name, uid and groups, opaque as they are [ATOK-01] [ATOK-02] [ATOK-03] [ABEAR-01] [ABEAR-02] [AUTHN-06] [AUTHN-07]", async () => {
  await check(tokens, withToken("t1"), "alice [g1 g2] u1");
  await check(tokens, withToken("a.b-c_d~e+f/g="), "carol: of the sea [one] u3");
});

test("the column of groups may be missing [ATOK-04]", async () => {
  await check(tokens, withToken("t2"), "bob [] u2");
  // An empty column, and nothing between two commas, is a group without a name.
  const odd = readTokenFile('t1,bob,u,\nt2,bob,u,"a,,b"\n', "odd.csv");
  await check(bearerToken([odd]), withToken("t2"), "bob [a  b] u");
  const first = await odd.authenticateToken("t1");
  assert.deepEqual(first.outcome === "user" && first.user.groups, [""]);
  await check(withAuthenticatedGroup(tokens), withToken("t2"), "bob [system:authenticated] u2");
});

test("a review shows no empty field of a user", () => {
  assert.deepEqual(reviewedUser({ name: "", uid: "", groups: [], extra: {} }), {});
});

test("an unknown token is refused, other schemes are no credentials [ABEAR-03] [AANON-03]", async () => {
  await check(tokens, withToken("nope"), "refused");
  await check(tokens, withToken("constructor"), "refused");
  for (const authorization of ["", "Bearer", "Bearer ", "Basic dDE6dDE=", "t1", "Token t1"]) {
    await check(tokens, credentials({ headers: { authorization } }), "none");
  }
});

test("the scheme has any case, what follows the token does not count", async () => {
  for (const authorization of ["bearer t2", "BEARER t2", "Bearer t2 ", " Bearer t2", "Bearer t2 more words"]) {
    await check(tokens, credentials({ headers: { authorization } }), "bob [] u2");
  }
});

test("a client that sends two spaces before its token gets an error that says so", async () => {
  const given = credentials({ headers: { authorization: "Bearer  t2" } });
  await check(tokens, given, "none");
  assert.deepEqual(given.warnings, [
    "the provided Authorization header contains extra space before the bearer token, and is ignored",
  ]);
});

test("a malformed token file is an error that names the line, an empty or double token a warning", () => {
  const problem = (text: string): string => {
    try {
      readTokenFile(text, "f");
      return "";
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  };
  assert.match(problem("a,b\n"), /must have at least 3 columns .*found 2/);
  assert.match(problem('a,b,c,"d'), /line 1: a quoted field has no end/);
  assert.match(problem('a,b,c\na,b"x",c'), /line 2: a quote inside a plain field/);
  assert.match(problem('a,"b"x,c'), /line 1: text after a quoted field/);
  assert.deepEqual(readTokenFile(",n,u\nx,n,u\nx,m,v\n", "f").warnings, [
    "empty token has been found in token file 'f', record number '1'",
    "duplicate token has been found in token file 'f', record number '3'",
  ]);
});

test("records end in line feeds or both, blank lines are none, quoted fields hold anything", () => {
  assert.deepEqual(parseCsv('a,"b ""c""\n,d"\r\n\n\r\ne,,\n"",f', "f"), [
    ["a", 'b "c"\n,d'],
    ["e", "", ""],
    ["", "f"],
  ]);
  assert.deepEqual(parseCsv("", "f"), []);
  assert.deepEqual(parseCsv("a,b", "f"), [["a", "b"]]);
});

test("a client certificate gives its common name and organizations [ACERT-03] [ACERT-04]", async () => {
  const authenticator = clientCertificate({ domain: kubernetesDomain, clock, authorities: () => authorities });
  const certificate = await issueVerified({ commonName: "alice", organizations: ["a", "b"] });
  await check(authenticator, credentials({ clientCertificate: certificate }), "alice [a b]");
  await check(authenticator, credentials(), "none");
  await check(authenticator, credentials({ clientCertificate: await issueVerified({ organizations: ["a"] }) }), "none");
});

test("who observes certificates learns for how long a valid one stays valid", async () => {
  const lifetimes: number[] = [];
  const observeLifetime = (seconds: number): void => void lifetimes.push(seconds);
  const options = { domain: kubernetesDomain, clock, authorities: () => authorities, observeLifetime };
  const certificate = await issueVerified({ commonName: "alice" });
  await check(clientCertificate(options), credentials({ clientCertificate: certificate }), "alice []");
  await check(clientCertificate(options), credentials(), "none");
  assert.equal(lifetimes.length, 1);
  assert.ok(lifetimes[0]! > 0);
});

test("the certificate's fingerprint is an extra value, under a key of the domain", async () => {
  const certificate = await issueVerified({ commonName: "alice" });
  for (const [domain, key] of [
    [kubernetesDomain, "authentication.kubernetes.io/credential-id"],
    [apiDomain("platform.io"), "authentication.platform.io/credential-id"],
  ] as const) {
    const answer = await clientCertificate({ domain, clock, authorities: () => authorities }).authenticate(
      credentials({ clientCertificate: certificate }),
    );
    assert.ok(answer.outcome === "user");
    const fingerprint = new X509Certificate(certificate.raw).fingerprint256.replaceAll(":", "").toLowerCase();
    assert.deepEqual(answer.user.extra, { [key]: [`X509SHA256=${fingerprint}`] });
  }
});

test("a certificate that expired since the connection began is refused, as one that was never verified [ACERT-05] [ACERT-06]", async () => {
  const later = new FakeClock(Date.now());
  const authenticator = clientCertificate({ domain: kubernetesDomain, clock: later, authorities: () => authorities });
  const certificate = await issueVerified({ commonName: "alice", notAfter: new Date(Date.now() + 60_000) });
  const given = credentials({ clientCertificate: certificate });
  await check(authenticator, given, "alice []");
  later.advance(120_000);
  await check(authenticator, given, "refused");
  await check(authenticator, credentials({ clientCertificateProblem: "CERT_HAS_EXPIRED" }), "refused");
});

test("of several methods the first that knows the user decides, with nothing of the other [AUTHN-08] [AUTHN-09]", async () => {
  const both = withAuthenticatedGroup(
    union([clientCertificate({ domain: kubernetesDomain, clock, authorities: () => authorities }), tokens]),
  );
  const certificate = await issueVerified({ commonName: "cert", organizations: ["c"] });
  await check(both, credentials({ clientCertificate: certificate }), "cert [c system:authenticated]");
  await check(both, withToken("t1"), "alice [g1 g2 system:authenticated] u1");
  await check(both, { ...withToken("t1"), clientCertificate: certificate }, "cert [c system:authenticated]");
  await check(
    both,
    { ...withToken("t1"), clientCertificateProblem: "expired" },
    "alice [g1 g2 system:authenticated] u1",
  );
  await check(both, { ...withToken("nope"), clientCertificate: certificate }, "cert [c system:authenticated]");
  await check(both, { ...withToken("nope"), clientCertificateProblem: "expired" }, "refused");
});

test("a request without credentials is anonymous, one with bad credentials is refused [AANON-01] [AANON-02] [AANON-03] [AANON-05] [AUTHN-05] [AUTHN-10]", async () => {
  const authenticator = withAuthenticatedGroup(tokens);
  const open = orAnonymous(authenticator);
  await check(open, credentials(), "system:anonymous [system:unauthenticated]");
  await check(open, withToken("nope"), "refused");
  await check(open, withToken("t2"), "bob [system:authenticated] u2");
  await check(authenticator, credentials(), "none");
  const some = orAnonymous(authenticator, ["/healthz"]);
  await check(some, credentials({ path: "/healthz" }), "system:anonymous [system:unauthenticated]");
  await check(some, credentials({ path: "/healthz/" }), "none");
});

test("a token of system:anonymous or of an unauthenticated group is not made authenticated", async () => {
  const odd = bearerToken([
    readTokenFile("a,system:anonymous,u\nb,x,u,system:unauthenticated\nc,y,u,system:authenticated\n", "f"),
  ]);
  const authenticator = withAuthenticatedGroup(odd);
  await check(authenticator, withToken("a"), "system:anonymous [] u");
  await check(authenticator, withToken("b"), "x [system:unauthenticated] u");
  await check(authenticator, withToken("c"), "y [system:authenticated] u");
});
