/** The flags that say which metrics are shown. Source: upstream's `component-base/metrics`. */
import { minorVersion } from "#publication/version.ts";
import { list, optional, type OptionsOf, texts } from "#std/flags.ts";
import type { Log } from "#std/log.ts";
import type { ShownMetrics } from "#std/metrics.ts";
import { allowedLabels, allowedValuesMistake, readAllowedLabels } from "./allowed-labels.ts";

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
  allowMetricLabels: texts(
    metric("allow-metric-labels"),
    "metric,label=values",
    "Values that a label of a metric may have, with commas between them; others are counted as unexpected. May be given several times.",
    allowedValuesMistake,
  ),
  allowMetricLabelsManifest: optional(
    metric("allow-metric-labels-manifest"),
    "file",
    "YAML map from metric,label to values, read when --allow-metric-labels is not given.",
  ),
};

/**
 * Returns the metrics that a server shows. A file that cannot be used is logged and allows everything, as in
 * kube-apiserver. Throws `StartError` for a key of the file that names no label.
 */
export const shownMetrics = (options: OptionsOf<typeof metricFlags>, log: Pick<Log, "error">): ShownMetrics => ({
  minor: minorVersion,
  showsHidden: options.showHiddenMetricsForVersion !== undefined,
  disabled: options.disabledMetrics,
  allowedLabels:
    options.allowMetricLabels.length === 0 && options.allowMetricLabelsManifest !== undefined
      ? readAllowedLabels(options.allowMetricLabelsManifest, log)
      : allowedLabels(options.allowMetricLabels),
});
