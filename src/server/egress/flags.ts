/** The flag of connections to other servers. */
import { optional, type OptionsOf } from "#std/flags.ts";

export const egressFlags = {
  egressSelectorConfigFile: optional(
    ["egress-selector-config-file", "Generic"],
    "file",
    "EgressSelectorConfiguration: proxies for connections to the cluster (nodes, targets, services) and to webhooks at URLs.",
  ),
};

export type EgressFlags = OptionsOf<typeof egressFlags>;
