/** Flags of the handling of requests. */
import { fraction, integer, list } from "#std/flags.ts";

const generic = (name: string) => [name, "Generic"] as const;

export const requestFlags = {
  corsAllowedOrigins: list(
    generic("cors-allowed-origins"),
    "expressions",
    "Origins allowed for CORS, as regular expressions that must match the whole origin or its part.",
    (expression) => (isRegExp(expression) ? undefined : "must be a regular expression"),
  ),
  goawayChance: fraction(
    generic("goaway-chance"),
    0,
    { min: 0, max: 0.02 },
    "Share of HTTP/2 requests that tell the client to open a new connection.",
  ),
  minRequestTimeoutSeconds: integer(
    generic("min-request-timeout"),
    1800,
    { min: 1, max: 1_000_000 },
    "Least seconds before a watch is ended; each lasts a random time between this and twice this.",
  ),
};

function isRegExp(expression: string): boolean {
  try {
    new RegExp(expression);
    return true;
  } catch {
    return false;
  }
}
