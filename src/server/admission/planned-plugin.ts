/** An admission plugin with settings, which are read before the server starts. */
import type { AdmissionPlugin } from "#admission/plugin.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Lookups } from "../lookups.ts";
import type { ServerParts } from "../server-parts.ts";

/** A plugin that may have connections. */
interface ConnectedPlugin extends AdmissionPlugin {
  /** Ends the plugin and its connections. */
  close?(): void;
}

/** Parts of a server for plugins with settings. */
export interface PluginParts extends Pick<ServerParts, "domain" | "clock" | "random" | "log"> {
  readonly lookups: Pick<Lookups, "get" | "getNamespace">;
}

/** Settings of a plugin, read and checked before the start. */
export interface PlannedPlugin {
  readonly settings: unknown;
  open(parts: PluginParts): ConnectedPlugin;
}

/**
 * Reads the settings of a plugin from the text of a document; `undefined` when there is none. Throws `ConfigError` or
 * `StartError`.
 */
export type ReadPlugin = (text: string | undefined, domain: ApiDomain) => PlannedPlugin;
