/** Settings of admission plugins from files. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { resolveOptions, type ServerSettings } from "../options.ts";
import { planAdmission } from "./plan.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-admission-"));
after(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, content: unknown): string {
  const path = join(folder, name);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const kubeConfigFile = file("kubeconfig", {
  apiVersion: "v1",
  kind: "Config",
  clusters: [{ name: "c", cluster: { server: "https://hook" } }],
  contexts: [{ name: "x", context: { cluster: "c" } }],
  "current-context": "x",
});
const on: ServerSettings = { enableAdmissionPlugins: ["ImagePolicyWebhook"] };

const plan = async (settings: ServerSettings) =>
  (await planAdmission(resolveOptions(settings), kubernetesDomain)).configured.get("ImagePolicyWebhook")?.settings;

const configurationText = (plugin: object): string =>
  file("config", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "Other" }, { name: "ImagePolicyWebhook", ...plugin }],
  });

const expectRefusal = (settings: ServerSettings, message: RegExp) =>
  assert.rejects(plan(settings), { name: "StartError", message });

test("settings stand in the document, in a file beside it, or alone", async () => {
  const imagePolicy = { kubeConfigFile, allowTTL: 50, denyTTL: -1, retryBackoff: 250, defaultAllow: true };
  const expected = {
    connection: { url: "https://hook", headers: {}, trust: {} },
    allowTtlMs: 50_000,
    denyTtlMs: 0,
    retryBackoffMs: 250,
    defaultAllow: true,
  };
  const alone = file("alone", { imagePolicy });
  for (const config of [
    configurationText({ configuration: { imagePolicy } }),
    configurationText({ path: "alone" }),
    alone,
  ]) {
    assert.deepEqual(await plan({ ...on, admissionControlConfigFile: config }), expected);
  }
});

test("absent settings have upstream's defaults, and settings of a disabled plugin are not read", async () => {
  const config = configurationText({ configuration: { imagePolicy: { kubeConfigFile } } });
  assert.partialDeepStrictEqual(await plan({ ...on, admissionControlConfigFile: config }), {
    allowTtlMs: 300_000,
    denyTtlMs: 30_000,
    retryBackoffMs: 500,
    defaultAllow: false,
  });
  assert.equal(await plan({ admissionControlConfigFile: configurationText({ path: "missing" }) }), undefined);
  assert.equal(await plan({}), undefined);
});

test("a setting that is missing or out of bounds stops the start", async () => {
  await expectRefusal(on, /^couldn't init admission plugin "ImagePolicyWebhook": no config specified$/);
  const with_ = (imagePolicy: object): ServerSettings => ({
    ...on,
    admissionControlConfigFile: configurationText({ configuration: { imagePolicy } }),
  });
  await expectRefusal(with_({}), /imagePolicy\.kubeConfigFile: Required value$/);
  await expectRefusal(with_({ kubeConfigFile: "/nowhere" }), /\/nowhere: cannot be read/);
  await expectRefusal(
    with_({ kubeConfigFile, allowTTL: 3600 }),
    /imagePolicy\.allowTTL: valid value is between 1s and 30m0s, got 1h0m0s$/,
  );
  await expectRefusal(with_({ kubeConfigFile, retryBackoff: -2 }), /between 1ns and 5m0s, got -2ms$/);
  await expectRefusal(with_({ kubeConfigFile, defaultAllow: "yes" }), /defaultAllow/);
  await expectRefusal({ admissionControlConfigFile: join(folder, "nothing") }, /^cannot read /);
  await expectRefusal(
    { admissionControlConfigFile: file("wrong", "kind: Pod") },
    /wrong: must be of kind AdmissionConfiguration in apiserver\.config\.k8s\.io\/v1 or /,
  );
  await expectRefusal(
    { ...on, admissionControlConfigFile: configurationText({ path: "absent" }) },
    /cannot read .*absent/,
  );
});

const credentials = async (configuration: object) => {
  const config = file("webhooks", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [
      {
        name: "MutatingAdmissionWebhook",
        configuration: {
          apiVersion: "apiserver.config.k8s.io/v1",
          kind: "WebhookAdmissionConfiguration",
          ...configuration,
        },
      },
    ],
  });
  const options = resolveOptions({ admissionControlConfigFile: config });
  return (await planAdmission(options, kubernetesDomain)).webhookCredentials;
};

test("admission webhooks are shown the users that a kubeconfig names after them", async () => {
  const users = [
    { name: "*.example.com", user: { token: "t" } },
    { name: "hook.default.svc", user: { username: "u", password: "p" } },
  ];
  const given = await credentials({ kubeConfigFile: file("users", { apiVersion: "v1", kind: "Config", users }) });
  assert.deepEqual([...given.keys()], ["MutatingAdmissionWebhook"]);
  assert.deepEqual(
    [...given.get("MutatingAdmissionWebhook")!].map(([host, { headers }]) => [host, headers]),
    [
      ["*.example.com", { authorization: "Bearer t" }],
      ["hook.default.svc", { authorization: "Basic dTpw" }],
    ],
  );
});

test("an invalid configuration of admission webhooks stops the start", async () => {
  const said = /^couldn't init admission plugin "MutatingAdmissionWebhook": /;
  for (const [configuration, message] of [
    [{ kubeConfigFile: "users" }, /kubeConfigFile: Invalid value: "users": must be an absolute file path$/],
    [{}, /kubeConfigFile: Invalid value: "": must be an absolute file path$/],
    [{ kubeConfigFile: "/nowhere" }, /\/nowhere: cannot be read/],
    [{ kind: "Other" }, /must be of kind WebhookAdmissionConfiguration /],
    [{ unknown: 1 }, /unknown field "unknown"$/],
  ] as const) {
    await assert.rejects(credentials(configuration), { name: "StartError", message: said });
    await assert.rejects(credentials(configuration), { message });
  }
});

const admitWithLimit = async (configuration: object) => {
  const config = file("quotas", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "ResourceQuota", configuration }],
  });
  return (await planAdmission(resolveOptions({ admissionControlConfigFile: config }), kubernetesDomain))
    .limitedResources;
};

test("the list of limited resources is read, and a mistake in it stops the start", async () => {
  const kind = { apiVersion: "apiserver.config.k8s.io/v1", kind: "ResourceQuotaConfiguration" };
  const matchScopes = [{ scopeName: "PriorityClass", operator: "In", values: ["high"] }];
  assert.deepEqual(await admitWithLimit({ ...kind, limitedResources: [{ resource: "pods", matchScopes }] }), [
    { apiGroup: "", resource: "pods", matchContains: [], matchScopes },
  ]);
  assert.deepEqual(await admitWithLimit(kind), []);
  file("quota", { ...kind, limitedResources: [{ resource: "pods" }] });
  const inFile = file("quotas", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "ResourceQuota", path: "quota" }],
  });
  const planned = await planAdmission(resolveOptions({ admissionControlConfigFile: inFile }), kubernetesDomain);
  assert.deepEqual(
    planned.limitedResources.map(({ resource }) => resource),
    ["pods"],
  );
  await assert.rejects(admitWithLimit({ ...kind, limitedResources: [{ resource: 1 }] }), {
    name: "StartError",
    message: /^couldn't init admission plugin "ResourceQuota": /,
  });
  await assert.rejects(admitWithLimit({ kind: "Other" }), {
    name: "StartError",
    message: /ResourceQuotaConfiguration/,
  });
});

const podSecurity = async (plugin: object, settings: ServerSettings = {}) => {
  const config = file("pod-security", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "PodSecurity", ...plugin }],
  });
  const options = resolveOptions({ admissionControlConfigFile: config, ...settings });
  return (await planAdmission(options, kubernetesDomain)).podSecurity;
};

test("PodSecurity has defaults and exemptions of a configuration, in each of its versions", async () => {
  for (const version of ["v1", "v1beta1", "v1alpha1"]) {
    const configuration = {
      apiVersion: `pod-security.admission.config.k8s.io/${version}`,
      kind: "PodSecurityConfiguration",
      defaults: { enforce: "baseline", "enforce-version": "v1.5", audit: "" },
      exemptions: { usernames: ["u"], namespaces: ["n"], runtimeClasses: ["r.x"] },
    };
    const privileged = { level: "privileged", version: "latest", minor: Number.POSITIVE_INFINITY };
    assert.deepEqual(await podSecurity({ configuration }), {
      defaults: { enforce: { level: "baseline", version: "v1.5", minor: 5 }, audit: privileged, warn: privileged },
      exemptUsers: new Set(["u"]),
      exemptNamespaces: new Set(["n"]),
      exemptRuntimeClasses: new Set(["r.x"]),
    });
  }
});

test("without a configuration, or with an empty file of it, PodSecurity forbids nothing and exempts nobody", async () => {
  file("empty", "");
  const initial = await podSecurity({});
  assert.equal(initial.defaults.enforce.level, "privileged");
  assert.equal(await podSecurity({ configuration: null }), initial);
  assert.deepEqual(await podSecurity({ path: "empty" }), initial);
  assert.equal(await podSecurity({ path: "missing" }, { disableAdmissionPlugins: ["PodSecurity"] }), initial);
});

test("an invalid configuration of PodSecurity stops the start", async () => {
  const head = { apiVersion: "pod-security.admission.config.k8s.io/v1", kind: "PodSecurityConfiguration" };
  const expectConfigurationRefusal = (configuration: object, message: RegExp | string): Promise<void> =>
    assert.rejects(podSecurity({ configuration }), { name: "StartError", message });
  const level = "must be one of privileged, baseline, restricted";
  const initialized = 'failed to initialize admission plugin "PodSecurity": PodSecurity';
  await expectConfigurationRefusal(
    { ...head, defaults: { enforce: "x", "audit-version": "1.2" }, exemptions: { namespaces: [""] } },
    `${initialized} configuration error: [enforce: ${level}, audit-version: must be "latest" or "v1.x"]`,
  );
  await expectConfigurationRefusal(
    { ...head, defaults: { warn: "x" } },
    `${initialized} configuration error: warn: ${level}`,
  );
  await expectConfigurationRefusal(
    { ...head, exemptions: { usernames: ["", "u", "u"], runtimeClasses: ["r", "r"], namespaces: ["n.m"] } },
    `${initialized} invalid: [exemptions.namespaces[0]: Invalid value: "n.m": must not contain dots, ` +
      'exemptions.runtimeClasses[1]: Duplicate value: "r", exemptions.usernames[0]: Invalid value: "": username must ' +
      'not be empty, exemptions.usernames[2]: Duplicate value: "u"]',
  );
  const unread = /^couldn't init admission plugin "PodSecurity": /;
  await expectConfigurationRefusal({ ...head, defaults: { other: "x" } }, unread);
  await expectConfigurationRefusal({ ...head, kind: "Other" }, unread);
  await assert.rejects(podSecurity({ path: "nowhere" }), { name: "StartError", message: unread });
});
