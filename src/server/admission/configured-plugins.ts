/**
 * The admission plugins that do nothing without settings. They are off by default; a plugin that is on without settings
 * ends the start. The code of a plugin is loaded only when the plugin is on.
 */
import type { AdmissionPlugin } from "#admission/plugin.ts";
import type { ServerParts } from "../server-parts.ts";

/** A plugin with connections. */
interface ConnectedPlugin extends AdmissionPlugin {
  /** Ends the plugin and its connections. */
  close(): void;
}

/** Settings of a plugin, read and checked before the start. */
export interface PlannedPlugin {
  readonly settings: object;
  open(parts: Pick<ServerParts, "domain" | "clock" | "random" | "log">): ConnectedPlugin;
}

/** Reads the settings of a plugin from the text of a document. Throws `ConfigError` or `StartError`. */
type ReadPlugin = (text: string) => PlannedPlugin;

/** The plugins by name. Some of these names do not exist upstream; `--enable-admission-plugins` accepts them too. */
export const configuredPlugins: Readonly<Record<string, () => Promise<ReadPlugin>>> = {
  ImagePolicyWebhook: async () => (await import("./image-policy.ts")).planImagePolicy,
};
