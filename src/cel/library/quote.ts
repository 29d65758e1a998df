/** Implements `strings.quote`, which returns a text as a literal of the language. */

const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  "\\": "\\\\",
  '"': '\\"',
};

/** Returns the text in double quotes with escapes. An unpaired surrogate becomes U+FFFD. */
export const quoteString = (text: string): string =>
  `"${text.toWellFormed().replace(/[\u0007\b\f\n\r\t\v\\"]/g, (char) => escapes[char]!)}"`;
