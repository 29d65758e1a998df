/**
 * Removes auto-generated legacy tokens that were not used for a long time: first it marks them invalid, and after the
 * same time again it deletes them. Tokens created by users or used by pods stay. Source: upstream's
 * `legacy_serviceaccount_token_cleaner`.
 */
import type { ConfigMap, Pod, Secret, ServiceAccount } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { timeToMs } from "#meta/time.ts";
import { dayOf, dayToMs, legacyTokenLabels, trackingKey, trackingMaps, trackingName } from "./tracking-data.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { inPages } from "../pages.ts";
import { inNamespace, objectPath } from "../paths.ts";
import { periodically } from "../repeat.ts";

const dayMs = 86_400_000;

interface LegacyTokenCleanerOptions {
  /** The time for which a token may go unused. */
  readonly periodMs: number;
  /** Returns the names of the Secrets that a pod uses. */
  secretsOf(pod: Pod): Iterable<string>;
}

export const legacyTokenCleanerController =
  (options: LegacyTokenCleanerOptions): Controller =>
  (environment) =>
    periodically(environment, dayMs, "could not look for unused tokens; trying again tomorrow", () =>
      cleanUp(environment, options),
    );

async function cleanUp(environment: ControllerEnvironment, options: LegacyTokenCleanerOptions): Promise<void> {
  const { clock, domain, log, reader, signal } = environment;
  const since = await trackedSince(environment);
  // The first day was not tracked completely.
  if (since === undefined || clock.now() < since + dayMs + options.periodMs) return;
  const oldestMs = clock.now() - options.periodMs;
  const oldest = { ms: oldestMs, day: dayOf(oldestMs) };
  const labels = legacyTokenLabels(domain);
  const inUse = usedSecrets(environment, options);
  const type = `type=${domain.rename("kubernetes.io/service-account-token")}`;
  for await (const secret of inPages<Secret>(reader, "/api/v1/secrets", { fieldSelector: type })) {
    if (signal.aborted) return;
    if (!isUnused(secret, labels.lastUsed, oldest)) continue;
    const { namespace = "", name = "" } = secret.metadata;
    try {
      if (!(await isAutomatic(environment, secret)) || (await inUse(namespace)).has(name)) continue;
      await end(environment, secret, labels.invalidSince, oldest.day);
    } catch (err) {
      log.warn({ secret: `${namespace}/${name}`, err }, "could not end an unused token; trying again tomorrow");
    }
  }
}

/** Marks a token, or deletes one that was marked before `oldestDay`. */
async function end(
  { client, clock, log }: ControllerEnvironment,
  { metadata }: Secret,
  label: string,
  oldestDay: string,
): Promise<void> {
  const { namespace = "", name = "", uid, resourceVersion, labels = {} } = metadata;
  const path = `/api/v1/namespaces/${namespace}/secrets/${name}`;
  const fields = { secret: `${namespace}/${name}` };
  const invalidSince = labels[label] ?? "";
  // The version protects a token that has just been used.
  if (dayToMs(invalidSince) === undefined) {
    const marks = { [label]: dayOf(clock.now()) };
    await ignoreNotFound(client.patch<Secret>(path, { metadata: { uid, resourceVersion, labels: marks } }));
    log.info(fields, "a token that was not used for long is no longer taken");
  } else if (invalidSince < oldestDay) {
    await ignoreNotFound(client.delete(path, { preconditions: { uid, resourceVersion } }));
    log.info(fields, "a token that was not taken for long was deleted");
  }
}

/** Returns the start of tracking in milliseconds; `undefined` when it is not recorded. */
async function trackedSince({ client, domain }: ControllerEnvironment): Promise<number | undefined> {
  const map = await ignoreNotFound(client.get<ConfigMap>(`${trackingMaps(domain)}/${trackingName}`));
  return dayToMs(map?.data?.[trackingKey]);
}

/** Whether a Secret is old and was last used long ago or never. An unreadable date counts as used. */
function isUnused({ metadata }: Secret, label: string, oldest: { readonly ms: number; readonly day: string }): boolean {
  const { creationTimestamp, deletionTimestamp, labels = {} } = metadata;
  const createdMs = timeToMs(creationTimestamp ?? "");
  if (deletionTimestamp !== undefined || createdMs === undefined || createdMs >= oldest.ms) return false;
  const lastUsed = labels[label];
  return lastUsed === undefined || (dayToMs(lastUsed) !== undefined && lastUsed < oldest.day);
}

/** Whether the account lists the Secret as its own, as it does for Secrets that were made for it. */
async function isAutomatic({ domain, reader }: ControllerEnvironment, { metadata }: Secret): Promise<boolean> {
  const { namespace = "", name, annotations = {} } = metadata;
  const accountName = annotations[domain.rename("kubernetes.io/service-account.name")] ?? "";
  if (accountName === "" || accountName.includes("/")) return false;
  const path = objectPath("/api/v1/serviceaccounts", { namespace, name: accountName });
  const account = await ignoreNotFound(reader.get<ServiceAccount>(path));
  const uid = annotations[domain.rename("kubernetes.io/service-account.uid")] ?? "";
  if (account === undefined || (uid !== "" && uid !== account.metadata.uid)) return false;
  return account.secrets?.some((secret) => secret.name === name) === true;
}

/** Returns the names of the Secrets that pods of a namespace use, looked up once for each namespace. */
function usedSecrets(
  { reader }: ControllerEnvironment,
  { secretsOf }: LegacyTokenCleanerOptions,
): (namespace: string) => Promise<ReadonlySet<string>> {
  const namesByNamespace = new Map<string, Promise<ReadonlySet<string>>>();
  const find = async (namespace: string): Promise<ReadonlySet<string>> => {
    const names = new Set<string>();
    for await (const pod of inPages<Pod>(reader, inNamespace("/api/v1/pods", namespace))) {
      for (const name of secretsOf(pod)) names.add(name);
    }
    return names;
  };
  return (namespace) => {
    let names = namesByNamespace.get(namespace);
    if (names === undefined) {
      names = find(namespace);
      namesByNamespace.set(namespace, names);
    }
    return names;
  };
}
