/**
 * Settings of admission plugins, read from flags and files before anything is opened or written. An invalid
 * configuration ends the start here. Source: upstream's `apiserver/pkg/admission/config.go`.
 */
import { dirname, isAbsolute, resolve } from "node:path";
import { initialPodSecurity, type PodSecuritySettings } from "#admission/pod-security.ts";
import type { LimitedResource } from "#admission/quota.ts";
import type { WebhookCredentials } from "#egress/webhook-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { orStartError, readGiven } from "../given-files.ts";
import { configuredPlugins } from "./configured-plugins.ts";
import type { AdmissionFlags } from "./flags.ts";
import type { PlannedPlugin } from "./planned-plugin.ts";

/** Plugins whose settings are a WebhookAdmissionConfiguration. */
const webhookPlugins = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"] as const;
export type WebhookPlugin = (typeof webhookPlugins)[number];

export interface AdmissionPlan {
  /** Credentials that the server presents to webhooks, by the plugin that calls them and by host. */
  readonly webhookCredentials: ReadonlyMap<WebhookPlugin, ReadonlyMap<string, WebhookCredentials>>;
  /** The enabled plugins of `configuredPlugins`, by name. */
  readonly configured: ReadonlyMap<string, PlannedPlugin>;
  /** Resources that may only be used under a quota. */
  readonly limitedResources: readonly LimitedResource[];
  readonly podSecurity: PodSecuritySettings;
}

interface PluginConfig {
  readonly name?: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

const imagePolicyWebhook = "ImagePolicyWebhook";
const podSecurity = "PodSecurity";

/** Rejects with `StartError`. Loads the readers of settings only when there are settings. */
export async function planAdmission(options: AdmissionFlags, domain: ApiDomain): Promise<AdmissionPlan> {
  const { admissionControlConfigFile: file, enableAdmissionPlugins: enabled } = options;
  const { disableAdmissionPlugins: disabled } = options;
  const plugins = file === undefined ? [] : await readPlugins(file, domain);
  return {
    webhookCredentials: await planWebhooks(plugins, domain),
    limitedResources: (await planLimitedResources(plugins, domain)) ?? [],
    podSecurity: disabled.includes(podSecurity) ? initialPodSecurity : await planPodSecurity(plugins, domain),
    configured: await planConfigured(plugins, enabled, domain),
  };
}

/** Reads the settings of the enabled plugins that have some. */
async function planConfigured(
  plugins: readonly PluginConfig[],
  enabled: readonly string[],
  domain: ApiDomain,
): Promise<AdmissionPlan["configured"]> {
  const planned = new Map<string, PlannedPlugin>();
  for (const [plugin, load] of Object.entries(configuredPlugins)) {
    if (!enabled.includes(plugin)) continue;
    const read = await load();
    const settings = orStartError(initFailure(plugin), () => read(settingsText(plugins, plugin), domain));
    planned.set(plugin, settings);
  }
  return planned;
}

/**
 * Loads the function that reads the settings of a plugin from text. That function throws `ConfigError` or `StartError`.
 */
type Load<T> = () => Promise<(text: string) => T>;

/**
 * Returns the settings of a plugin, from the configuration file or the file that it names; `undefined` without
 * settings.
 */
async function planSettings<T>(
  plugins: readonly PluginConfig[],
  plugin: string,
  load: Load<T>,
): Promise<T | undefined> {
  if (!hasSettings(plugins, plugin)) return undefined;
  const read = await load();
  return orStartError(initFailure(plugin), () => read(settingsText(plugins, plugin)!)); // it has some
}

const entryOf = (plugins: readonly PluginConfig[], plugin: string): PluginConfig =>
  plugins.find(({ name }) => name === plugin) ?? {};

const isGiven = ({ configuration }: PluginConfig): boolean => (configuration ?? undefined) !== undefined;

function hasSettings(plugins: readonly PluginConfig[], plugin: string): boolean {
  const entry = entryOf(plugins, plugin);
  return isGiven(entry) || (entry.path ?? "") !== "";
}

/**
 * Returns the settings as they stand in the configuration file, or in the file that it names; `undefined` when there are
 * none. Throws `StartError`.
 */
function settingsText(plugins: readonly PluginConfig[], plugin: string): string | undefined {
  const entry = entryOf(plugins, plugin);
  if (isGiven(entry)) return JSON.stringify(entry.configuration);
  return entry.path ? readGiven(entry.path) : undefined;
}

/** The beginning of an error message, in upstream's words. */
const initFailure = (plugin: string): string => `couldn't init admission plugin ${JSON.stringify(plugin)}: `;

/**
 * Returns the credentials for webhooks by plugin and host. Users in the kubeconfig are named after hosts, as upstream.
 */
async function planWebhooks(
  plugins: readonly PluginConfig[],
  domain: ApiDomain,
): Promise<AdmissionPlan["webhookCredentials"]> {
  const planned = new Map<WebhookPlugin, ReadonlyMap<string, WebhookCredentials>>();
  const load = async () => {
    const { readDocument, textValue } = await import("#codec/config-document.ts");
    const { readWebhookUsers } = await import("#egress/webhook-connection.ts");
    return (text: string) => {
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
    };
  };
  for (const plugin of webhookPlugins) {
    const users = await planSettings(plugins, plugin, load);
    if (users !== undefined) planned.set(plugin, users);
  }
  return planned;
}

/** Reads the configuration of ResourceQuota. */
const planLimitedResources = (plugins: readonly PluginConfig[], domain: ApiDomain) =>
  planSettings(plugins, "ResourceQuota", async () => {
    const { readLimitedResources } = await import("./quota-configuration.ts");
    return (text) => readLimitedResources(text, domain);
  });

/** Reads the configuration of PodSecurity. An empty file has no settings. */
async function planPodSecurity(plugins: readonly PluginConfig[], domain: ApiDomain): Promise<PodSecuritySettings> {
  const load = () => import("./pod-security-configuration.ts");
  const decoded = await planSettings(plugins, podSecurity, async () => {
    const { decodePodSecurity } = await load();
    return (text) => (text === "" ? {} : decodePodSecurity(text, domain));
  });
  if (decoded === undefined) return initialPodSecurity;
  const { podSecuritySettings } = await load();
  return orStartError(`failed to initialize admission plugin "${podSecurity}": `, () => podSecuritySettings(decoded));
}

/** Returns the entries of the file, with absolute paths, also for plugins that do not exist here. */
async function readPlugins(file: string, domain: ApiDomain): Promise<readonly PluginConfig[]> {
  const { anyValue, listOf, readDocument, struct, textValue } = await import("#codec/config-document.ts");
  const { decodeYaml } = await import("#codec/yaml.ts");
  const text = readGiven(file);
  return orStartError(`${file}: `, () => {
    // The file may also be the configuration of the image policy itself, as upstream.
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
