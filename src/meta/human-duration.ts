/**
 * Durations as tables show them: at most two units, and coarser units for longer durations. Source: upstream's
 * `util/duration`.
 */
import { leadingSeconds } from "./time.ts";

/** The longest duration of 64 bits in nanoseconds, as milliseconds; longer durations are shown like this one. */
const longestMs = 2 ** 63 / 1e6;

/**
 * A time in milliseconds as text. A clock that runs up to two seconds behind shows `0s`; more is `<invalid>`.
 *
 * | below | shown |
 * | --- | --- |
 * | 2 minutes | seconds |
 * | 10 minutes | minutes and seconds |
 * | 3 hours | minutes |
 * | 8 hours | hours and minutes |
 * | 2 days | hours |
 * | 8 days | days and hours |
 * | 2 years | days |
 * | 8 years | years and days |
 */
export function humanDuration(durationMs: number): string {
  const ms = Math.min(durationMs, longestMs);
  const seconds = Math.trunc(ms / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(ms / 60_000);
  if (minutes < 10) return pair(minutes, "m", seconds % 60, "s");
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(ms / 3_600_000);
  if (hours < 8) return pair(hours, "h", minutes % 60, "m");
  if (hours < 48) return `${hours}h`;
  if (hours < 192) return pair(Math.trunc(hours / 24), "d", hours % 24, "h");
  const days = Math.trunc(hours / 24);
  if (hours < 24 * 365 * 2) return `${days}d`;
  if (hours < 24 * 365 * 8) return pair(Math.trunc(days / 365), "y", days % 365, "d");
  return `${Math.trunc(days / 365)}y`;
}

function pair(high: number, highUnit: string, low: number, lowUnit: string): string {
  return low === 0 ? `${high}${highUnit}` : `${high}${highUnit}${low}${lowUnit}`;
}

/** Returns the time since an RFC 3339 text; `<unknown>` without a time. */
export function ageOf(time: unknown, nowMs: number): string {
  if (typeof time !== "string" || time === "") return "<unknown>";
  const isCanonical = time.length === 20 && time[19] === "Z";
  const at = isCanonical ? leadingSeconds(time) * 1000 : Date.parse(time);
  return Number.isNaN(at) ? "<unknown>" : humanDuration(nowMs - at);
}
