/**
 * Counters, gauges and histograms in Prometheus' text format 0.0.4, with one registry per server.
 *
 * Hot path: recording updates numbers of a child that was resolved once (`counter.with(...)`). docs/dependencies.md
 * says why this is not a library. Label sets are bounded: beyond `seriesMax` children of one metric, further values
 * share one child whose labels are all `other`. Label sets of things that are gone are dropped (`isThere`).
 */

import { type AllowedLabels, LabelFilter } from "./allowed-labels.ts";
import { ownText } from "./own-copy.ts";
import type { QuantileSummary } from "./quantile-summary.ts";

interface MetricOptions {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  /** The maximum number of label sets; 5,000 by default. */
  readonly seriesMax?: number;
  /**
   * Whether what the label values name is still there; left out: always. It is asked before a scrape, and when there are
   * too many label sets. Those of what is gone are dropped.
   */
  isThere?(values: readonly string[]): boolean;
  /** Called when label sets were dropped: their children are not shown any more, and must not be kept. */
  dropped?(): void;
  /** Set for a metric that another one replaced. */
  readonly deprecated?: Deprecation;
  /** Whether the help says no stability level, as that of a few metrics of kube-apiserver. */
  readonly isUnstaged?: true;
}

/** The release that deprecated a metric, which decides when it is hidden. */
export interface Deprecation {
  /** The minor version of the release. */
  readonly minor: number;
  readonly stability: "alpha" | "beta" | "stable";
}

/** The number of releases in which a deprecated metric is still shown. Source: the deprecation policy of Kubernetes. */
const releasesShown = { alpha: 1, beta: 1, stable: 3 } as const;

/** The metrics that a server shows; by default all. */
export interface ShownMetrics {
  /** The minor version of the server, by which metrics are hidden; left out: none is. */
  readonly minor?: number;
  /** Whether metrics are shown that this release hides. */
  readonly showsHidden?: boolean;
  /** The names of metrics that are not shown in any case. */
  readonly disabled?: readonly string[];
  /** The values that labels may have; left out: all. */
  readonly allowedLabels?: AllowedLabels;
}

/** The numbers of metrics by their fate: shown, hidden or disabled. */
interface MetricCounts {
  readonly hidden: number;
  readonly disabled: number;
  /** The number of uses of label values that are not allowed. */
  readonly unexpected: number;
  /** The shown ones, as samples with their stability level and the version that deprecated them. */
  readonly shown: readonly Sample[];
}

/** Whether this metric is hidden in the release with this minor version. */
export const isHidden = ({ minor, stability }: Deprecation, current: number): boolean =>
  current - minor >= releasesShown[stability];

interface HistogramOptions extends MetricOptions {
  /** Upper bounds in rising order; `+Inf` is added. */
  readonly buckets: readonly number[];
  /** The name that the metric had before, under which it is shown as well until that name is hidden. */
  readonly former?: { readonly name: string; readonly deprecated: Deprecation };
}

interface SummaryOptions extends MetricOptions {
  /** The quantiles that are shown, from 0 to 1. */
  readonly quantiles: readonly number[];
  /** Makes what counts the values; programs without summaries do not load it. */
  readonly make: () => QuantileSummary;
  /** Returns milliseconds of the clock whose times `observe` gets. */
  now(): number;
}

export interface Counter {
  /** `by` must not be negative. */
  add(by?: number): void;
}

export interface Gauge {
  add(by: number): void;
  set(value: number): void;
}

export interface Histogram {
  /** `times` need not be a whole number. */
  observe(value: number, times?: number): void;
}

export interface Summary {
  /** Counts a value `times` times (default: once), at a time that never goes back. */
  observe(value: number, nowMs: number, times?: number): void;
}

/** A metric with one child per combination of label values. */
export interface Family<Child> {
  /**
   * Returns the child for these values, one per label name; it is made at the first use. Keep a child that is used
   * often.
   */
  with(...values: readonly string[]): Child;
}

