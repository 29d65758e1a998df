/**
 * Durations as Go reads and prints them: `300ms`, `1.5h`, `1m0s`. Source: Go's `time.ParseDuration` and
 * `Duration.String`.
 */

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  "\u00b5s": 1000n,
  "\u03bcs": 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Returns nanoseconds, or an error in Go's words. */
export function parseDuration(text: string): bigint | string {
  const invalid = `time: invalid duration ${JSON.stringify(text)}`;
  const match = /^([+-]?)(.*)$/s.exec(text)!;
  let rest = match[2]!;
  if (rest === "0") return 0n;
  if (rest === "" || rest.length > 1000) return invalid;
  let total = 0n;
  while (rest !== "") {
    const number = /^(\d*)(?:\.(\d*))?/.exec(rest)!;
    const [all, whole = "", fraction = ""] = number;
    if (whole === "" && fraction === "") return invalid;
    rest = rest.slice(all.length);
    const unit = /^[^\d.]*/.exec(rest)![0];
    if (unit === "") return `time: missing unit in duration ${JSON.stringify(text)}`;
    const scale = Object.hasOwn(units, unit) ? units[unit]! : undefined;
    if (scale === undefined) return `time: unknown unit ${JSON.stringify(unit)} in duration ${JSON.stringify(text)}`;
    rest = rest.slice(unit.length);
    total += BigInt(whole === "" ? "0" : whole) * scale;
    const digits = fraction.slice(0, 18);
    if (digits !== "") total += (BigInt(digits) * scale) / 10n ** BigInt(digits.length);
    if (total > 1n << 63n) return invalid;
  }
  if (match[1] === "-") return -total;
  return total > (1n << 63n) - 1n ? invalid : total;
}

/** Returns Go's text for a duration in nanoseconds. */
export function formatDuration(nanos: bigint): string {
  if (nanos === 0n) return "0s";
  const sign = nanos < 0n ? "-" : "";
  const value = nanos < 0n ? -nanos : nanos;
  if (value < 1000n) return `${sign}${value}ns`;
  if (value < 1_000_000n) return `${sign}${decimal(value, 1000n)}\u00b5s`;
  if (value < 1_000_000_000n) return `${sign}${decimal(value, 1_000_000n)}ms`;
  const minutes = value / 60_000_000_000n;
  const seconds = `${decimal(value % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return sign + seconds;
  return minutes < 60n ? `${sign}${minutes}m${seconds}` : `${sign}${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const fraction = (value % unit)
    .toString()
    .padStart(unit.toString().length - 1, "0")
    .replace(/0+$/, "");
  return fraction === "" ? `${value / unit}` : `${value / unit}.${fraction}`;
}

/** Returns the text that Go would write for a duration; `undefined` when the text is not a duration. */
export function canonicalDuration(text: string): string | undefined {
  const nanos = parseDuration(text);
  return typeof nanos === "string" ? undefined : formatDuration(nanos);
}

/** Returns milliseconds; `undefined` when the text is not a duration. */
export function parseGoDuration(text: string): number | undefined {
  const nanos = parseDuration(text);
  return typeof nanos === "string" ? undefined : Number(nanos) / 1e6;
}

/** A time in milliseconds, or a text such as `"30s"` or `"1h30m"`. */
export type WaitTime = number | string;

/** Returns the milliseconds of a time. Throws `RangeError` for one that cannot be waited for. */
export function millisecondsOf(time: WaitTime): number {
  const ms = typeof time === "number" ? time : parseGoDuration(time);
  if (ms === undefined || !(ms >= 0)) {
    throw new RangeError(`invalid duration ${JSON.stringify(time)}: write milliseconds, or "30s" or "1h30m"`);
  }
  return ms;
}

/** Returns Go's text for a duration in milliseconds: `1h0m0s`, `1.5s`, `20ms`, `0s`. */
export const printGoDuration = (ms: number): string => formatDuration(BigInt(Math.round(ms * 1e6)));
