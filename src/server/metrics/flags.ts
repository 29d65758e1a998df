/** The flags that say which metrics are shown. Source: upstream's `component-base/metrics`. */
import { minorVersion } from "#publication/version.ts";
import { list, optional, type OptionsOf } from "#std/flags.ts";
import type { ShownMetrics } from "#std/metrics.ts";

const metric = (name: string) => [name, "Metrics"] as const;

const previous = `1.${minorVersion - 1}`;

export const metricFlags = {
  showHiddenMetricsForVersion: optional(
    metric("show-hidden-metrics-for-version"),
    "version",
    `Show metrics that this release hides because they are deprecated; the version is ${previous}, so that the next release asks again.`,
    (text) => (text === previous ? undefined : `must be ${previous}, the previous minor version`),
  ),
  disabledMetrics: list(metric("disabled-metrics"), "names", "Metrics that are not shown, by their full names."),
};

/** Returns the metrics that a server shows. */
export const shownMetrics = (options: OptionsOf<typeof metricFlags>): ShownMetrics => ({
  minor: minorVersion,
  showsHidden: options.showHiddenMetricsForVersion !== undefined,
  disabled: options.disabledMetrics,
});
