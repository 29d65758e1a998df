/** Combinations of authorization flags, valid and invalid. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { planAuthorization } from "./plan.ts";
import { resolveOptions, type ServerSettings } from "../options.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-plan-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const policies = file("policies.jsonl", '{"user":"bob"}\n');
const hook = file(
  "hook.yaml",
  "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: h}}], clusters: [{name: h, cluster: {server: 'https://h/x'}}]}",
);
const config = file(
  "config.yaml",
  "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration, authorizers: [{type: RBAC}]}",
);

const plan = (settings: ServerSettings) =>
  planAuthorization(resolveOptions(settings), kubernetesDomain, { isOn: () => true });
const wrong = (settings: ServerSettings, message: string | RegExp): Promise<void> =>
  assert.rejects(plan(settings), { name: "StartError", message });

test("modes stand in the order of the flag, roles alone by default [AUTHZ-31] [AUTHZ-34]", async () => {
  const modes = async (settings: ServerSettings): Promise<readonly string[]> =>
    (await plan(settings)).authorizers.map(({ type }) => type);
  assert.deepEqual(await modes({}), ["RBAC"]);
  const all = ["Node", "ABAC", "Webhook", "AlwaysDeny", "RBAC", "AlwaysAllow"];
  const files = { authorizationPolicyFile: policies, authorizationWebhookConfigFile: hook };
  assert.deepEqual(await modes({ authorizationMode: all, ...files }), all);
  const [webhook] = (await plan({ authorizationMode: ["Webhook"], authorizationWebhookConfigFile: hook })).authorizers;
  assert.ok(webhook?.type === "Webhook");
  const { connection, ...settings } = webhook.webhook;
  assert.equal(connection.url, "https://h/x");
  assert.deepEqual(settings, {
    version: "v1beta1",
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    timeoutMs: 30_000,
    failurePolicy: "NoOpinion",
    conditions: [],
  });
});

test("a mode needs its file, and a file its mode [AUTHZ-30] [AUTHZ-33]", async () => {
  await wrong({ authorizationMode: ["ABAC"] }, "authorization-mode ABAC's authorization policy file not passed");
  await wrong({ authorizationMode: ["Webhook"] }, "authorization-mode Webhook's authorization config file not passed");
  await wrong({ authorizationPolicyFile: policies }, "cannot specify --authorization-policy-file without mode ABAC");
  await wrong(
    { authorizationWebhookConfigFile: hook },
    "cannot specify --authorization-webhook-config-file without mode Webhook",
  );
  await wrong(
    { authorizationMode: ["RBAC", "RBAC"] },
    'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
  );
  await wrong({ authorizationMode: [] }, "at least one authorization-mode must be passed");
  await wrong({ authorizationMode: ["ABAC"], authorizationPolicyFile: join(folder, "none") }, /none/);
  const bad = file("bad.jsonl", '{"user":"bob"}\n{"user":7}\n');
  await wrong({ authorizationMode: ["ABAC"], authorizationPolicyFile: bad }, `${bad}: line 2: user: must be a string`);
});

test("a configuration file stands for the other flags, not beside them [AUTHZ-35] [AUTHZ-36]", async () => {
  const { authorizers, file: from } = await plan({ authorizationConfig: config });
  assert.deepEqual(authorizers, [{ type: "RBAC", name: "rbac" }]);
  assert.equal(from?.name, config);
  const message =
    "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined";
  await wrong({ authorizationConfig: config, authorizationMode: ["RBAC"] }, message);
  await wrong({ authorizationConfig: config, authorizationWebhookConfigFile: hook }, message);
  await wrong({ authorizationConfig: config, authorizationWebhookCacheAuthorizedTtlMs: 1000 }, message);
  const bad = file("bad.yaml", "{apiVersion: apiserver.config.k8s.io/v1, kind: AuthorizationConfiguration}");
  await wrong(
    { authorizationConfig: bad },
    `${bad}: authorizers: Required value: at least one authorization mode must be defined`,
  );
});
