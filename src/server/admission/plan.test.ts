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
  (await planAdmission(resolveOptions(settings), kubernetesDomain)).imagePolicy;

const configured = (plugin: object): string =>
  file("config", {
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "AdmissionConfiguration",
    plugins: [{ name: "Other" }, { name: "ImagePolicyWebhook", ...plugin }],
  });

const refused = (settings: ServerSettings, message: RegExp) =>
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
  for (const config of [configured({ configuration: { imagePolicy } }), configured({ path: "alone" }), alone]) {
    assert.deepEqual(await plan({ ...on, admissionControlConfigFile: config }), expected);
  }
});

test("what is not said has upstream's defaults, and a plugin that is off is not read", async () => {
  const config = configured({ configuration: { imagePolicy: { kubeConfigFile } } });
  const { connection: _connection, ...rest } = (await plan({ ...on, admissionControlConfigFile: config }))!;
  assert.deepEqual(rest, { allowTtlMs: 300_000, denyTtlMs: 30_000, retryBackoffMs: 500, defaultAllow: false });
  assert.equal(await plan({ admissionControlConfigFile: configured({ path: "missing" }) }), undefined);
  assert.equal(await plan({}), undefined);
});

test("what is missing or out of bounds stops the start", async () => {
  await refused(on, /^couldn't init admission plugin "ImagePolicyWebhook": no config specified$/);
  const with_ = (imagePolicy: object): ServerSettings => ({
    ...on,
    admissionControlConfigFile: configured({ configuration: { imagePolicy } }),
  });
  await refused(with_({}), /imagePolicy\.kubeConfigFile: Required value$/);
  await refused(with_({ kubeConfigFile: "/nowhere" }), /\/nowhere: cannot be read/);
  await refused(
    with_({ kubeConfigFile, allowTTL: 3600 }),
    /imagePolicy\.allowTTL: valid value is between 1s and 30m0s, got 1h0m0s$/,
  );
  await refused(with_({ kubeConfigFile, retryBackoff: -2 }), /between 1ns and 5m0s, got -2ms$/);
  await refused(with_({ kubeConfigFile, defaultAllow: "yes" }), /defaultAllow/);
  await refused({ admissionControlConfigFile: join(folder, "nothing") }, /^cannot read /);
  await refused(
    { admissionControlConfigFile: file("wrong", "kind: Pod") },
    /wrong: must be of kind AdmissionConfiguration in apiserver\.config\.k8s\.io\/v1 or /,
  );
  await refused({ ...on, admissionControlConfigFile: configured({ path: "absent" }) }, /cannot read .*absent/);
});
