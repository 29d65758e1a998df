/** Samples of a metrics page in the text format of Prometheus. */

interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of metrics by name. */
export class Samples {
  readonly #byName = new Map<string, MetricSample[]>();
  /** Whether the page could be read. */
  readonly isKnown: boolean;

  /** `text` is `undefined` where the page cannot be read. */
  constructor(text: string | undefined) {
    this.isKnown = text !== undefined;
    for (const line of (text ?? "").split("\n")) {
      const [, name, labels = "", value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      if (name === undefined) continue;
      const sample = { labels: labelsOf(labels), value: Number(value) };
      const before = this.#byName.get(name);
      if (before === undefined) this.#byName.set(name, [sample]);
      else before.push(sample);
    }
  }

  of(name: string): readonly MetricSample[] {
    return this.#byName.get(name) ?? [];
  }

  /** Returns the sums of a metric by one of its labels. */
  sumBy(
    name: string,
    label: string,
    counts: (sample: MetricSample) => boolean = () => true,
  ): ReadonlyMap<string, number> {
    const sums = new Map<string, number>();
    for (const sample of this.of(name)) {
      const key = sample.labels[label];
      if (key !== undefined && counts(sample)) sums.set(key, (sums.get(key) ?? 0) + sample.value);
    }
    return sums;
  }
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = Object.create(null);
  for (const [, name = "", value = ""] of text.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
    labels[name] = value.replace(/\\(.)/g, (_, char: string) => (char === "n" ? "\n" : char));
  }
  return labels;
}
