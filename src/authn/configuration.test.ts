/** The file of `--authentication-config`: accepted settings and errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import {
  type AuthenticationConfig,
  type ConfigRules,
  type ExpressionCompiler,
  readAuthenticationConfig,
} from "./configuration.ts";
import { fakeAuthority } from "./fake-authority.ts";

const wrong = () => ({ problem: "it is wrong", isInternal: false });
/** A compiler that refuses every expression. */
const noExpressions: ExpressionCompiler = {
  text: wrong,
  texts: wrong,
  claimCheck: wrong,
  userCheck: () => ({ problem: "it has no value", isInternal: true }),
  selects: () => false,
};

const rules: ConfigRules = {
  domain: kubernetesDomain,
  ownIssuers: ["https://own.example"],
  expressions: noExpressions,
  allowsAnonymous: true,
};
const username = { claim: "sub", prefix: "p:" };

function read(config: object, over: Partial<ConfigRules> = {}, apiVersion = "apiserver.config.k8s.io/v1beta1") {
  const document = { apiVersion, kind: "AuthenticationConfiguration", ...config };
  return readAuthenticationConfig(JSON.stringify(document), { ...rules, ...over });
}

/** Makes one entry with some parts replaced. */
const entry = (issuer: object = {}, rest: object = {}) => ({
  issuer: { url: "https://idp.example", audiences: ["a"], ...issuer },
  claimMappings: { username },
  ...rest,
});
const withMappings = (claimMappings: object) => entry({}, { claimMappings: { username, ...claimMappings } });

function expectRefusal(config: object, message: string | RegExp): void {
  assert.throws(() => read(config), { name: "ConfigError", message });
}

test("both versions are read, with the group of the domain [AUTHRES-50] [AUTHRES-52]", () => {
  for (const version of ["v1beta1", "v1alpha1"]) {
    const { issuers, anonymous } = read({ jwt: [entry()] }, {}, `apiserver.config.k8s.io/${version}`);
    assert.deepEqual([issuers.map(({ url }) => url), anonymous], [["https://idp.example"], undefined]);
  }
  const domain = apiDomain("platform.io");
  assert.deepEqual(read({}, { domain }, "apiserver.config.platform.io/v1beta1").issuers, []);
  assert.throws(() => read({}, { domain }), {
    message:
      'must be of kind AuthenticationConfiguration in apiserver.config.platform.io/v1beta1 or apiserver.config.platform.io/v1alpha1, not "AuthenticationConfiguration" in "apiserver.config.k8s.io/v1beta1"',
  });
});

test("the file is YAML, and strict: unknown fields, double keys and wrong types are refused by path", () => {
  expectRefusal({ jwt: [entry({ audience: "a" })] }, 'strict decoding error: unknown field "jwt[0].issuer.audience"');
  expectRefusal(
    { jwt: [entry({ audiences: "a" })] },
    "json: cannot unmarshal string into Go struct field configuration.jwt.issuer.audiences of type []string",
  );
  const text = `
apiVersion: apiserver.config.k8s.io/v1beta1
kind: AuthenticationConfiguration
anonymous: {enabled: true}
anonymous: {enabled: false}
`;
  assert.throws(() => readAuthenticationConfig(text, rules), /key "anonymous" already set in map/);
  assert.throws(
    () => readAuthenticationConfig("", rules),
    /^ConfigError: must be of kind AuthenticationConfiguration in/,
  );
  assert.throws(() => readAuthenticationConfig("{", rules), { name: "ConfigError" });
});

test("the issuer must be an https URL that no other issuer has [AOIDC-08] [AOIDC-09]", () => {
  const url = (text: string, message: string): void => {
    expectRefusal({ jwt: [entry({ url: text })] }, `jwt[0].issuer.url: ${message}`);
  };
  url("", "Required value: URL is required");
  url("http://idp.example", 'Invalid value: "http://idp.example": URL scheme must be https');
  url("https://u@i.example", 'Invalid value: "https://u@i.example": URL must not contain a username or password');
  url("https://i.example?a=b", 'Invalid value: "https://i.example?a=b": URL must not contain a query');
  url("https://i.example#f", 'Invalid value: "https://i.example#f": URL must not contain a fragment');
  url("https://@i.example", 'Invalid value: "https://@i.example": URL must not contain a username or password');
  url("idp", 'Invalid value: "idp": URL scheme must be https');
  url("https://", 'Invalid value: "https://": must be a URL');
  for (const [text, fault] of [
    ["https://a b", 'parse "https://a b": invalid character " " in host name'],
    ["https://[::1", `parse "https://[::1": missing ']' in host`],
    ["https://i.example/%zz", 'parse "https://i.example/%zz": invalid URL escape "%zz"'],
    ["https://i.example\n", 'parse "https://i.example\\n": net/url: invalid control character in URL'],
    [" https://i.example", 'parse " https://i.example": first path segment in URL cannot contain colon'],
    [":i", 'parse ":i": missing protocol scheme'],
  ] as const) {
    url(text, `Invalid value: ${JSON.stringify(text)}: ${fault}`);
  }
  url(
    "https://own.example",
    'Invalid value: "https://own.example": URL must not overlap with disallowed issuers: [https://own.example]',
  );
  expectRefusal({ jwt: [entry(), entry()] }, 'jwt[1].issuer.url: Duplicate value: "https://idp.example"');
  expectRefusal(
    { jwt: [entry({ discoveryURL: "https://idp.example/" })] },
    'jwt[0].issuer.discoveryURL: Invalid value: "https://idp.example/": discoveryURL must be different from URL',
  );
  const many = Array.from({ length: 65 }, (_, i) => entry({ url: `https://i${i}.example` }));
  expectRefusal({ jwt: many }, "jwt: Too many: 65: must have at most 64 items");
});

