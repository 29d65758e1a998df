/** Escapes the names of properties for expressions. Source: the documentation of validation rules in Kubernetes. */

/** The reserved words of the language. A property with such a name is spelled `__namespace__`. */
const reserved: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "in",
  "as",
  "break",
  "const",
  "continue",
  "else",
  "for",
  "function",
  "if",
  "import",
  "let",
  "loop",
  "package",
  "namespace",
  "return",
  "var",
  "void",
  "while",
]);

const escapes: Readonly<Record<string, string>> = {
  __: "__underscores__",
  ".": "__dot__",
  "-": "__dash__",
  "/": "__slash__",
};

/** Whether a name is a reserved word of the language. */
export const isReserved = (name: string): boolean => reserved.has(name);

/**
 * Returns the name of a property in expressions, such as `a__dash__b` for `a-b`; `undefined` if expressions cannot name
 * it.
 */
export function fieldName(property: string): string | undefined {
  if (reserved.has(property)) return `__${property}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(property)) return undefined;
  return property.replace(/__|[.\-/]/g, (match) => escapes[match]!);
}
