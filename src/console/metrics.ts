/** The metrics of a server, read from its page in the text format of Prometheus. */
import type { Api } from "./api.ts";

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** The samples by the name of their metric. */
export class MetricsPage {
  readonly #samples = new Map<string, Sample[]>();

  constructor(text: string) {
    for (const line of text.split("\n")) {
      const [, name, inner = "", value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      if (name === undefined) continue;
      const labels = Object.fromEntries(
        Array.from(inner.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g), ([, key = "", one = ""]) => [key, unescaped(one)]),
      );
      const samples = this.#samples.get(name);
      const sample = { labels, value: Number(value) };
      if (samples === undefined) this.#samples.set(name, [sample]);
      else samples.push(sample);
    }
  }

  samples(name: string): readonly Sample[] {
    return this.#samples.get(name) ?? [];
  }

  /** Returns the sum of the samples that are wanted; 0 if there are none. */
  sum(name: string, isWanted: (labels: Labels) => boolean = () => true): number {
    return this.samples(name).reduce((all, { labels, value }) => (isWanted(labels) ? all + value : all), 0);
  }

  /** Returns the upper bound of the bucket of a histogram that a share of all observations does not exceed. */
  quantile(name: string, share: number, isWanted: (labels: Labels) => boolean): number | undefined {
    const buckets = new Map<number, number>();
    for (const { labels, value } of this.samples(`${name}_bucket`)) {
      if (!isWanted(labels)) continue;
      const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
      buckets.set(bound, (buckets.get(bound) ?? 0) + value);
    }
    const all = buckets.get(Infinity) ?? 0;
    if (all === 0) return undefined;
    return [...buckets].sort(([one], [other]) => one - other).find(([, count]) => count >= share * all)?.[0];
  }
}

const unescaped = (text: string): string => text.replace(/\\(.)/g, (_, one: string) => (one === "n" ? "\n" : one));

/** Rejects with `ApiFailure`, also where the user may not read metrics. */
export const readMetrics = async (api: Api, abort: AbortSignal): Promise<MetricsPage> =>
  new MetricsPage(await api.text({ path: "/metrics", accept: "text/plain", signal: abort }));
