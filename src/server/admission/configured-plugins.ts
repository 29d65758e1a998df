/**
 * The admission plugins that do nothing without settings: off by default, they end the start when they are on and have
 * none. The code of a plugin is loaded when it is on.
 */
import type { AdmissionPlugin } from "#admission/plugin.ts";
import type { ServerParts } from "../server-parts.ts";

/** A plugin, and what ends it with its connections. */
interface OpenPlugin {
  readonly plugin: AdmissionPlugin;
  close(): void;
}

/** Settings that were read and checked before the start. */
export interface PlannedPlugin {
  readonly settings: object;
  open(parts: Pick<ServerParts, "domain" | "clock" | "random" | "log">): OpenPlugin;
}

/** Reads settings, a document as text. Throws `ConfigError` or `StartError`. */
type ReadPlugin = (text: string) => PlannedPlugin;

/** The plugins by name. `--enable-admission-plugins` accepts names that upstream does not have, too. */
export const configuredPlugins: Readonly<Record<string, () => Promise<ReadPlugin>>> = {
  ImagePolicyWebhook: async () => (await import("./image-policy.ts")).planImagePolicy,
};
