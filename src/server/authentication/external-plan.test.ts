/** Flags of external authenticators: results, and errors that end the start. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { type ExternalPlan, planExternal } from "./external-plan.ts";
import { parseServeArguments, resolveOptions } from "../options.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-external-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const plan = (...flags: readonly string[]): ExternalPlan =>
  planExternal(resolveOptions(parseServeArguments(flags).settings), kubernetesDomain, ["https://own.example"], {
    isOn: () => true,
  });

function expectRefusal(message: string | RegExp, ...flags: readonly string[]): void {
  assert.throws(() => plan(...flags), { name: "StartError", message });
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const config = (name: string, rest: string): string =>
  file(name, `apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n${rest}`);

const idp = ["--oidc-issuer-url=https://idp.example", "--oidc-client-id=api"];
const together = "--oidc-issuer-url and --oidc-client-id must be set together when any --oidc-* flag is set";

/** Name and groups the first issuer gives to claims, or why it gives none. */
function userOf({ issuers }: ExternalPlan, claims: object): string {
  const { rules } = issuers[0]!;
  const given = claims as Readonly<Record<string, unknown>>;
  try {
    for (const check of rules.claimChecks) check(given);
    return [rules.username(given), ...(rules.groups?.(given) ?? [])].join(" ");
  } catch (error) {
    return (error as Error).message; // rules throw errors
  }
}

test("without flags there are no external authenticators", () => {
  const { issuers, anonymous, webhook, configText } = plan();
  assert.deepEqual([issuers, anonymous, webhook, configText], [[], undefined, undefined, undefined]);
});

test("an issuer needs its client's id and the other way round, and https [AOIDC-08] [AOIDC-09] [AOIDC-10]", () => {
  expectRefusal(together, "--oidc-client-id=api");
  expectRefusal(together, "--oidc-issuer-url=https://idp.example");
  expectRefusal(together, "--oidc-groups-claim=groups");
  expectRefusal(
    '--oidc-* flags: issuer.url: Invalid value: "http://idp.example": URL scheme must be https',
    "--oidc-issuer-url=http://idp.example",
    "--oidc-client-id=api",
  );
  expectRefusal(
    /URL must not overlap with disallowed issuers/,
    "--oidc-issuer-url=https://own.example",
    "--oidc-client-id=api",
  );
  const { issuers, algorithms } = plan(...idp);
  assert.deepEqual(
    [issuers.map(({ url, audiences }) => [url, audiences]), algorithms],
    [[["https://idp.example", ["api"]]], ["RS256"]],
  );
});

test("user names have the issuer before them, unless they are e-mail addresses or it is said otherwise [AOIDC-11] [AOIDC-12]", () => {
  const claims = { sub: "x", email: "a@b" };
  assert.equal(userOf(plan(...idp), claims), "https://idp.example#x");
  assert.equal(userOf(plan(...idp, "--oidc-username-claim=email"), claims), "a@b");
  assert.equal(userOf(plan(...idp, "--oidc-username-prefix=-"), claims), "x");
  assert.equal(userOf(plan(...idp, "--oidc-username-prefix=p:", "--oidc-username-claim=email"), claims), "p:a@b");
});

test("the other flags say what else a token must hold and gives [AOIDC-13]", async () => {
  const claims = { sub: "x", teams: ["a", "b"], tenant: "one,two=3", level: "high" };
  const flags = [
    ...idp,
    "--oidc-username-prefix=-",
    "--oidc-groups-claim=teams",
    "--oidc-groups-prefix=g:",
    "--oidc-required-claim=level=low",
    "--oidc-required-claim=tenant=one,two=3",
    "--oidc-required-claim=level=high",
  ];
  assert.equal(userOf(plan(...flags), claims), "x g:a g:b");
  assert.match(userOf(plan(...flags), { ...claims, level: "low" }), /"level" has another value than "high"/);
  const { certificate } = await fakeAuthority();
  const ca = file("ca.crt", certificate);
  assert.equal(plan(...idp, `--oidc-ca-file=${ca}`).issuers[0]!.ca, certificate);
  assert.deepEqual(plan(...idp, "--oidc-signing-algs=ES256,RS512").algorithms, ["ES256", "RS512"]);
  expectRefusal(/no such file$/, ...idp, "--oidc-ca-file=/nowhere/ca.crt");
  expectRefusal(/^invalid value "HS256" for --oidc-signing-algs: must be one of ES256,/, "--oidc-signing-algs=HS256");
  expectRefusal(
    'invalid value "tenant" for --oidc-required-claim: must be claim=value',
    "--oidc-required-claim=tenant",
  );
});

test("a file stands alone: not with --oidc-* flags, nor its anonymous with --anonymous-auth [AANON-06]", () => {
  const open = config("open.yaml", "anonymous: {enabled: true, conditions: [{path: /livez}]}\n");
  const silent = config("silent.yaml", "jwt: []\n");
  expectRefusal(
    "--authentication-config and --oidc-* flags are mutually exclusive",
    `--authentication-config=${silent}`,
    ...idp,
  );
  for (const flag of ["--anonymous-auth=false", "--anonymous-auth=true"]) {
    expectRefusal(
      `--anonymous-auth cannot be set when the field anonymous is set in ${open} (--authentication-config)`,
      `--authentication-config=${open}`,
      flag,
    );
    assert.equal(plan(`--authentication-config=${silent}`, flag).anonymous, undefined);
  }
  assert.deepEqual(plan(`--authentication-config=${open}`).anonymous, { enabled: true, paths: ["/livez"] });
});

test("tokens of the file's issuers may have any asymmetric algorithm", () => {
  const path = config(
    "jwt.yaml",
    `jwt:
- issuer: {url: https://idp.example, audiences: [a]}
  claimMappings: {username: {claim: sub, prefix: ""}}
`,
  );
  const { algorithms, issuers } = plan(`--authentication-config=${path}`);
  assert.deepEqual([algorithms.length, algorithms.some((name) => name.startsWith("HS"))], [9, false]);
  assert.equal(userOf({ issuers } as unknown as ExternalPlan, { sub: "x" }), "x"); // what userOf reads of it
});

test("an invalid file stops the start with its path and the error [AUTHRES-52]", () => {
  const path = config("bad.yaml", "jwt: [{issuer: {url: 'https://idp.example'}}]\n");
  assert.throws(() => plan(`--authentication-config=${path}`), {
    name: "StartError",
    message: `${path}: [jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required, jwt[0].claimMappings.username: Required value: claim or expression is required]`,
  });
  expectRefusal(/no such file$/, "--authentication-config=/nowhere/config.yaml");
  expectRefusal(
    "/nowhere/webhook: cannot be read: no such file",
    "--authentication-token-webhook-config-file=/nowhere/webhook",
  );
  expectRefusal(
    'invalid value "v2" for --authentication-token-webhook-version: must be one of v1, v1beta1',
    "--authentication-token-webhook-version=v2",
  );
  expectRefusal(/must be the name of a header$/, "--requestheader-username-headers=X Remote");
});
