/** The configuration of PodNodeSelector. Loaded only when the plugin is on. */
import { podNodeSelector } from "#admission/pod-node-selector.ts";
import { mapOf, readSettings, textValue } from "#codec/config-document.ts";
import type { ReadPlugin } from "./planned-plugin.ts";

/** Reads the selectors. Throws `ConfigError`. Without a document, there are only those of namespaces. */
export const planPodNodeSelector: ReadPlugin = (text = "{}") => {
  const { podNodeSelectorPluginConfig: selectors = {} } = readSettings(text, {
    podNodeSelectorPluginConfig: mapOf(textValue),
  });
  return {
    settings: selectors,
    open: ({ domain, lookups }) =>
      podNodeSelector({
        domain,
        selectors: new Map(Object.entries(selectors)),
        getNamespace: lookups.getNamespace,
      }),
  };
};
