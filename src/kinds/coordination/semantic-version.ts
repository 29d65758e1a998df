/** Semantic versions, and their order. Source: semver.org 2.0.0; numbers have 64 bits. */

interface SemanticVersion {
  readonly numbers: readonly bigint[];
  /** The identifiers after the dash; a number for an identifier of digits alone. */
  readonly before: readonly (bigint | string)[];
}

const number = "(0|[1-9][0-9]*)";
const form = new RegExp(`^${number}\\.${number}\\.${number}(?:-([^+]*))?(?:\\+(.*))?$`, "s");
const identifier = /^[0-9A-Za-z-]+$/;
const digits = /^[0-9]+$/;

/** Parses a version. Returns `undefined` for other texts. */
export function parseVersion(text: string): SemanticVersion | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [, major = "", minor = "", patch = "", before, build] = match;
  const parts = before?.split(".") ?? [];
  const isRight =
    [...parts, ...(build?.split(".") ?? [])].every((part) => identifier.test(part)) &&
    !parts.some((part) => part.length > 1 && part.startsWith("0") && digits.test(part));
  const version: SemanticVersion = {
    numbers: [major, minor, patch].map(BigInt),
    before: parts.map((part) => (digits.test(part) ? BigInt(part) : part)),
  };
  const all = [...version.numbers, ...version.before];
  const fits = all.every((part) => typeof part === "string" || BigInt.asUintN(64, part) === part);
  return isRight && fits ? version : undefined;
}

const zero: SemanticVersion = { numbers: [0n, 0n, 0n], before: [] };

/** Compares two versions by their precedence; `undefined` counts as 0.0.0. */
export function compareVersions(one: SemanticVersion = zero, other: SemanticVersion = zero): number {
  for (const [at, value] of one.numbers.entries()) {
    const order = compare(value, other.numbers[at]!); // both have three numbers
    if (order !== 0) return order;
  }
  if (one.before.length === 0 || other.before.length === 0) return other.before.length - one.before.length;
  for (const [at, value] of one.before.entries()) {
    const against = other.before[at];
    if (against === undefined) return 1;
    // Numbers come before texts.
    const order = typeof value === typeof against ? compare(value, against) : typeof value === "bigint" ? -1 : 1;
    if (order !== 0) return order;
  }
  return one.before.length - other.before.length;
}

const compare = (one: bigint | string, other: bigint | string): number => (one < other ? -1 : one > other ? 1 : 0);

/** Whether a version equals 0.0.0; `undefined` does. */
export const isZeroVersion = (version: SemanticVersion | undefined): boolean => compareVersions(version) === 0;
