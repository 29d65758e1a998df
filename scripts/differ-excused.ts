/** Differences that `npm run differ -- --pairs` passes over, each with its reason: those that `docs/compatibility.md` has. */

interface Excuse {
  /** Left out: of every kind. */
  readonly resource?: string;
  /** Every line of ours that differs matches one of these. */
  readonly ours: readonly RegExp[];
  /** The same of the other server. */
  readonly theirs: readonly RegExp[];
}

const excuses: readonly Excuse[] = [
  // A class of attributes may change before the claim is bound (PVC-34 of the requirements).
  {
    resource: "persistentvolumeclaims",
    ours: [/./],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden spec: Forbidden: spec is immutable after creation/],
  },
  // What cannot be applied is the client's mistake.
  { ours: [/^400 BadRequest$/], theirs: [/^500 $/] },
  // Empty bytes, lists and objects where there were none are no change: they are stored in the same way.
  {
    ours: [/^20\d /, /^resourceVersion as before$/, /^\.metadata\.generation = /, /^\.owners\./],
    theirs: [/^20\d /, /^resourceVersion is another$/, /^\.metadata\.generation = /, /^\.owners\./],
  },
];

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