test("audiences are required, and several must match any [AOIDC-10]", () => {
  const expectIssuerRefusal = (issuer: object, message: string): void =>
    expectRefusal({ jwt: [entry(issuer)] }, message);
  expectIssuerRefusal(
    { audiences: [] },
    "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required",
  );
  expectIssuerRefusal({ audiences: [""] }, "jwt[0].issuer.audiences[0]: Required value: audience can't be empty");
  expectIssuerRefusal(
    { audiences: ["a", "a"], audienceMatchPolicy: "MatchAny" },
    'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
  );
  expectIssuerRefusal(
    { audiences: ["a", "b"] },
    'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple audiences',
  );
  expectIssuerRefusal(
    { audienceMatchPolicy: "x" },
    'jwt[0].issuer.audienceMatchPolicy: Invalid value: "x": audienceMatchPolicy must be empty or MatchAny for single audience',
  );
  expectIssuerRefusal(
    { certificateAuthority: "x" },
    'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does not contain any valid RSA or ECDSA certificates',
  );
});

test("the issuer's authorities are certificates, all of which can be read", async () => {
  const { certificate } = await fakeAuthority();
  const of = (certificateAuthority: string) => ({ jwt: [entry({ certificateAuthority })] });
  const at = 'jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>":';
  const broken = "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n";
  const none = `${at} data does not contain any valid RSA or ECDSA certificates`;
  read(of(`a comment\n${certificate}`));
  expectRefusal(of(certificate + broken), `${at} x509: malformed certificate`);
  expectRefusal(of(broken + certificate), `${at} x509: malformed certificate`);
  expectRefusal(of(certificate.replaceAll("CERTIFICATE", "TRUSTED CERTIFICATE")), none);
});

test("a user name comes from a claim with a prefix that is said, or from an expression", () => {
  const name = (value: object, message: string): void => {
    expectRefusal({ jwt: [withMappings({ username: value })] }, `jwt[0].claimMappings.username${message}`);
  };
  name({}, ": Required value: claim or expression is required");
  name(
    { claim: "sub" },
    ".prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
  );
  name({ claim: "sub", expression: "e" }, `: Invalid value: "": claim and expression can't both be set`);
  read({ jwt: [withMappings({ groups: { prefix: "x" } })] });
  expectRefusal(
    { jwt: [withMappings({ uid: { claim: "a", expression: "b" } })] },
    `jwt[0].claimMappings.uid: Invalid value: "": claim and expression can't both be set`,
  );
});

test("an expression that is wrong is refused where it stands [AOIDC-05]", () => {
  const message = 'Invalid value: "e": it is wrong';
  expectRefusal(
    { jwt: [withMappings({ username: { expression: "e" } })] },
    `jwt[0].claimMappings.username.expression: ${message}`,
  );
  expectRefusal(
    { jwt: [withMappings({ groups: { expression: "e" } })] },
    `jwt[0].claimMappings.groups.expression: ${message}`,
  );
  expectRefusal(
    { jwt: [withMappings({ uid: { expression: "e" } })] },
    `jwt[0].claimMappings.uid.expression: ${message}`,
  );
  expectRefusal(
    { jwt: [withMappings({ extra: [{ key: "a.example/b", valueExpression: "e" }] })] },
    `jwt[0].claimMappings.extra[0].valueExpression: ${message}`,
  );
  expectRefusal(
    { jwt: [entry({}, { claimValidationRules: [{ expression: "e" }] })] },
    `jwt[0].claimValidationRules[0].expression: ${message}`,
  );
  expectRefusal(
    { jwt: [entry({}, { userValidationRules: [{ expression: "e" }] })] },
    "jwt[0].userValidationRules[0].expression: Internal error: it has no value",
  );
});

