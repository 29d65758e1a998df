/** The preference order of API versions. */

/** Compares texts by code unit, as Go compares ASCII. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Stable versions first, then beta, then alpha, higher numbers first: v10, v2, v1, v11beta2, v1beta1, v1alpha10. Other
 * names are last, by name. Source: upstream's `util/version`, `CompareKubeAwareVersionStrings`.
 */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0;
  const x = parseVersion(a);
  const y = parseVersion(b);
  if (x === undefined || y === undefined) {
    return x === undefined && y === undefined ? compareTexts(a, b) : x === undefined ? 1 : -1;
  }
  return y.stability - x.stability || y.major - x.major || y.minor - x.minor;
}

interface ParsedVersion {
  readonly stability: number;
  readonly major: number;
  readonly minor: number;
}

function parseVersion(text: string): ParsedVersion | undefined {
  const match = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(text);
  if (match === null) return undefined;
  const stability = match[2] === undefined ? 2 : match[2] === "beta" ? 1 : 0;
  return { stability, major: Number(match[1]), minor: Number(match[3] ?? 0) };
}
