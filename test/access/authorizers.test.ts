/**
 * Authorizers other than RBAC: webhooks over TLS with private authorities, ABAC files, AlwaysAllow and AlwaysDeny; by
 * flags and by a configuration file that changes while the server runs. Also webhooks that are unavailable, slow,
 * invalid or redirecting.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import type { ServerSettings } from "#server/options.ts";
import { newRequest, requests, signingRequest } from "../certificate-requests.ts";
import { type Answer, patchTypes } from "../client.ts";
import { Decider, type Question } from "../decider.ts";
import {
  Api,
  type Domain,
  domains,
  eventually,
  file,
  gated,
  openServer,
  renamer,
  tokenFile,
  tokenLines,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { configMap, namespace, namespaces, secret } from "../objects.ts";
import { absent } from "../view.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const bob = { as: "bob" };
const minuteMs = 60_000;

const first = await Decider.open();
const second = await Decider.open();
after(() => {
  first.close();
  second.close();
});

const byFlags: ServerSettings = {
  ...gated,
  authorizationMode: ["Webhook", "RBAC"],
  authorizationWebhookConfigFile: first.kubeconfig(),
};

withOwnServer(
  "a webhook is asked first, with all that is known of the request [AUTHZ-03] [AUTHZ-04] [AUTHZ-09] [AUTHZ-10] [AUTHZ-11] [AUTHZ-12] [AUTHZ-33] [AUTHZ-34]",
  byFlags,
  async (api) => {
    first.reset(() => ({ allowed: true }));
    (await api.get(`${maps}?fieldSelector=metadata.name%3Dc&labelSelector=a%3Db`, bob)).expect(200);
    const [question] = first.questions;
    assert.equal(first.questions.length, 1);
    assert.equal(question!.kind, "SubjectAccessReview");
    assert.equal(question!.apiVersion, api.name("authorization.k8s.io/v1beta1"));
    assert.deepEqual(question!.spec, {
      user: "bob",
      uid: "bob-uid",
      group: ["system:authenticated"],
      resourceAttributes: {
        namespace: "default",
        verb: "list",
        version: "v1",
        resource: "configmaps",
        name: "c",
        fieldSelector: { requirements: [{ key: "metadata.name", operator: "In", values: ["c"] }] },
        labelSelector: { requirements: [{ key: "a", operator: "In", values: ["b"] }] },
      },
    });
    assert.deepEqual([...first.clients], ["apiserver"]);
    (await api.patch(`${maps}/c/status`, {}, undefined, bob)).expect(404);
    assert.deepEqual(first.questions.at(-1)!.spec.resourceAttributes, {
      namespace: "default",
      verb: "patch",
      version: "v1",
      resource: "configmaps",
      subresource: "status",
      name: "c",
    });
    (await api.get("/livez", bob)).expect(200);
    assert.deepEqual(first.questions.at(-1)!.spec.nonResourceAttributes, { path: "/livez", verb: "get" });
  },
);

withOwnServer(
  "what the webhook denies is denied, what it leaves open roles decide, and system:masters are not its business [AUTHZ-03] [AUTHZ-06] [AUTHZ-07] [AUTHZ-08] [AUTHZ-53]",
  byFlags,
  async (api) => {
    first.reset(() => ({ denied: true, reason: "the decider says no" }));
    (await api.get(maps)).expect(200);
    (await api.post(maps, configMap("by-masters"))).expect(201);
    assert.equal(first.questions.length, 0);
    (await api.get("/version", bob)).expectFailure(
      403,
      "Forbidden",
      /cannot get path "\/version": the decider says no$/,
    );
    (await api.post(maps, "no json", bob)).expectFailure(403, "Forbidden", /: the decider says no$/);

    first.reset(() => ({ allowed: false }));
    (await api.get("/healthz", bob)).expect(200);
    (await api.get(maps, bob)).expectFailure(403, "Forbidden");
  },
);

for (const domain of domains) {
  test(`${domain}: reviews show what the webhook denies, leaves open and fails to say [AUTHRES-14] [AUTHRES-15]`, () =>
    usingObserved(domain, byFlags, async ({ api }) => {
      const review = async (as = "bob"): Promise<Answer> => {
        const spec = { resourceAttributes: { verb: "list", resource: "configmaps", namespace: api.unique("ns") } };
        const kind = "SelfSubjectAccessReview";
        const body = { apiVersion: "authorization.k8s.io/v1", kind, spec };
        return (await api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body, { as })).expect(201);
      };
      const isReview = ({ resourceAttributes }: Question["spec"]): boolean =>
        resourceAttributes?.["resource"] === "selfsubjectaccessreviews";
      first.reset((spec) => (isReview(spec) ? { allowed: true } : { denied: true, reason: "no" }));
      (await review()).has({ status: { allowed: false, denied: true, reason: "no" } });
      first.reset((spec) => (isReview(spec) ? { allowed: true } : { allowed: true, reason: "yes" }));
      (await review()).has({ status: { allowed: true, reason: "yes" } });
      first.reset(() => ({ allowed: false }), "broken");
      (await review()).has({
        "status.allowed": false,
        "status.denied": absent,
        "status.evaluationError": /default: the webhook's answer is no SubjectAccessReview/,
      });
      (await review("admin")).has({ "status.allowed": true });
      first.mode = "well";
    }));

  test(`${domain}: what was answered with 504 while an admission plugin waited is not written later`, () =>
    usingObserved(domain, byFlags, async ({ api, clock }) => {
      const { request } = await newRequest([{ CN: ["robot"] }]);
      const spec = { request, signerName: "example.com/signer", usages: ["client auth"] };
      (await api.post(requests, signingRequest("late", spec))).expect(201);
      const decided = Promise.withResolvers<object>();
      const isApproval = ({ resourceAttributes }: Question["spec"]): boolean =>
        resourceAttributes?.["verb"] === "approve";
      first.reset((asked) => (isApproval(asked) ? decided.promise : { allowed: true }));
      const approval = { status: { conditions: [{ type: "Approved", status: "True", reason: "Test" }] } };
      const answer = api.patch(`${requests}/late/approval?timeout=20s`, approval, patchTypes.merge, bob);
      await eventually(() => Promise.resolve(assert.ok(first.questions.some(({ spec: asked }) => isApproval(asked)))));
      clock.advance(20_000);
      (await answer).expectFailure(504, "Timeout");
      decided.resolve({ allowed: true });
      // The server has cached the webhook's answer once it no longer calls the webhook.
      await eventually(async () => {
        const before = first.questions.length;
        (await api.patch(`${requests}/late/approval?dryRun=All`, approval, patchTypes.merge, bob)).expect(200);
        assert.equal(first.questions.length, before);
      });
      (await api.get(`${requests}/late`)).expect(200, { "status.conditions": absent });
      first.reset(() => ({ allowed: false }));
    }));

  test(`${domain}: an answer counts for a while, the good ones longer [AUTHRES-57] [AUTHRES-58]`, () =>
    usingObserved(domain, byFlags, async ({ api, clock }) => {
      first.reset(({ resourceAttributes }) => ({ allowed: resourceAttributes?.["verb"] === "list" }));
      const ask = async (): Promise<number> => {
        const before = first.questions.length;
        (await api.get(maps, bob)).expect(200);
        (await api.get(`${maps}/missing`, bob)).expect(403);
        return first.questions.length - before;
      };
      assert.equal(await ask(), 2);
      assert.equal(await ask(), 0);
      clock.advance(31_000);
      assert.equal(await ask(), 1);
      clock.advance(5 * minuteMs);
      assert.equal(await ask(), 2);
    }));
}

/** Writes an AuthorizationConfiguration to a file of its own. */
function configuration(domain: Domain, authorizers: readonly object[]): string {
  return file("authorization.json", configurationText(domain, authorizers));
}

