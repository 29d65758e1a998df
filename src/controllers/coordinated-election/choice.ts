/** Chooses the leader of a coordinated election. Pure functions. */
import type { LeaseCandidate } from "#api/coordination/v1alpha2.ts";

/** Returns the strategy of the candidates with the newest programs; `undefined` when they do not agree. */
export function strategyOf(candidates: readonly LeaseCandidate[]): string | undefined {
  const newest = candidates.reduce<readonly LeaseCandidate[]>((best, one) => {
    const order = best[0] === undefined ? 1 : compare(one.spec.binaryVersion, best[0].spec.binaryVersion);
    return order > 0 ? [one] : order < 0 ? best : [...best, one];
  }, []);
  const strategies = new Set(newest.map(({ spec }) => spec.strategy));
  return strategies.size === 1 ? newest[0]?.spec.strategy : undefined;
}

/**
 * Returns the candidate with the oldest emulation version, of these the one with the oldest program, and of these the
 * one created first.
 */
export function best(candidates: readonly LeaseCandidate[]): LeaseCandidate | undefined {
  return candidates.toSorted(
    (one, other) =>
      compare(emulationVersionOf(one), emulationVersionOf(other)) ||
      compare(one.spec.binaryVersion, other.spec.binaryVersion) ||
      texts(one.metadata.creationTimestamp ?? "", other.metadata.creationTimestamp ?? "") ||
      texts(one.metadata.name ?? "", other.metadata.name ?? ""),
  )[0];
}

const emulationVersionOf = ({ spec }: LeaseCandidate): string => spec.emulationVersion ?? spec.binaryVersion;

const texts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Compares semantic versions by their first three numbers; other texts are the oldest. */
function compare(one: string, other: string): number {
  const [left, right] = [one, other].map(
    (text) => /^v?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text)?.slice(1).map(Number) ?? [],
  );
  for (const at of [0, 1, 2]) {
    const difference = (left?.[at] || 0) - (right?.[at] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
