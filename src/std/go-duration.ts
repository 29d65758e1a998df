/** Durations as Go prints and reads them: `300ms`, `1.5h`, `1m0s`. Source: Go's `time.ParseDuration`. */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** Go counts nanoseconds in 63 bits: 292 years. */
const maxMs = 2 ** 63 / 1e6;

/** Milliseconds of a duration text; `undefined` when it is none, or longer than Go can say. `0` needs no unit. */
export function parseGoDuration(text: string): number | undefined {
  const match = /^([+-]?)(.+)$/.exec(text);
  if (match === null || text.length > 64) return undefined;
  const rest = match[2]!;
  if (rest === "0") return 0;
  if (!/^(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(rest)) return undefined;
  let sum = 0;
  for (const [, count, unit] of rest.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g)) {
    sum += Number(count) * unitMs[unit!]!;
  }
  if (sum >= maxMs) return undefined;
  return match[1] === "-" ? -sum : sum;
}

/** Go's form of a duration in whole milliseconds: `1h0m0s`, `1.5s`, `20ms`, `0s`. */
export function printGoDuration(ms: number): string {
  if (ms === 0) return "0s";
  const sign = ms < 0 ? "-" : "";
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${size}ms`;
  const hours = Math.floor(size / 3_600_000);
  const minutes = Math.floor(size / 60_000) % 60;
  const seconds = `${(size % 60_000) / 1000}s`;
  if (hours > 0) return `${sign}${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${sign}${minutes}m${seconds}` : `${sign}${seconds}`;
}
