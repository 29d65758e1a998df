/** Flags of admission: which plugins run, their settings, and webhooks. */
import { pluginOrder } from "#admission/plugin-order.ts";
import { binnacleFlag, boolean, deprecated, duration, integer, list, optional, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { configuredPlugins } from "./configured-plugins.ts";

const admission = (name: string) => [name, "Admission"] as const;
const misc = (name: string) => [name, "Misc"] as const;
const seconds = { min: 0, max: Number.MAX_SAFE_INTEGER };

/** The names that `--enable-admission-plugins` accepts. DefaultVolumeAttributesClass has none upstream. */
const knownPlugins: ReadonlySet<string> = new Set([...pluginOrder, ...Object.keys(configuredPlugins)]);

const unknownPlugin = (name: string): string | undefined => (knownPlugins.has(name) ? undefined : "no such plugin");

export const admissionFlags = {
  admissionControl: deprecated(
    list(admission("admission-control"), "names", "The admission plugins to run, and no other.", unknownPlugin),
    "use --enable-admission-plugins or --disable-admission-plugins",
  ),
  enableAdmissionPlugins: list(
    admission("enable-admission-plugins"),
    "names",
    "Admission plugins to run beside the default ones.",
    unknownPlugin,
  ),
  disableAdmissionPlugins: list(
    admission("disable-admission-plugins"),
    "names",
    "Default admission plugins not to run.",
    unknownPlugin,
  ),
  admissionControlConfigFile: optional(
    admission("admission-control-config-file"),
    "file",
    "AdmissionConfiguration: settings of admission plugins. EventRateLimit and ImagePolicyWebhook need it.",
  ),
  defaultNotReadyTolerationSeconds: integer(
    misc("default-not-ready-toleration-seconds"),
    300,
    seconds,
    "How long new pods that do not say it stay on a node that is not ready.",
  ),
  defaultUnreachableTolerationSeconds: integer(
    misc("default-unreachable-toleration-seconds"),
    300,
    seconds,
    "How long new pods that do not say it stay on a node that cannot be reached.",
  ),
  admissionTimeoutMs: duration(
    binnacleFlag("admission-timeout"),
    30_000,
    "Time that all admission webhooks of a write have together, within their own times; 0 for that of the request.",
  ),
  webhookCircuitBreaker: boolean(
    binnacleFlag("webhook-circuit-breaker"),
    true,
    "Leave an admission webhook with failurePolicy Ignore alone for a while after it did not answer in its time.",
  ),
};

export type AdmissionFlags = OptionsOf<typeof admissionFlags>;

/** Returns the options with `--admission-control` as the two flags that replaced it. Throws `StartError`. */
export function withAdmissionControl<Options extends AdmissionFlags>(options: Options): Options {
  const { admissionControl: names, enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = options;
  if (names.length === 0) return options;
  if (enabled.length > 0 || disabled.length > 0) {
    const flags = "admission-control and enable-admission-plugins/disable-admission-plugins flags";
    throw new StartError(`${flags} are mutually exclusive`);
  }
  const others = [...knownPlugins].filter((name) => !names.includes(name));
  return { ...options, enableAdmissionPlugins: names, disableAdmissionPlugins: others };
}