const configurationText = (domain: Domain, authorizers: readonly object[]): string =>
  renamer(domain)(
    JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration", authorizers }),
  );

const hook = (name: string, kubeConfigFile: string, over: object = {}): object => ({
  type: "Webhook",
  name,
  webhook: {
    timeout: "30s",
    subjectAccessReviewVersion: "v1",
    matchConditionSubjectAccessReviewVersion: "v1",
    failurePolicy: "NoOpinion",
    connectionInfo: { type: "KubeConfigFile", kubeConfigFile },
    ...over,
  },
});

test("a webhook is asked where its conditions hold, and they decide when they have no value [AUTHZ-43] [AUTHZ-44] [AUTHZ-45] [AUTHZ-46]", async () => {
  /**
   * Returns the answers about config maps, which no role permits, and about the version, which a role permits, and the
   * number of calls.
   */
  const answers = async (over: object): Promise<readonly number[]> => {
    first.reset(() => ({ allowed: true }));
    const authorizers = [hook("first", first.kubeconfig(), over), { type: "RBAC" }];
    const statuses: number[] = [];
    await usingObserved("k8s.io", { authorizationConfig: configuration("k8s.io", authorizers) }, async ({ api }) => {
      for (const path of [maps, "/version"]) statuses.push((await api.get(path, bob)).status);
    });
    return [...statuses, first.questions.filter(({ spec }) => spec.user === "bob").length];
  };
  const when = (...expressions: readonly string[]) => ({
    matchConditions: expressions.map((expression) => ({ expression })),
  });
  const aboutMaps = "has(request.resourceAttributes) && request.resourceAttributes.resource == 'configmaps'";
  assert.deepEqual(await answers(when("request.user == 'bob'", aboutMaps)), [200, 200, 1]);
  assert.deepEqual(await answers(when("request.user == 'alice'", aboutMaps)), [403, 200, 0]);
  const missing = "request.extra['team'][0] == 'x'";
  assert.deepEqual(await answers({ ...when(missing), failurePolicy: "Deny" }), [403, 403, 0]);
  assert.deepEqual(await answers({ ...when(missing), failurePolicy: "NoOpinion" }), [403, 200, 0]);
  // A false condition excludes the webhook, whatever the others are.
  assert.deepEqual(await answers({ ...when(missing, "request.user == ''"), failurePolicy: "Deny" }), [403, 200, 0]);
});

