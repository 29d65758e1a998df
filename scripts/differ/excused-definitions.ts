/**
 * The documented differences that `npm run differ -- --definitions` finds, as changes of both answers. Each has a row
 * in docs/compatibility.md.
 */

const excused: readonly (readonly [form: RegExp, same: string])[] = [
  // Messages show Go structures as JSON.
  [
    /Invalid value: (?:\[\]|map\[string\]interface \{\}|apiextensions\.|\[)[^\n]*?: (?=only \[|must |should )/g,
    "Invalid value: (...): ",
  ],
  // The message shows the patched object, with values that servers choose.
  [/patch: Invalid value: "(?:[^"\\]|\\.)*": /g, "patch: Invalid value: (...): "],
  // kube-apiserver 1.32 names a random one of several undeclared members.
  [/\): [^\n]*: field not declared in schema/g, "): field not declared in schema"],
  // Mistakes of the client in an apply are answered with 400.
  [/^(?:400 BadRequest|500 )\n(failed to (?:create typed patch object|convert new object))/, "400\n$1"],
];

/** Returns the text of an answer without documented differences. */
export const withoutExcused = (text: string): string =>
  excused.reduce((result, [form, same]) => result.replace(form, same), text);
