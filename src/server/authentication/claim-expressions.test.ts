/** Expressions of an AuthenticationConfiguration: users made of claims, and errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { readAuthenticationConfig } from "#authn/configuration.ts";
import { ClaimError, type Claims, userOfClaims } from "#authn/oidc-claims.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { claimExpressions } from "./claim-expressions.ts";

const rules = { domain: kubernetesDomain, ownIssuers: [], expressions: claimExpressions, allowsAnonymous: true };

function issuerOf(parts: object) {
  const jwt = [{ issuer: { url: "https://idp.example", audiences: ["a"] }, ...parts }];
  const document = { apiVersion: "apiserver.config.k8s.io/v1beta1", kind: "AuthenticationConfiguration", jwt };
  return readAuthenticationConfig(JSON.stringify(document), rules).issuers[0]!;
}

const userOf = (parts: object, claims: Claims) => userOfClaims(issuerOf(parts).rules, claims);

const name = { username: { expression: "claims.sub" } };

function expectRefusal(parts: object, ...findings: readonly string[]): void {
  const message = findings.length === 1 ? findings[0]! : `[${findings.join(", ")}]`;
  assert.throws(() => issuerOf(parts), { name: "ConfigError", message });
}

function expectRejection(parts: object, claims: Claims, message: string): void {
  assert.throws(() => userOf(parts, claims), { name: ClaimError.name, message: `oidc: ${message}` });
}

test("expressions make user, groups, uid and extra of claims [AOIDC-05]", () => {
  const claimMappings = {
    username: { expression: "'x:' + claims.sub" },
    groups: { expression: "claims.roles.split(',')" },
    uid: { expression: "claims.?id.orValue('')" },
    extra: [
      { key: "example.com/a", valueExpression: "claims.a.b" },
      { key: "example.com/none", valueExpression: "''" },
    ],
  };
  const claims = { sub: "ann", roles: "dev,ops", id: "7", a: { b: ["1", "2"] } };
  assert.deepEqual(userOf({ claimMappings }, claims), {
    name: "x:ann",
    groups: ["dev", "ops"],
    uid: "7",
    extra: { "example.com/a": ["1", "2"] },
  });
});

test("a token whose claims do not fit makes no user", () => {
  expectRejection({ claimMappings: name }, {}, "expression 'claims.sub' resulted in error: no such key: sub");
  expectRejection({ claimMappings: name }, { sub: ["a", "b"] }, "the value of 'claims.sub' is no text");
  expectRejection({ claimMappings: name }, { sub: "" }, "the user name is empty");
  const groups = { ...name, groups: { expression: "claims.groups" } };
  expectRejection(
    { claimMappings: groups },
    { sub: "a", groups: 1 },
    "the value of 'claims.groups' is neither a text nor a list of texts",
  );
});

test("rules about claims and users refuse with their message", () => {
  const claimValidationRules = [
    { expression: "claims.hd == 'example.com'", message: "the domain is wrong" },
    { expression: "claims.exp - claims.nbf <= 86400" },
  ];
  const of = (more: object) => ({ sub: "a", hd: "example.com", exp: 100, nbf: 50, ...more });
  const checked = { claimMappings: name, claimValidationRules };
  assert.equal(userOf(checked, of({})).name, "a");
  expectRejection(checked, of({ hd: "x" }), "the domain is wrong");
  expectRejection(checked, of({ exp: 100_000 }), "validation expression 'claims.exp - claims.nbf <= 86400' failed");
  const userValidationRules = [{ expression: "!user.username.startsWith('system:')", message: "reserved" }];
  expectRejection({ claimMappings: name, userValidationRules }, { sub: "system:x" }, "reserved");
  assert.equal(userOf({ claimMappings: name, userValidationRules }, { sub: "b" }).name, "b");
});

test("rules about users see all fields of a user, also empty ones", () => {
  const checks = [
    "user.groups.all(name, !name.startsWith('system:'))",
    "user.uid == ''",
    "has(user.groups) && has(user.uid) && size(user.extra) == 0",
  ];
  const userValidationRules = checks.map((expression) => ({ expression }));
  assert.equal(userOf({ claimMappings: name, userValidationRules }, { sub: "b" }).name, "b");
});

test("the types of claims are not known, so they are in no loop and printed by no format", () => {
  const wrong = (expression: string, column: number, finding: string): void => {
    const shown = ` | ${expression}\n | ${".".repeat(column - 1)}^`;
    expectRefusal(
      { claimMappings: { ...name, groups: { expression } } },
      `jwt[0].claimMappings.groups.expression: Invalid value: "${expression}": compilation failed: ERROR: <input>:1:${column}: ${finding}\n${shown}`,
    );
  };
  wrong(
    "claims.g.map(x, x)",
    7,
    "expression of type 'any' cannot be range of a comprehension (must be list, map, or dynamic)",
  );
  wrong(
    "'%d'.format([claims.g])",
    20,
    "error during formatting: decimal clause can only be used on integers, was given google.protobuf.Any",
  );
  const groups = { expression: "dyn(claims.g).map(x, '%s'.format([dyn(x)]))" };
  assert.deepEqual(userOf({ claimMappings: { ...name, groups } }, { sub: "b", g: ["x"] }).groups, ["x"]);
});

test("expressions that are wrong are refused at the start, in 1.32's words", () => {
  expectRefusal(
    {
      claimMappings: { username: { expression: "claims.x.y + int('a')" }, uid: { expression: "user.x" } },
      claimValidationRules: [{ expression: "claims.x" }],
      userValidationRules: [{ expression: "user.foo == 1" }],
    },
    'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.x": must evaluate to bool',
    "jwt[0].claimMappings.username.expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'",
    `jwt[0].claimMappings.uid.expression: Invalid value: "user.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'user' (in container '')\n | user.x\n | ^`,
    `jwt[0].userValidationRules[0].expression: Invalid value: "user.foo == 1": compilation failed: ERROR: <input>:1:5: undefined field 'foo'\n | user.foo == 1\n | ....^`,
  );
});

test("a user name from an address needs a look at whether it was verified", () => {
  const detail =
    "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression";
  for (const expression of ["claims.email", "claims.?email.orValue('')", "has(claims.email) ? 'a' : 'b'"]) {
    const shown = JSON.stringify(expression);
    expectRefusal(
      { claimMappings: { username: { expression } } },
      `jwt[0].claimMappings.username.expression: Invalid value: ${shown}: ${detail}`,
    );
  }
  const claimMappings = { username: { expression: "claims.email" } };
  // A rule that cannot be used looks at nothing.
  expectRefusal(
    { claimMappings, claimValidationRules: [{ expression: "claims.email_verified" }] },
    'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.email_verified": must evaluate to bool',
    `jwt[0].claimMappings.username.expression: Invalid value: "claims.email": ${detail}`,
  );
  const claimValidationRules = [{ expression: "claims.email_verified == true" }];
  assert.equal(userOf({ claimMappings, claimValidationRules }, { email: "a@b", email_verified: true }).name, "a@b");
  assert.throws(() => userOf({ claimMappings, claimValidationRules }, { email: "a@b", email_verified: false }));
});

test("an expression without end costs no more than its budget", () => {
  const list = JSON.stringify(Array.from({ length: 200 }, (_, at) => at));
  const expression = `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0)))`;
  expectRejection(
    { claimMappings: name, claimValidationRules: [{ expression }] },
    { sub: "a" },
    `expression '${expression}' resulted in error: operation cancelled: actual cost limit exceeded`,
  );
});
