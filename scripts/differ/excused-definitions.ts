/** Documented differences that `npm run differ -- --definitions` meets, as changes of both answers: docs/compatibility.md has a row for each. */

const excused: readonly (readonly [form: RegExp, same: string])[] = [
  // Go structures in messages are shown as JSON.
  [
    /Invalid value: (?:\[\]|map\[string\]interface \{\}|apiextensions\.|\[)[^\n]*?: (?=only \[|must |should )/g,
    "Invalid value: (...): ",
  ],
  // The patched object is shown, with what servers choose.
  [/patch: Invalid value: "(?:[^"\\]|\\.)*": /g, "patch: Invalid value: (...): "],
  // kube-apiserver 1.32 names any one of several undeclared members.
  [/\): [^\n]*: field not declared in schema/g, "): field not declared in schema"],
  // Client mistakes in an apply are answered with 400.
  [/^(?:400 BadRequest|500 )\n(failed to (?:create typed patch object|convert new object))/, "400\n$1"],
];

/** The text of an answer without what is documented to differ. */
export const withoutExcused = (text: string): string =>
  excused.reduce((shown, [form, same]) => shown.replace(form, same), text);