/** A value that is read at each scrape: label values and number. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
}

interface Metric {
  readonly options: MetricOptions;
  readonly type: string;
  /** Appends the values; `undefined` for a metric that is not shown. */
  readonly print: ((lines: string[]) => void) | undefined;
}

class CounterChild implements Counter {
  value = 0;

  add(by = 1): void {
    this.value += by;
  }
}

class GaugeChild extends CounterChild implements Gauge {
  set(value: number): void {
    this.value = value;
  }
}

class HistogramChild implements Histogram {
  readonly #bounds: readonly number[];
  /** The counts of the buckets, not cumulative; the last one is `+Inf`. */
  readonly counts: number[];
  sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    // A list takes a third of the memory of a typed array: there are hundreds of children for each control plane.
    this.counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  observe(value: number, times = 1): void {
    const bounds = this.#bounds;
    let index = 0;
    while (index < bounds.length && value > bounds[index]!) index++;
    this.counts[index]! += times;
    this.sum += value * times;
  }
}

/** A child with its label values. */
interface Series<Child> {
  readonly values: readonly string[];
  readonly child: Child;
}

class Children<Child> implements Family<Child> {
  readonly labels: readonly string[];
  readonly #options: MetricOptions;
  readonly #make: () => Child;
  readonly #seriesMax: number;
  /** The number of refused label sets since the last search for obsolete ones. */
  #refusals = 0;
  /** The children by their label values. It is made with the first one: most metrics of a control plane are never used. */
  #all: Map<string, Series<Child>> | undefined;

  constructor(options: MetricOptions, make: () => Child) {
    this.labels = options.labels ?? [];
    this.#options = options;
    this.#make = make;
    this.#seriesMax = options.seriesMax ?? 5000;
    if (this.labels.length === 0) this.with();
  }

  /** The children, with their label values. */
  get all(): Iterable<Series<Child>> {
    return this.#all?.values() ?? [];
  }

