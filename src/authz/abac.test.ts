/** ABAC policy files: matching, and errors in lines. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { abac, readPolicies } from "./abac.ts";
import { attributes, pathAttributes } from "./attributes-for-tests.ts";
import type { Attributes } from "./authorizer.ts";

const line = (spec: object, version = "abac.authorization.kubernetes.io/v1beta1"): string =>
  JSON.stringify({ apiVersion: version, kind: "Policy", spec });

/** Decides by one policy, or by several. */
async function decide(text: string, of: Attributes): Promise<string> {
  return (await abac(readPolicies(text, kubernetesDomain)).authorize(of)).decision;
}

const everything = { namespace: "*", resource: "*", apiGroup: "*" };

test("a policy matches its user and, where given, the group [AUTHZ-30]", async () => {
  const eve = { name: "eve", groups: ["system:authenticated"] };
  const nobody = { name: "system:anonymous", groups: ["system:unauthenticated"] };
  const cases: readonly (readonly [object, Partial<Attributes>, string])[] = [
    [{ user: "bob" }, {}, "allow"],
    [{ user: "bob" }, { user: eve }, "noOpinion"],
    [{ group: "devs" }, {}, "allow"],
    [{ group: "devs" }, { user: eve }, "noOpinion"],
    [{ user: "bob", group: "devs" }, {}, "allow"],
    [{ user: "bob", group: "ops" }, {}, "noOpinion"],
    [{ user: "eve", group: "devs" }, {}, "noOpinion"],
    [{ user: "*" }, { user: eve }, "allow"],
    [{ group: "*" }, { user: eve }, "allow"],
    [{ user: "*" }, { user: nobody }, "noOpinion"],
    [{ user: "eve", group: "*" }, {}, "allow"],
    [{}, {}, "noOpinion"],
  ];
  for (const [spec, over, expected] of cases) {
    const text = line({ ...everything, ...spec });
    assert.equal(await decide(text, attributes(over)), expected, `${text} ${JSON.stringify(over)}`);
  }
});

test("a policy fits what it names; nothing fits an empty field but the core group [AUTHZ-30]", async () => {
  const policy = { user: "bob", namespace: "n", resource: "configmaps", apiGroup: "" };
  const cases: readonly (readonly [object, Attributes, string])[] = [
    [{}, attributes(), "allow"],
    [{}, attributes({ verb: "delete" }), "allow"],
    [{ readonly: true }, attributes({ verb: "watch" }), "allow"],
    [{ readonly: true }, attributes({ verb: "delete" }), "noOpinion"],
    [{}, attributes({ namespace: "m" }), "noOpinion"],
    [{}, attributes({ group: "apps" }), "noOpinion"],
    [{ apiGroup: "*" }, attributes({ group: "apps" }), "allow"],
    [{}, attributes({ resource: "secrets" }), "noOpinion"],
    [{ resource: "" }, attributes(), "noOpinion"],
    [everything, pathAttributes("/metrics"), "noOpinion"],
    [{ nonResourcePath: "/metrics" }, pathAttributes("/metrics"), "allow"],
    [{ nonResourcePath: "/metrics" }, pathAttributes("/metrics/x"), "noOpinion"],
    [{ nonResourcePath: "/api*" }, pathAttributes("/apis/apps"), "allow"],
    [{ nonResourcePath: "*" }, pathAttributes("/logs", { verb: "post" }), "allow"],
    [{ nonResourcePath: "*", readonly: true }, pathAttributes("/logs", { verb: "post" }), "noOpinion"],
    [{ nonResourcePath: "*", resource: "" }, attributes(), "noOpinion"],
  ];
  for (const [spec, of, expected] of cases) {
    const text = line({ ...policy, ...spec });
    assert.equal(await decide(text, of), expected, `${text} ${of.verb} ${of.path} ${of.resource}`);
  }
});

test("in a line without a version, what is left out fits everything [AUTHZ-30]", async () => {
  const eve = { name: "eve", groups: ["system:authenticated"] };
  assert.equal(await decide("{}", attributes({ user: eve, group: "apps", verb: "delete" })), "allow");
  assert.equal(await decide("{}", pathAttributes("/x")), "allow");
  assert.equal(await decide('{"user":"bob"}', attributes({ user: eve })), "noOpinion");
  assert.equal(await decide('{"user":"bob","namespace":"n"}', attributes()), "allow");
  assert.equal(await decide('{"user":"bob","namespace":"n"}', pathAttributes("/x")), "noOpinion");
  assert.equal(await decide('{"user":"bob","resource":"secrets"}', attributes()), "noOpinion");
});

test("lines that are empty or comments are passed over, others are named with what is wrong", () => {
  const read = (text: string) => readPolicies(text, apiDomain("platform.io"));
  assert.deepEqual(read("\n  # nothing\n\r\n"), []);
  assert.equal(read(line({ user: "a" }, "abac.authorization.platform.io/v1beta1")).length, 1);
  assert.throws(() => read(`\n${line({})}`), {
    message: "line 2: must be of kind Policy in abac.authorization.platform.io/v1beta1",
  });
  assert.throws(() => read('{"user":'), { message: "line 1: not JSON" });
  assert.throws(() => read("[]"), { message: "line 1: not an object" });
  assert.throws(() => read('{"user":1}'), { message: "line 1: user: must be a string" });
  assert.throws(() => read('{"readonly":"yes"}'), { message: "line 1: readonly: must be true or false" });
  assert.throws(() => read("{}\n".repeat(100_001)), /more than 100000 lines/);
});

test("a review of rules lists the policies of a user", () => {
  const text = [
    line({ user: "bob", namespace: "n", resource: "configmaps", apiGroup: "", readonly: true }),
    line({ group: "devs", namespace: "*", resource: "pods", apiGroup: "*", nonResourcePath: "/logs" }),
    line({ user: "bob", namespace: "m", resource: "secrets" }),
  ].join("\n");
  const { user } = attributes();
  assert.deepEqual(abac(readPolicies(text, kubernetesDomain)).rulesFor(user, "n"), {
    resourceRules: [
      { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["configmaps"] },
      { verbs: ["*"], apiGroups: ["*"], resources: ["pods"] },
    ],
    nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["/logs"] }],
    incomplete: false,
    errors: [],
  });
  assert.match(
    abac(readPolicies(text, kubernetesDomain)).explain(attributes()),
    /^ABAC: allowed by the policy \{"user":"bob"/,
  );
  assert.equal(abac([]).explain(attributes()), "ABAC: no policy matched");
});
