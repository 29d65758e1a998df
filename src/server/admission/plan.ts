/**
 * Settings of admission plugins, read from flags and files before anything is opened or written. An invalid
 * configuration ends the start here. Source: upstream's `apiserver/pkg/admission/config.go`.
 */
import { dirname, isAbsolute, resolve } from "node:path";
import type { LimitedResource } from "#admission/quota.ts";
import type { WebhookCredentials } from "#client/webhook-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { asStart } from "../as-start.ts";
import { readGiven } from "../credentials.ts";
import type { ServerOptions } from "../options.ts";
import type { ImagePolicySettings } from "./image-policy.ts";

/** Plugins whose settings are a WebhookAdmissionConfiguration. */
const webhookPlugins = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"] as const;
export type WebhookPlugin = (typeof webhookPlugins)[number];

export interface AdmissionPlan {
  /** What the server shows to webhooks, by the plugin that calls them and by host. */
  readonly webhookCredentials: ReadonlyMap<WebhookPlugin, ReadonlyMap<string, WebhookCredentials>>;
  /** `undefined` when the plugin is off. */
  readonly imagePolicy: ImagePolicySettings | undefined;
  /** What may only be used under a quota. */
  readonly limitedResources: readonly LimitedResource[];
}

interface PluginConfig {
  readonly name?: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

const imagePolicyWebhook = "ImagePolicyWebhook";

/** Rejects with `StartError`. Loads what reads files only where there are any. */
export async function planAdmission(options: ServerOptions, domain: ApiDomain): Promise<AdmissionPlan> {
  const { admissionControlConfigFile: file, enableAdmissionPlugins: enabled } = options;
  const plugins = file === undefined ? [] : await readPlugins(file, domain);
  const webhookCredentials = await planWebhooks(plugins, domain);
  const limitedResources = await planLimitedResources(plugins, domain);
  if (!enabled.includes(imagePolicyWebhook)) return { imagePolicy: undefined, webhookCredentials, limitedResources };
  const { readImagePolicy } = await import("./image-policy.ts");
  const { decodeYaml } = await import("#codec/yaml.ts");
  const config = plugins.find(({ name }) => name === imagePolicyWebhook);
  // Upstream's words.
  const imagePolicy = asStart(`couldn't init admission plugin ${JSON.stringify(imagePolicyWebhook)}: `, () => {
    const given = config?.configuration ?? undefined;
    if (given !== undefined) return readImagePolicy(given);
    if ((config?.path ?? "") === "") throw new StartError("no config specified");
    return readImagePolicy(decodeYaml(Buffer.from(readGiven(config!.path!))).value);
  });
  return { imagePolicy, webhookCredentials, limitedResources };
}

/** Upstream: the kubeconfig's users are named after the hosts they are shown to. */
async function planWebhooks(
  plugins: readonly PluginConfig[],
  domain: ApiDomain,
): Promise<AdmissionPlan["webhookCredentials"]> {
  const planned = new Map<WebhookPlugin, ReadonlyMap<string, WebhookCredentials>>();
  for (const { name, configuration, path = "" } of plugins) {
    const plugin = webhookPlugins.find((one) => one === name);
    const isGiven = configuration !== undefined && configuration !== null;
    if (plugin === undefined || (!isGiven && path === "")) continue;
    const { readDocument, textValue } = await import("#codec/config-document.ts");
    const { readWebhookUsers } = await import("#client/webhook-connection.ts");
    const users = asStart(`couldn't init admission plugin ${JSON.stringify(plugin)}: `, () => {
      const text = isGiven ? JSON.stringify(configuration) : readGiven(path);
      const { kubeConfigFile = "" } = readDocument(text, {
        kind: "WebhookAdmissionConfiguration",
        apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1alpha1"].map(domain.rename),
        fields: { kubeConfigFile: textValue },
      });
      if (!isAbsolute(kubeConfigFile)) {
        const shown = JSON.stringify(kubeConfigFile);
        throw new StartError(`kubeConfigFile: Invalid value: ${shown}: must be an absolute file path`);
      }
      return readWebhookUsers(kubeConfigFile);
    });
    planned.set(plugin, users);
  }
  return planned;
}

/** The configuration of ResourceQuota. */
async function planLimitedResources(
  plugins: readonly PluginConfig[],
  domain: ApiDomain,
): Promise<readonly LimitedResource[]> {
  const { configuration, path = "" } = plugins.find(({ name }) => name === "ResourceQuota") ?? {};
  const isGiven = configuration !== undefined && configuration !== null;
  if (!isGiven && path === "") return [];
  const { readLimitedResources } = await import("./quota-configuration.ts");
  return asStart(`couldn't init admission plugin "ResourceQuota": `, () =>
    readLimitedResources(isGiven ? JSON.stringify(configuration) : readGiven(path), domain),
  );
}

/** The file's entries, with paths relative to it; those of plugins that are not there, too. */
async function readPlugins(file: string, domain: ApiDomain): Promise<readonly PluginConfig[]> {
  const { anyValue, listOf, readDocument, struct, textValue } = await import("#codec/config-document.ts");
  const { decodeYaml } = await import("#codec/yaml.ts");
  const text = readGiven(file);
  return asStart(`${file}: `, () => {
    // Upstream: an image policy by itself is read, too, in its place.
    if (isImagePolicy(decodeYaml(Buffer.from(text)).value)) return [{ name: imagePolicyWebhook, path: file }];
    const { plugins = [] } = readDocument(text, {
      kind: "AdmissionConfiguration",
      apiVersions: ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"].map(domain.rename),
      fields: { plugins: listOf(struct({ name: textValue, path: textValue, configuration: anyValue })) },
      lenient: true,
    });
    return plugins.map((plugin) =>
      (plugin.path ?? "") === "" ? plugin : { ...plugin, path: resolve(dirname(file), plugin.path!) },
    );
  });
}

const isImagePolicy = (value: unknown): boolean => isObject(value) && "imagePolicy" in value && !("kind" in value);
