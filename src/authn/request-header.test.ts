/** Headers of an authenticating proxy, and the clients whose headers are trusted. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import type { RequestCredentials, VerifiedCertificate } from "./authenticator.ts";
import { CertificateAuthorities } from "./certificate-authorities.ts";
import { type FakeAuthority, fakeAuthority } from "./fake-authority.ts";
import { identityHeaderTest, type RequestHeaderOptions, requestHeader, standardHeaders } from "./request-header.ts";

const proxies = await fakeAuthority("proxies");
const authorities = new CertificateAuthorities(proxies.certificate);
const clock = new FakeClock(Date.now());

async function certificateOf(authority: FakeAuthority, commonName = "proxy"): Promise<VerifiedCertificate> {
  const { certificate } = await authority.issue({ commonName });
  return { commonName, organizations: [], raw: new X509Certificate(certificate).raw, issuers: [] };
}

const proxy = await certificateOf(proxies);

type Line = readonly [name: string, value: string];

function requestWith(
  lines: readonly Line[],
  clientCertificate: VerifiedCertificate | undefined = proxy,
): RequestCredentials {
  const values = (name: string): string[] => lines.filter(([own]) => own === name).map(([, value]) => value);
  return {
    headers: Object.fromEntries(lines.map(([name]) => [name, values(name).join(", ")])),
    headerValues: values,
    path: "/",
    clientCertificate,
    clientCertificateProblem: "",
    warnings: [],
  };
}

const ask = (given: RequestCredentials, over: Partial<RequestHeaderOptions> = {}) =>
  requestHeader({
    clock,
    authorities: () => authorities,
    allowedNames: [],
    names: standardHeaders,
    ...over,
  }).authenticate(given);

test("the proxy's headers give name, uid, groups and extra [APROXY-01] [APROXY-02] [APROXY-03] [APROXY-04]", () => {
  const answer = ask(
    requestWith([
      ["x-remote-user", "alice"],
      ["x-remote-uid", "u1"],
      ["x-remote-group", "a, b"],
      ["x-remote-group", ""],
      ["x-remote-group", "c"],
      ["x-remote-extra-scopes", "one"],
      ["x-remote-extra-scopes", "two"],
      ["x-remote-extra-a.io%2fb", "v"],
      ["x-remote-extra-%zz", "w"],
      ["x-remote-extra-b%ff%c3%bc", "b"],
      ["x-remote-extra-__proto__", "p"],
    ]),
  );
  const extra = JSON.parse(
    '{"scopes": ["one", "two"], "a.io/b": ["v"], "%zz": ["w"], "b\ufffd\u00fc": ["b"], "__proto__": ["p"]}',
  ) as object;
  assert.deepEqual(answer, {
    outcome: "user",
    user: { name: "alice", uid: "u1", groups: ["a, b", "c"], extra },
  });
});

test("of repeated user headers the first counts; without one there are no credentials", () => {
  const name = (...lines: Line[]): string => {
    const answer = ask(requestWith(lines));
    return answer instanceof Promise || answer.outcome !== "user" ? "nobody" : answer.user.name;
  };
  assert.equal(name(["x-remote-user", "alice"], ["x-remote-user", "root"]), "alice");
  assert.equal(name(["x-remote-group", "system:masters"]), "nobody");
  assert.equal(name(["x-remote-user", ""]), "nobody");
  assert.equal(name(["x_remote_user", "alice"]), "nobody");
});

test("headers from anybody else say nothing [APROXY-05]", async () => {
  const lines: Line[] = [["x-remote-user", "root"]];
  const stranger = await certificateOf(await fakeAuthority("proxies"));
  assert.deepEqual(ask({ ...requestWith(lines), clientCertificate: undefined }), { outcome: "none" });
  assert.deepEqual(ask(requestWith(lines, stranger)), { outcome: "none" });
  assert.deepEqual(ask({ ...requestWith(lines), clientCertificate: undefined, clientCertificateProblem: "expired" }), {
    outcome: "none",
  });
});

test("only proxies of the allowed names are believed, only while their certificate is valid [APROXY-07]", async () => {
  const given = requestWith([["x-remote-user", "alice"]]);
  assert.equal((await ask(given, { allowedNames: ["proxy", "other"] })).outcome, "user");
  assert.deepEqual(await ask(given, { allowedNames: ["other"] }), {
    outcome: "refused",
    reason: "request header: subject with cn=proxy is not in the allowed list",
  });
  const later = new FakeClock(Date.now() + 2 * 86_400_000);
  assert.equal((await ask(given, { clock: later })).outcome, "refused");
});

test("the headers have the names that were given, the first with a value counts [APROXY-08]", () => {
  const names = {
    users: ["x-name", "x-login"],
    uids: [],
    groups: ["x-team", "x-role"],
    extraPrefixes: ["x-more-", "x-other-"],
  };
  const answer = ask(
    requestWith([
      ["x-name", ""],
      ["x-login", "alice"],
      ["x-remote-user", "root"],
      ["x-remote-group", "system:masters"],
      ["x-role", "r"],
      ["x-team", "t"],
      ["x-other-k", "2"],
      ["x-more-k", "1"],
    ]),
    { names },
  );
  assert.deepEqual(answer, {
    outcome: "user",
    user: { name: "alice", groups: ["t", "r"], extra: { k: ["1", "2"] } },
  });
});

test("identity headers are removed after authentication, those with usual names included", () => {
  const isHidden = identityHeaderTest([
    standardHeaders,
    { users: ["x-login"], uids: [], groups: [], extraPrefixes: ["x-more-"] },
  ]);
  const names = [
    "authorization",
    "x-remote-user",
    "x-remote-uid",
    "x-remote-group",
    "x-remote-extra-a",
    "x-login",
    "x-more-a",
    "x-remote-users",
    "impersonate-user",
    "accept",
  ];
  assert.deepEqual(names.filter(isHidden), names.slice(0, 7));
});
