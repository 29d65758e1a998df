/** The flag of traces. */
import { optional } from "#std/flags.ts";

export const tracingFlags = {
  tracingConfigFile: optional(
    ["tracing-config-file", "Traces"],
    "file",
    "TracingConfiguration: where traces of requests are sent, and how many requests are traced.",
  ),
};