test("every expression is compiled by the given compiler, and its errors are reported [AOIDC-05]", () => {
  const lines: string[] = [];
  const { issuers } = read(
    {
      jwt: [
        withMappings({
          username: { expression: "name" },
          groups: { expression: "groups" },
          uid: { expression: "uid" },
          extra: [{ key: "a.example/b", valueExpression: "extra" }],
        }),
      ].map((one) => ({
        ...one,
        claimValidationRules: [{ expression: "claims", message: "m" }],
        userValidationRules: [{ expression: "user", message: "n" }],
      })),
    },
    {
      expressions: {
        text: (expression) => () => expression,
        texts: (expression) => () => [expression],
        selects: () => false,
        claimCheck: (expression, message) => () => void lines.push(`${expression} ${message}`),
        userCheck: (expression, message) => (user) => void lines.push(`${expression} ${message} ${user.name}`),
      },
    },
  );
  const rules = issuers[0]!.rules;
  assert.deepEqual(
    [rules.username({}), rules.groups?.({}), rules.uid?.({}), rules.extra.map(({ key, values }) => [key, values({})])],
    [
      "name",
      ["groups"],
      "uid",
      [
        ["a.example/b", ["extra"]],
        ["authentication.kubernetes.io/credential-id", []],
      ],
    ],
  );
  for (const check of rules.claimChecks) check({});
  for (const check of rules.userChecks) check({ name: "pat", groups: [] });
  assert.deepEqual(lines, ["claims m", "user n pat"]);
});

test("the id of a token is an extra value, in the domain's name", () => {
  for (const domain of [kubernetesDomain, apiDomain("platform.io")]) {
    const { issuers } = read({ jwt: [entry()] }, { domain }, `${domain.rename("apiserver.config.k8s.io")}/v1beta1`);
    const [id, ...others] = issuers[0]!.rules.extra;
    assert.deepEqual([id!.key, others], [domain.rename("authentication.kubernetes.io/credential-id"), []]);
    assert.deepEqual(id!.values({ jti: "a b" }), ["JTI=a b"]);
    for (const claims of [{}, { jti: "" }, { jti: 1 }, { JTI: "x" }]) assert.deepEqual(id!.values(claims), []);
  }
});

test("rules about claims name a claim once, with nothing of an expression", () => {
  const rule = (value: readonly object[], message: string): void => {
    expectRefusal({ jwt: [entry({}, { claimValidationRules: value })] }, `jwt[0].claimValidationRules${message}`);
  };
  rule([{}], "[0]: Required value: claim or expression is required");
  rule([{ claim: "a", expression: "b" }], `[0]: Invalid value: "a": claim and expression can't both be set`);
  rule([{ claim: "a", message: "m" }], '[0].message: Invalid value: "m": message can\'t be set when claim is set');
  rule([{ claim: "a" }, { claim: "a" }], '[1].claim: Duplicate value: "a"');
});

test("extra keys begin with a domain that is not the vendor's", () => {
  const key = (value: string, message: string): void => {
    assert.throws(
      () => read({ jwt: [withMappings({ extra: [{ key: value }] })] }),
      (error: Error) => error.message.includes(`jwt[0].claimMappings.extra[0].key: ${message}`),
    );
  };
  key("", "Required value");
  key("foo", 'Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")');
  key("a.example/B", 'Invalid value: "a.example/B": key must be lowercase');
  key("a_b.example/x", 'Invalid value: "a_b.example": a lowercase RFC 1123 subdomain must consist of');
  key("a.example/x y", 'Invalid value: "x y": Invalid path (regex used for validation is');
  for (const reserved of ["k8s.io/x", "a.kubernetes.io/x"]) {
    key(
      reserved,
      `Invalid value: "${reserved}": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use`,
    );
  }
});

test("anonymous requests may be switched off, or left for some paths [AUTHRES-50] [AUTHRES-51]", () => {
  assert.deepEqual(read({ anonymous: { enabled: false } }).anonymous, { enabled: false, paths: [] });
  const some = { enabled: true, conditions: [{ path: "/livez" }, { path: "/readyz" }] };
  assert.deepEqual(read({ anonymous: some }).anonymous, { enabled: true, paths: ["/livez", "/readyz"] });
  expectRefusal(
    { anonymous: { enabled: false, conditions: [{ path: "/livez" }] } },
    'anonymous.conditions: Invalid value: []apiserver.AnonymousAuthCondition{apiserver.AnonymousAuthCondition{Path:"/livez"}}: enabled should be set to true when conditions are defined',
  );
  expectRefusal(
    { anonymous: { enabled: true, conditions: [{}] } },
    'anonymous.conditions[0].path: Invalid value: "": must begin with /',
  );
});

test("settings of anonymous requests stay those of the start [AUTHRES-50]", () => {
  const message = "anonymous: Forbidden: changed from initial configuration file";
  const enabled = { enabled: true, paths: [] };
  const after = (value: AuthenticationConfig["anonymous"], config: object): void =>
    void read(config, { fixedAnonymous: { value } });
  after(enabled, { anonymous: { enabled: true } });
  after(undefined, {});
  assert.throws(() => after(enabled, {}), { message });
  assert.throws(() => after(undefined, { anonymous: { enabled: false } }), { message });
  assert.throws(() => after(enabled, { anonymous: { enabled: true, conditions: [{ path: "/livez" }] } }), { message });
});

test("all errors are reported at once", () => {
  expectRefusal(
    { jwt: [{}] },
    "[jwt[0].issuer.url: Required value: URL is required, jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required, jwt[0].claimMappings.username: Required value: claim or expression is required]",
  );
});
