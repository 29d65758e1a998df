/** Differences that `npm run differ -- --pairs` passes over, each with its reason: those that `docs/compatibility.md` has. */

interface Excuse {
  /** Left out: of every kind. */
  readonly resource?: string;
  /** Every line of ours that differs matches one of these. */
  readonly ours: readonly RegExp[];
  /** The same of the other server. */
  readonly theirs: readonly RegExp[];
}

const excuses: readonly Excuse[] = [];

/** Whether all lines by which two answers differ are excused. The first line of each is its code. */
export function isExcused(resource: string, [ours = "", theirs = ""]: readonly string[]): boolean {
  if (ours === theirs) return false;
  return excuses.some((excuse) => {
    if (excuse.resource !== undefined && excuse.resource !== resource) return false;
    const fits = (text: string, patterns: readonly RegExp[]): boolean =>
      text.split("\n").every((line) => patterns.some((pattern) => pattern.test(line)));
    return fits(ours, excuse.ours) && fits(theirs, excuse.theirs);
  });
}