  with(...values: readonly string[]): Child {
    if (values.length !== this.labels.length) throw new Error(`wanted ${this.labels.length} label values`);
    const all = (this.#all ??= new Map<string, Series<Child>>());
    const key = values.join("\u0000");
    const series = all.get(key);
    if (series !== undefined) return series.child;
    if (!isOther(values) && !this.#hasRoom(all)) return this.with(...values.map(() => "other"));
    const child = this.#make();
    const own = values.map(ownText);
    all.set(own.join("\u0000"), { values: own, child });
    return child;
  }

  /** Returns whether another label set fits. Searches for obsolete label sets rarely, since there may be none. */
  #hasRoom(all: ReadonlyMap<string, Series<Child>>): boolean {
    if (all.size < this.#seriesMax) return true;
    if (this.#refusals++ % this.#seriesMax === 0) this.dropGone();
    return all.size < this.#seriesMax;
  }

  dropGone(): void {
    const all = this.#all;
    if (this.#options.isThere === undefined || all === undefined) return;
    const before = all.size;
    for (const [key, { values }] of all) {
      if (!isOther(values) && !this.#options.isThere(values)) all.delete(key);
    }
    if (all.size < before) this.#options.dropped?.();
  }
}

const isOther = (values: readonly string[]): boolean => values.every((value) => value === "other");

export class Metrics {
  readonly #metrics = new Map<string, Metric>();
  readonly #ahead: (() => void)[] = [];
  #hidden = 0;
  #disabled = 0;
  #unexpected = 0;
  readonly #shown: ShownMetrics;

  constructor(shown: ShownMetrics = {}) {
    this.#shown = shown;
  }

  counter(options: MetricOptions): Family<Counter> {
    const { children, family } = this.#family<CounterChild, Counter>(
      options,
      () => new CounterChild(),
      (child, used) => ({
        add(by) {
          used();
          child.add(by);
        },
      }),
    );
    this.#add(options, "counter", (lines) => printValues(options.name, children, lines));
    return family;
  }

  gauge(options: MetricOptions): Family<Gauge> {
    const { children, family } = this.#family<GaugeChild, Gauge>(
      options,
      () => new GaugeChild(),
      (child, used) => ({
        add(by) {
          used();
          child.add(by);
        },
        set(value) {
          used();
          child.set(value);
        },
      }),
    );
    this.#add(options, "gauge", (lines) => printValues(options.name, children, lines));
    return family;
  }

  histogram(options: HistogramOptions): Family<Histogram> {
    const { children, family } = this.#family<HistogramChild, Histogram>(
      options,
      () => new HistogramChild(options.buckets),
      (child, used) => ({
        observe(value, times) {
          used();
          child.observe(value, times);
        },
      }),
    );
    this.#add(options, "histogram", (lines) => printHistograms(options, children, lines));
    if (options.former !== undefined) {
      const former = { ...options, ...options.former };
      this.#add(former, "histogram", (lines) => printHistograms(former, children, lines));
    }
    return family;
  }

  summary(options: SummaryOptions): Family<Summary> {
    const { children, family } = this.#family<QuantileSummary, Summary>(options, options.make, (child, used) => ({
      observe(value, nowMs, times) {
        used();
        child.observe(value, nowMs, times);
      },
    }));
    this.#add(options, "summary", (lines) => printSummaries(options, children, lines));
    return family;
  }

  /** Adds a metric whose values are read at every scrape. Those whose labels become the same are added up. */
  observable(options: MetricOptions & { readonly type: "counter" | "gauge" }, read: () => readonly Sample[]): void {
    const filter = this.#filterOf(options);
    const readShown = filter === undefined ? read : () => this.#restricted(filter, read());
    this.#add(options, options.type, (lines) => {
      for (const { labels, value } of readShown()) {
        lines.push(`${options.name}${printLabels(options.labels ?? [], labels)} ${printNumber(value)}`);
      }
    });
  }

  /** Adds a callback that updates values at each scrape before printing. */
  beforePrint(callback: () => void): void {
    this.#ahead.push(callback);
  }

  /** Returns all metrics as text, in the order of their names. */
  print(): string {
    for (const callback of this.#ahead) callback();
    const lines: string[] = [];
    const byName = [...this.#metrics].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [, metric] of byName) this.#print(metric, lines);
    return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
  }

  get counts(): MetricCounts {
    const levels = this.#metrics
      .values()
      .flatMap(({ options, print }) => (print === undefined ? [] : [levelOf(options)]));
    const byLevel = Map.groupBy(levels, ([level, version]) => `${level} ${version}`);
    const shown = [...byLevel.values()].map((alike) => ({ labels: alike[0]!, value: alike.length })); // a group has one
    return { hidden: this.#hidden, disabled: this.#disabled, unexpected: this.#unexpected, shown };
  }

  #filterOf({ name, labels = [] }: MetricOptions): LabelFilter | undefined {
    const allowed = this.#shown.allowedLabels?.get(name);
    return allowed === undefined ? undefined : new LabelFilter(labels, allowed);
  }

  /**
   * Returns the children of a metric, and the family that hands them out. `counted` makes a child that calls `used` at
   * each use, for values that are not allowed.
   */
  #family<Child extends Face, Face>(
    options: MetricOptions,
    make: () => Child,
    counted: (child: Child, used: () => void) => Face,
  ): { readonly children: Children<Child>; readonly family: Family<Face> } {
    const filter = this.#filterOf(options);
    if (filter === undefined) {
      const children = new Children(options, make);
      return { children, family: children };
    }
    const { isThere } = options;
    const children = new Children(
      isThere === undefined
        ? options
        : { ...options, isThere: (values) => filter.isReplacement(values) || isThere(values) },
      make,
    );
    return {
      children,
      family: {
        with: (...values) => {
          const { shown, replaced } = filter.restrict(values);
          const child = children.with(...shown);
          return replaced === 0 ? child : counted(child, () => (this.#unexpected += replaced));
        },
      },
    };
  }

  #restricted(filter: LabelFilter, samples: readonly Sample[]): readonly Sample[] {
    const sums = new Map<string, Sample>();
    for (const { labels, value } of samples) {
      const { shown, replaced } = filter.restrict(labels);
      this.#unexpected += replaced;
      const key = shown.join("\u0000");
      sums.set(key, { labels: shown, value: (sums.get(key)?.value ?? 0) + value });
    }
    return [...sums.values()];
  }

  /** Whether a metric is shown; counts it as hidden or disabled if it is not. */
  #isShown({ name, deprecated }: MetricOptions): boolean {
    const { minor, showsHidden = false, disabled = [] } = this.#shown;
    const isDisabled = disabled.includes(name);
    const isOld = deprecated !== undefined && minor !== undefined && !showsHidden && isHidden(deprecated, minor);
    if (isDisabled) this.#disabled += 1;
    else if (isOld) this.#hidden += 1;
    return !isDisabled && !isOld;
  }

  /** Returns the help with a stability level. Only servers show it: a metric that names none is an alpha one. */
  #staged({ help, isUnstaged }: MetricOptions): string {
    return this.#shown.minor === undefined || isUnstaged === true || help.startsWith("[") ? help : `[ALPHA] ${help}`;
  }

  #add(options: MetricOptions, type: string, print: (lines: string[]) => void): void {
    const { name } = options;
    if (this.#metrics.has(name)) throw new Error(`metric ${name} exists`);
    this.#metrics.set(name, this.#isShown(options) ? { options, type, print } : { options, type, print: undefined });
  }

  /** Appends the lines of a metric, unless it has no values. */
  #print({ options, type, print }: Metric, lines: string[]): void {
    const { name, deprecated } = options;
    const help =
      deprecated === undefined ? this.#staged(options) : `(Deprecated from 1.${deprecated.minor}) ${options.help}`;
    const before = lines.length;
    lines.push(`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`, `# TYPE ${name} ${type}`);
    print?.(lines);
    if (lines.length === before + 2) lines.length = before;
  }
}

