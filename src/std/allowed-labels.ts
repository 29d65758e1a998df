/**
 * Lists of the values that a label of a metric may have. Every other value is recorded as `unexpected`, so that an
 * operator can bound a metric with too many label sets. Source: the answers of kube-apiserver.
 */

/** The values by label, by metric. A label without an entry may have any value. */
export type AllowedLabels = ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>;

const unexpected = "unexpected";

/** The label values of one metric, restricted to those that are allowed. */
export class LabelFilter {
  readonly #allowed: readonly (ReadonlySet<string> | undefined)[];

  constructor(labels: readonly string[], allowed: ReadonlyMap<string, ReadonlySet<string>>) {
    this.#allowed = labels.map((label) => allowed.get(label));
  }

  /** Returns the values as they are recorded, and how many of them were replaced. */
  restrict(values: readonly string[]): { readonly shown: readonly string[]; readonly replaced: number } {
    const shown = values.map((value, i) => (this.#allowed[i]?.has(value) === false ? unexpected : value));
    return { shown, replaced: shown.filter((value, i) => value !== values[i]).length };
  }

  /** Whether these recorded values stand for others. */
  isReplacement = (shown: readonly string[]): boolean =>
    shown.some((value, i) => value === unexpected && this.#allowed[i]?.has(value) === false);
}
