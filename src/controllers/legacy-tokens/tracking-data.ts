/**
 * Tracking data of legacy tokens: start of tracking, last day of use, and date of invalidation. Days are UTC,
 * `2026-11-21`. Source: upstream's `legacytokentracking`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { timestampOf, timeToMs } from "#meta/time.ts";

/** The config map with the start of tracking, in the system namespace. */
export const trackingName = "kube-apiserver-legacy-service-account-token-tracking";
export const trackingKey = "since";

export const trackingMaps = ({ rename }: ApiDomain): string => `/api/v1/namespaces/${rename("kube-system")}/configmaps`;

/** The names of the labels of a Secret. */
export const legacyTokenLabels = ({ rename }: ApiDomain) => ({
  /** The last day of use; missing when there was none since tracking began. */
  lastUsed: rename("kubernetes.io/legacy-token-last-used"),
  /** The day from which the token is no longer accepted. */
  invalidSince: rename("kubernetes.io/legacy-token-invalid-since"),
});

/** Returns the day of a time in milliseconds since the epoch. */
export const dayOf = (ms: number): string => timestampOf(ms).slice(0, 10);

/** Returns when a day begins, in milliseconds since the epoch; `undefined` for a text that is no day. */
export const dayToMs = (day: string | undefined): number | undefined =>
  day === undefined || day.length !== 10 ? undefined : timeToMs(`${day}T00:00:00Z`);