/** Returns the stability level of a metric, and the version that deprecated it; empty when none did. */
function levelOf({ help, deprecated }: MetricOptions): readonly [level: string, version: string] {
  const [, level = deprecated?.stability.toUpperCase() ?? "ALPHA"] = /^\[([A-Z]+)\]/.exec(help) ?? [];
  return [level, deprecated === undefined ? "" : `1.${deprecated.minor}.0`];
}

function printValues(name: string, children: Children<CounterChild>, lines: string[]): void {
  children.dropGone();
  for (const { values, child } of children.all) {
    lines.push(`${name}${printLabels(children.labels, values)} ${printNumber(child.value)}`);
  }
}

function printHistograms(options: HistogramOptions, children: Children<HistogramChild>, lines: string[]): void {
  const { name, buckets } = options;
  const names = [...children.labels, "le"];
  children.dropGone();
  for (const { values, child } of children.all) {
    let sum = 0;
    for (const [index, count] of child.counts.entries()) {
      sum += count;
      const bound = index < buckets.length ? printNumber(buckets[index]!) : "+Inf";
      lines.push(`${name}_bucket${printLabels(names, [...values, bound])} ${sum}`);
    }
    lines.push(`${name}_sum${printLabels(children.labels, values)} ${printNumber(child.sum)}`);
    lines.push(`${name}_count${printLabels(children.labels, values)} ${sum}`);
  }
}

function printSummaries(options: SummaryOptions, children: Children<QuantileSummary>, lines: string[]): void {
  const { name, quantiles } = options;
  const names = [...children.labels, "quantile"];
  children.dropGone();
  for (const { values, child } of children.all) {
    for (const quantile of quantiles) {
      const value = child.quantile(quantile, options.now());
      lines.push(`${name}${printLabels(names, [...values, String(quantile)])} ${printNumber(value)}`);
    }
    lines.push(`${name}_sum${printLabels(children.labels, values)} ${printNumber(child.sum)}`);
    lines.push(`${name}_count${printLabels(children.labels, values)} ${child.count}`);
  }
}

function printLabels(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return "";
  return `{${names.map((name, i) => `${name}="${escapeLabel(values[i] ?? "")}"`).join(",")}}`;
}

const escapeLabel = (value: string): string =>
  value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");

/** Returns a number as the text format has it. */
export function printNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