test("without an answer the policy decides: closed or open, never in between [AUTHZ-48] [AUTHZ-49]", async () => {
  const stranger = await fakeAuthority("strangers");
  const failures: readonly (readonly [string, string, () => void])[] = [
    ["slow", first.kubeconfig(), () => first.reset(() => ({ allowed: true }), "silent")],
    ["text", first.kubeconfig(), () => first.reset(() => ({ allowed: true }), "broken")],
    ["elsewhere", first.kubeconfig(), () => first.reset(() => ({ allowed: true }), "redirect")],
    [
      "of another authority",
      first.kubeconfig({ ca: stranger.certificate }),
      () => first.reset(() => ({ allowed: true })),
    ],
    ["down", first.kubeconfig({ url: "https://127.0.0.1:1/decide" }), () => first.reset(() => ({ allowed: true }))],
  ];
  for (const [what, kubeconfig, prepare] of failures) {
    prepare();
    // Only the webhook that never answers has a short timeout.
    const timeout = what === "slow" ? "300ms" : "30s";
    const open = configuration("k8s.io", [hook("open", kubeconfig, { timeout }), { type: "RBAC" }]);
    await usingObserved("k8s.io", { authorizationConfig: open }, async ({ api, logged }) => {
      (await api.get("/healthz", bob)).expect(200);
      (await api.get(maps, bob)).expectFailure(403, "Forbidden");
      const { text } = (await api.get("/metrics")).expect(200);
      const result = what === "slow" ? "timeout" : "error";
      assert.match(
        text,
        new RegExp(`apiserver_authorization_webhook_evaluations_fail_open_total{name="open",result="${result}"} 2`),
        what,
      );
      assert.ok(
        logged.some((line) => line.includes("an authorization webhook gave no answer")),
        what,
      );
    });
    const closed = configuration("k8s.io", [
      hook("closed", kubeconfig, { timeout, failurePolicy: "Deny" }),
      { type: "RBAC" },
    ]);
    await usingObserved("k8s.io", { authorizationConfig: closed }, async ({ api }) => {
      (await api.get("/healthz", bob)).expectFailure(403, "Forbidden", /: authorizer closed could not decide$/);
      (await api.get(maps)).expect(200);
    });
  }
  first.mode = "well";
});

