/** The configuration of EventRateLimit. Loaded only when the plugin is on. */
import { type EventLimit, type EventLimitType, eventLimitTypes, eventRateLimit } from "#admission/event-rate-limit.ts";
import {
  ConfigError,
  integerValue,
  listOf,
  readDocument,
  refuseWith,
  struct,
  textValue,
} from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ReadPlugin } from "./planned-plugin.ts";

const initialCacheSize = 4096;

/** Reads the limits. Throws `ConfigError`. */
export const planEventRateLimit: ReadPlugin = (text, domain) => {
  const limits = text === undefined ? [] : readLimits(text, domain);
  if (limits.length === 0) {
    throw new ConfigError("limits: Invalid value: []eventratelimit.Limit(nil): must not be empty");
  }
  return { settings: limits, open: ({ clock }) => eventRateLimit(limits, clock) };
};

function readLimits(text: string, domain: ApiDomain): readonly EventLimit[] {
  const limit = struct({ type: textValue, qps: integerValue, burst: integerValue, cacheSize: integerValue });
  const { limits = [] } = readDocument(text, {
    kind: "Configuration",
    apiVersions: [domain.rename("eventratelimit.admission.k8s.io/v1alpha1")],
    fields: { limits: listOf(limit) },
    lenient: true,
  });
  const errors: FieldError[] = [];
  const read = limits.map(({ type = "", qps = 0, burst = 0, cacheSize = 0 }, at) => {
    const path = FieldPath.of("limits").index(at);
    const known = eventLimitTypes.find((one) => one === type);
    if (known === undefined) errors.push(notSupported(path.child("type"), type, eventLimitTypes));
    if (burst <= 0) errors.push(invalid(path.child("burst"), burst, "must be positive"));
    if (qps <= 0) errors.push(invalid(path.child("qps"), qps, "must be positive"));
    if (type !== "Server" && cacheSize < 0) {
      errors.push(invalid(path.child("cacheSize"), cacheSize, "must not be negative"));
    }
    return { type: known as EventLimitType, qps, burst, cacheSize: cacheSize > 0 ? cacheSize : initialCacheSize }; // an error says so if it is unknown
  });
  refuseWith(errors);
  return read;
}
