/** The order in which upstream writes the keys of a YAML mapping. */

const isLetter = (char: string): boolean => /\p{L}/u.test(char);
const isDigit = (char: string | undefined): boolean => char !== undefined && /\p{Nd}/u.test(char);

/** Compares keys in upstream's order: numbers inside of texts by value, letters after everything else. */
export function compareKeys(left: string, right: string): number {
  const a = [...left];
  const b = [...right];
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const x = a[i]!;
    const y = b[i]!;
    if (x === y) continue;
    const xLetter = isLetter(x);
    const yLetter = isLetter(y);
    if (xLetter && yLetter) return x < y ? -1 : 1;
    if (xLetter || yLetter) return yLetter ? -1 : 1;
    return compareNumbers(a, b, i) || (x < y ? -1 : 1);
  }
  return a.length - b.length;
}

/** Compares the numbers that begin at `at`. Returns 0 if they are equal. */
function compareNumbers(a: readonly string[], b: readonly string[], at: number): number {
  let x = 0n;
  let y = 0n;
  if (a[at] === "0" || b[at] === "0") {
    // A zero after a digit other than zero continues a number of which both texts share the beginning.
    for (let i = at - 1; i >= 0 && isDigit(a[i]); i--) {
      if (a[i] !== "0") {
        x = 1n;
        y = 1n;
        break;
      }
    }
  }
  let i = at;
  for (; isDigit(a[i]); i++) x = BigInt.asIntN(64, x * 10n + BigInt(a[i]!.codePointAt(0)! - 48));
  let j = at;
  for (; isDigit(b[j]); j++) y = BigInt.asIntN(64, y * 10n + BigInt(b[j]!.codePointAt(0)! - 48));
  if (x !== y) return x < y ? -1 : 1;
  return i - j;
}