for (const domain of domains) {
  test(`${domain}: several webhooks are asked in the order of the file, and counted by name [AUTHZ-04] [AUTHZ-05] [AUTHZ-35] [AUTHZ-37] [AUTHRES-53] [AUTHRES-56] [AUTHRES-61]`, async () => {
    const config = configuration(domain, [
      hook("first", first.kubeconfig()),
      hook("second", second.kubeconfig(), { matchConditions: [{ expression: "true" }] }),
      { type: "RBAC" },
    ]);
    await usingObserved(domain, { authorizationConfig: config }, async ({ api }) => {
      first.reset(({ resourceAttributes }) => ({ allowed: resourceAttributes?.["verb"] === "list" }));
      second.reset(() => ({ denied: true }));
      (await api.get(maps, bob)).expect(200);
      assert.deepEqual([first.questions.length, second.questions.length], [1, 0]);
      assert.equal(first.questions[0]!.apiVersion, api.name("authorization.k8s.io/v1"));
      (await api.get(`${maps}/c`, bob)).expect(403);
      assert.deepEqual([first.questions.length, second.questions.length], [2, 1]);
      const { text } = (await api.get("/metrics")).expect(200);
      const decisions = "apiserver_authorization_decisions_total";
      assert.ok(text.includes(`${decisions}{type="Webhook",name="first",decision="allowed"} 1`));
      assert.ok(text.includes(`${decisions}{type="Webhook",name="second",decision="denied"} 1`));
      assert.ok(text.includes('apiserver_authorization_webhook_evaluations_total{name="first",result="success"} 2'));
      const evaluations = "apiserver_authorization_match_condition_evaluation_seconds_count";
      assert.ok(
        text.includes(`${evaluations}{type="Webhook",name="second"} `) &&
          !text.includes(`${evaluations}{type="Webhook",name="first"}`),
      );
      // The first reading counts, too.
      assert.match(text, /^apiserver_authorization_config_controller_automatic_reloads_total{.*status="success"} 1$/m);
    });
  });

  test(`${domain}: the file is read again; webhooks come, go and change places, the rest stays as it started [AUTHZ-38] [AUTHZ-39] [AUTHZ-40] [AUTHZ-41]`, async () => {
    const denying = hook("first", first.kubeconfig());
    const allowing = hook("second", second.kubeconfig());
    const config = configuration(domain, [{ type: "RBAC" }]);
    const reloads = async (api: Api, status: string): Promise<number> => {
      const { text } = (await api.get("/metrics")).expect(200);
      const name = "apiserver_authorization_config_controller_automatic_reloads_total";
      return Number(new RegExp(`${name}{[^}]*status="${status}"} (\\d+)`).exec(text)?.[1] ?? 0);
    };
    await usingObserved(domain, { authorizationConfig: config }, async ({ api, clock, logged }) => {
      first.reset(() => ({ denied: true }));
      second.reset(() => ({ allowed: true }));
      const becomes = async (text: string, status: "success" | "failure"): Promise<void> => {
        writeFileSync(config, text);
        const before = await reloads(api, status);
        clock.advance(minuteMs);
        await eventually(async () => assert.equal(await reloads(api, status), before + 1));
      };
      (await api.get(maps, bob)).expect(403);
      await becomes(configurationText(domain, [{ type: "RBAC" }, allowing]), "success");
      (await api.get(maps, bob)).expect(200);
      await becomes(configurationText(domain, [denying, allowing, { type: "RBAC" }]), "success");
      (await api.get(maps, bob)).expect(403);
      await becomes(configurationText(domain, [allowing, denying, { type: "RBAC" }]), "success");
      (await api.get(maps, bob)).expect(200);

      for (const [text, reason] of [
        [configurationText(domain, [denying]), "other than webhooks there must be those of the start: RBAC, not none"],
        [configurationText(domain, [denying, { type: "RBAC" }, { type: "Node" }]), "not Node, RBAC"],
        [configurationText(domain, [{ type: "ABAC" }]), 'authorizers[0].type: Unsupported value: \\"ABAC\\"'],
        ["{", "stays as it was"],
      ] as const) {
        await becomes(text, "failure");
        assert.ok(
          logged.some((line) => line.includes(reason)),
          reason,
        );
        (await api.get(maps, bob)).expect(200);
      }
      await becomes(configurationText(domain, [denying, { type: "RBAC" }]), "success");
      (await api.get(maps, bob)).expect(403);

      // A call that is under way when its webhook is removed is still answered.
      const asked = Promise.withResolvers<void>();
      const hold = Promise.withResolvers<object>();
      second.reset(() => {
        asked.resolve();
        return hold.promise;
      });
      const patient = hook("patient", second.kubeconfig(), { timeout: "30s", failurePolicy: "Deny" });
      await becomes(configurationText(domain, [patient, { type: "RBAC" }]), "success");
      clock.advance((minuteMs * 2) / 3);
      const answer = api.get(maps, bob);
      await asked.promise;
      const before = await reloads(api, "success");
      writeFileSync(config, configurationText(domain, [denying, { type: "RBAC" }]));
      clock.advance(minuteMs / 3);
      await eventually(async () => assert.equal(await reloads(api, "success"), before + 1));
      hold.resolve({ allowed: true });
      (await answer).expect(200);
    });
  });
}

