/**
 * How many watches a write reaches: counted by what they watch, a kind, a namespace of it, or one object. Source:
 * upstream's `watch_tracker`; selectors that are no name are not told apart.
 */
import type { FlowTarget } from "./flow-request.ts";

export class WatchCounts {
  readonly #counts = new Map<string, number>();

  /** A watch began; the returned function is called when it ends. */
  began(target: FlowTarget): () => void {
    const key = keyOf(target, target.namespace, target.name);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return () => {
      const left = this.#counts.get(key)! - 1; // counted above
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    };
  }

  /** Watches that see a write. */
  seeing(target: FlowTarget): number {
    if (this.#counts.size === 0) return 0;
    const { namespace, name } = target;
    let count = this.#of(target, "", "");
    if (namespace !== "") count += this.#of(target, namespace, "");
    if (name !== "") {
      count += this.#of(target, "", name);
      if (namespace !== "") count += this.#of(target, namespace, name);
    }
    return count;
  }

  #of(target: FlowTarget, namespace: string, name: string): number {
    return this.#counts.get(keyOf(target, namespace, name)) ?? 0;
  }
}

const keyOf = ({ group, resource }: FlowTarget, namespace: string, name: string): string =>
  `${group}/${resource}/${namespace}/${name}`;
