/** Flags that say which kinds are served, and how. */
import { boolean, duration, list, type OptionsOf } from "#std/flags.ts";

export const kindFlags = {
  featureGates: list(["feature-gates", "Generic"], "Name=true,...", "Switches features on or off."),
  runtimeConfig: list(
    ["runtime-config", "API enablement"],
    "key[=bool],...",
    "API versions and resources to serve: group/version, group/version/resource, api/all, api/ga, api/beta, api/alpha.",
    (entry) =>
      /^[^=]+(?:=\s*(?:true|false|1|0|t|f|)\s*)?$/i.test(entry) ? undefined : "must be key, key=true or key=false",
  ),
  allowPrivileged: boolean(["allow-privileged", "Misc"], true, "Whether containers may be privileged."),
  eventTtlMs: duration(["event-ttl", "Misc"], 60 * 60_000, "How long events are kept."),
};

/** Values of the flags, which can be cloned for threads. */
export type KindFlags = OptionsOf<typeof kindFlags>;