test("servers with the same file decide alike [AUTHZ-42]", async () => {
  const authorizationConfig = configuration("k8s.io", [hook("first", first.kubeconfig()), { type: "RBAC" }]);
  first.reset(({ resourceAttributes }) => ({ allowed: resourceAttributes?.["verb"] === "list" }));
  const decisions = async (api: Api): Promise<number[]> => {
    const answers = [api.get(maps, bob), api.get(`${maps}/c`, bob), api.get("/version", bob), api.get("/metrics", bob)];
    return (await Promise.all(answers)).map(({ status }) => status);
  };
  await usingObserved("k8s.io", { authorizationConfig }, ({ api: one }) =>
    usingObserved("k8s.io", { authorizationConfig }, async ({ api: other }) => {
      const expected = [200, 403, 200, 403];
      assert.deepEqual(await decisions(one), expected);
      assert.deepEqual(await decisions(other), expected);
    }),
  );
});

test("an invalid file, or one beside the flags, stops the start with its path [AUTHZ-36] [AUTHRES-54] [AUTHRES-62] [AUTHRES-65]", async () => {
  const fails = async (settings: ServerSettings, message: RegExp): Promise<void> =>
    assert.rejects(openServer("k8s.io", settings), { name: "StartError", message });
  const config = configuration("k8s.io", [{ type: "ABAC" }]);
  await fails({ authorizationConfig: config }, new RegExp(`^${config}: authorizers\\[0\\]\\.type: Unsupported value`));
  const incomplete = hook("h", first.kubeconfig(), { matchConditionSubjectAccessReviewVersion: undefined });
  await fails(
    { authorizationConfig: configuration("k8s.io", [incomplete]) },
    /authorizers\[0\]\.matchConditionSubjectAccessReviewVersion: Required value$/,
  );
  const conditional = hook("h", first.kubeconfig(), { matchConditions: [{ expression: "for(;;)" }] });
  await fails(
    { authorizationConfig: configuration("k8s.io", [conditional]) },
    /authorizers\[0\]\.matchConditions\[0\]\.expression: Invalid value: "for\(;;\)": compilation failed: ERROR: .*Syntax error/,
  );
  await fails(
    { authorizationConfig: configuration("k8s.io", [{ type: "RBAC" }]), authorizationMode: ["RBAC"] },
    /^--authorization-config can not be specified when /,
  );
  await fails({ authorizationMode: ["ABAC"], authorizationPolicyFile: file("p", "{") }, /: line 1: not JSON$/);
});

