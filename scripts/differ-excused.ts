/** Differences that `npm run differ -- --pairs` passes over, each with its reason: those that `docs/compatibility.md` has. */

interface Excuse {
  /** Left out: of every kind. */
  readonly resource?: string;
  /** Every line of ours that differs matches one of these. */
  readonly ours: readonly RegExp[];
  /** The same of the other server. */
  readonly theirs: readonly RegExp[];
  /** The request has to match this; when it is left out, any request does. */
  readonly sent?: RegExp;
}

/** A value that is empty in one of the ways there are, as a member or an item. */
const emptyValue = /[:[,](?:\[\]|\{\}|""|null)(?=[\]},])/;

const excuses: readonly Excuse[] = [
  // A class of attributes may change before the claim is bound (PVC-34 of the requirements).
  {
    resource: "persistentvolumeclaims",
    ours: [/^20\d /, /^422 Invalid$/],
    theirs: [/^422 Invalid$/, /^FieldValueForbidden spec: Forbidden: spec is immutable after creation/],
  },
  // Conditions and changes of a claim's status say what they are about (PVC-54 and PVC-59).
  {
    resource: "persistentvolumeclaims",
    ours: [
      /^422 Invalid$/,
      /^FieldValueRequired status\.(?:conditions\[\d+\]\.(?:type|status)|modifyVolumeStatus\.status): Required value$/,
    ],
    theirs: [/^20\d /, /^422 Invalid$/],
  },
  // Go prints this field as a struct with addresses.
  {
    resource: "persistentvolumeclaims",
    ours: [/^422 Invalid$/, /^FieldValueInvalid spec: Invalid value: "spec\.dataSource": must match dataSourceRef/],
    theirs: [/^422 Invalid$/, /^FieldValueInvalid spec: Invalid value: \.\.\.: must match dataSourceRef/],
  },
  // Errors about secrets do not show values.
  {
    resource: "secrets",
    ours: [
      /^422 Invalid$/,
      /^FieldValueInvalid type: Invalid value: field is immutable$/,
      /^what was given is not shown, since objects of this kind are confidential$/,
    ],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueInvalid type: Invalid value: "[\w./-]*": field is immutable$/,
      /^the server rejected our request due to an error in our request$/,
    ],
  },
  // An object that cannot be applied is the client's mistake.
  { ours: [/^400 BadRequest$/], theirs: [/^500 $/] },
  // Terms that mean the same are findings in another number.
  {
    resource: "storageclasses",
    ours: [/^422 Invalid$/],
    theirs: [
      /^422 Invalid$/,
      /^FieldValueDuplicate allowedTopologies\[\d+\]\.matchLabelExpressions: Duplicate value: "" \(\d+\)$/,
    ],
  },
  // The first write without changes of a new claim.
  {
    resource: "persistentvolumeclaims",
    ours: [/^200 $/, /^resourceVersion: as before$/],
    theirs: [/^200 $/, /^resourceVersion: another$/],
  },
  // Empty bytes, lists and objects where there were none are no change: they are stored in the same way.
  {
    sent: emptyValue,
    ours: [/^200 $/, /^resourceVersion: as before$/, /^\.metadata\.generation = \d+$/],
    theirs: [/^200 $/, /^resourceVersion: another$/, /^\.metadata\.generation = \d+$/],
  },
];

/** Whether all lines by which two answers differ are excused. The first line of each is its code. */
export function isExcused(resource: string, [ours = "", theirs = ""]: readonly string[], sent: unknown): boolean {
  if (ours === theirs) return false;
  return excuses.some((excuse) => {
    if (excuse.resource !== undefined && excuse.resource !== resource) return false;
    if (excuse.sent?.test(JSON.stringify(sent)) === false) return false;
    const fits = (text: string, patterns: readonly RegExp[]): boolean =>
      text.split("\n").every((line) => patterns.some((pattern) => pattern.test(line)));
    return fits(ours, excuse.ours) && fits(theirs, excuse.theirs);
  });
}
