/**
 * The configuration of ImagePolicyWebhook, and the plugin made from it. Loaded only when the plugin is on. Source:
 * upstream's `plugin/pkg/admission/imagepolicy/config.go`.
 */
import { type ImagePolicyOptions, imagePolicyWebhook } from "#admission/image-policy-webhook.ts";
import { openWebhook, readWebhookConnection, type WebhookConnection } from "#egress/webhook-connection.ts";
import { booleanValue, ConfigError, integerValue, readSettings, struct, textValue } from "#codec/config-document.ts";
import { printGoDuration } from "#std/go-duration.ts";
import { rateLimited } from "#std/log.ts";
import type { PluginParts, ReadPlugin } from "./planned-plugin.ts";

type Settings = "allowTtlMs" | "denyTtlMs" | "retryBackoffMs" | "defaultAllow";

interface ImagePolicySettings extends Pick<ImagePolicyOptions, Settings> {
  readonly connection: WebhookConnection;
}

const fields = {
  imagePolicy: struct({
    kubeConfigFile: textValue,
    /** In seconds. */
    allowTTL: integerValue,
    denyTTL: integerValue,
    /** In milliseconds. */
    retryBackoff: integerValue,
    defaultAllow: booleanValue,
  }),
};

const secondMs = 1000;
const minuteMs = 60_000;
const ttlBounds = { unitMs: secondMs, min: "1s", maxMs: 30 * minuteMs };
const backoffBounds = { unitMs: 1, min: "1ns", maxMs: 5 * minuteMs };

/** Reads the settings in the text of the file. Throws `ConfigError`. */
export const planImagePolicy: ReadPlugin = (text) => {
  if (text === undefined) throw new ConfigError("no config specified");
  const settings = readImagePolicy(text);
  return { settings, open: (parts) => openImagePolicy(settings, parts) };
};

function readImagePolicy(text: string): ImagePolicySettings {
  const { imagePolicy: settings = {} } = readSettings(text, fields);
  const file = settings.kubeConfigFile ?? "";
  if (file === "") throw new ConfigError("imagePolicy.kubeConfigFile: Required value");
  return {
    retryBackoffMs: readBounded("retryBackoff", settings.retryBackoff, 500, backoffBounds),
    allowTtlMs: readBounded("allowTTL", settings.allowTTL, 5 * minuteMs, ttlBounds),
    denyTtlMs: readBounded("denyTTL", settings.denyTTL, 30 * secondMs, ttlBounds),
    defaultAllow: settings.defaultAllow ?? false,
    connection: readWebhookConnection(file),
  };
}

interface Bounds {
  readonly unitMs: number;
  /** The minimum, as error messages show it: one unit or less. */
  readonly min: string;
  readonly maxMs: number;
}

/** Returns a duration in milliseconds. As upstream, -1 is zero, and 0 is the default. */
function readBounded(name: string, count = 0, initialMs: number, { unitMs, min, maxMs }: Bounds): number {
  if (count === -1) return 0;
  if (count === 0) return initialMs;
  const ms = count * unitMs;
  if (ms > 0 && ms <= maxMs) return ms;
  const range = `valid value is between ${min} and ${printGoDuration(maxMs)}, got ${printGoDuration(ms)}`;
  throw new ConfigError(`imagePolicy.${name}: ${range}`);
}

const openImagePolicy = (
  { connection, ...settings }: ImagePolicySettings,
  { domain, clock, random, log }: PluginParts,
): ReturnType<typeof imagePolicyWebhook> =>
  imagePolicyWebhook({
    ...settings,
    ...openWebhook(connection, clock),
    domain,
    clock,
    random,
    failed: rateLimited(clock, (error) => log.error({ error }, "the image policy webhook gave no answer")),
  });