withOwnServer(
  "AlwaysAllow allows everything to authenticated users, after other authorizers [AUTHZ-28]",
  { ...gated, authorizationMode: ["RBAC", "AlwaysAllow"] },
  async (api) => {
    (await api.get(maps, bob)).expect(200);
    (await api.post(maps, configMap("by-bob"), bob)).expect(201);
    (await api.get(maps, { as: "nobody" })).expectFailure(401, "Unauthorized");
  },
);

withOwnServer(
  "AlwaysDeny refuses everybody but system:masters [AUTHZ-29]",
  { ...gated, authorizationMode: ["AlwaysDeny"] },
  async (api) => {
    for (const path of [maps, "/version", "/api", namespaces]) {
      (await api.get(path, bob)).expectFailure(403, "Forbidden", /: Everything is forbidden\.$/);
    }
    (await api.get(maps)).expect(200);
  },
);

test("a policy file gives rights by its lines [AUTHZ-27] [AUTHZ-30]", async () => {
  for (const domain of domains) {
    const line = (spec: object): string =>
      renamer(domain)(JSON.stringify({ apiVersion: "abac.authorization.kubernetes.io/v1beta1", kind: "Policy", spec }));
    const policies = file(
      "policies.jsonl",
      [
        "# rights of this cluster",
        line({ user: "bob", namespace: "default", resource: "configmaps", readonly: true }),
        line({ group: "developers", namespace: "*", resource: "*", apiGroup: "*" }),
        line({ user: "carol", namespace: "watched", resource: "secrets", readonly: true }),
        line({ group: "*", nonResourcePath: "/api*", readonly: true }),
      ].join("\n"),
    );
    const settings = { authorizationMode: ["ABAC"], authorizationPolicyFile: policies };
    await usingObserved(domain, settings, async ({ api }) => {
      (await api.get(maps, bob)).expect(200);
      (await api.get("/apis", bob)).expect(200);
      (await api.post(maps, configMap("c"), bob)).expectFailure(403, "Forbidden", /: No policy matched\.$/);
      (await api.get("/api/v1/configmaps", bob)).expect(403);
      (await api.get("/metrics", bob)).expect(403);
      (await api.post(maps, configMap("c"), { as: "alice" })).expect(201);
      // A user who may list or watch can read the content of the objects.
      const secrets = "/api/v1/namespaces/watched/secrets";
      (await api.post(namespaces, namespace("watched"))).expect(201);
      (await api.post(secrets, secret("s", { key: "value" }))).expect(201);
      const carol = { as: "carol" };
      (await api.get(`${secrets}?fieldSelector=metadata.name%3Ds`, carol)).expect(200, {
        "items.0.data.key": "dmFsdWU=",
      });
      const stream = await api.watch(`${secrets}?fieldSelector=metadata.name%3Ds`, carol);
      (await stream.next()).has({ type: "ADDED", "object.data.key": "dmFsdWU=" });
      const review = await api.post(
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "default" } },
        { as: "alice" },
      );
      review.expect(201, { "status.incomplete": false, "status.resourceRules.0.resources": ["*"] });
    });
  }
});

test("no secret of a webhook is logged, whatever goes wrong", async () => {
  const kubeconfig = first.kubeconfig({ url: "https://127.0.0.1:1/decide" });
  const { users } = JSON.parse(readFileSync(kubeconfig, "utf8")) as { users: [{ user: Record<string, string> }] };
  const key = users[0].user["client-key-data"]!;
  const config = configuration("k8s.io", [hook("h", kubeconfig), { type: "RBAC" }]);
  const settings = { authorizationConfig: config, tokenAuthFile: tokenFile(tokenLines) };
  await usingObserved("k8s.io", settings, async ({ api, logged }) => {
    (await api.get(maps, bob)).expect(403);
    const all = logged.join("\n");
    assert.ok(!all.includes(key) && !all.includes("bob-token"));
  });
});
