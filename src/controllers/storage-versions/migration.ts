/**
 * Rewrites the objects of a resource so that each is stored in the current version and under the current key, and
 * reports in the status of the `StorageVersionMigration`. Source: upstream's `controller/storageversionmigrator`, with
 * its resource version controller.
 */
import type {
  MigrationCondition,
  StorageVersionMigration,
  StorageVersionMigrationStatus,
} from "#api/storagemigration/v1alpha1.ts";
import type { RestClient } from "#client/rest-client.ts";
import { apiPathOf } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { inPages } from "../pages.ts";
import { reconcile } from "../reconcile.ts";

const reasons = {
  Running: "StorageVersionMigrationInProgress",
  Succeeded: "StorageVersionMigrationSucceeded",
  Failed: "StorageVersionMigrationFailed",
} as const;

type ConditionType = keyof typeof reasons;

/** The number of objects that are written at the same time. */
const atOnce = 16;

export const storageVersionMigrationController: Controller = (environment) => {
  const path = `/apis/${environment.domain.rename("storagemigration.k8s.io")}/v1alpha1/storageversionmigrations`;
  return reconcile<StorageVersionMigration>(environment, {
    name: "storage-version-migrator-controller",
    what: "storage version migrations",
    path,
    keyOf: (migration) => (isDone(migration) ? undefined : (migration.metadata.name ?? "")),
    workersMax: 1,
    logKey: "migration",
    failure: "a storage version migration did not get on; trying again",
    work: (name) => migrate(environment, path, name),
  });
};

async function migrate(
  { client, reader, clock, signal }: ControllerEnvironment,
  migrations: string,
  named: string,
): Promise<void> {
  // The role of the controller permits list, not get.
  const selector = encodeURIComponent(`metadata.name=${named}`);
  let [migration] = (await reader.list<StorageVersionMigration>(`${migrations}?fieldSelector=${selector}`)).items;
  const path = `${migrations}/${encodeURIComponent(named)}`;
  if (migration === undefined || isDone(migration)) return;
  const say = async (status: StorageVersionMigrationStatus): Promise<void> => {
    migration = await client.update<StorageVersionMigration>(`${path}/status`, { ...migration!, status });
  };
  const conditionsWith = (type: ConditionType, message?: string): readonly MigrationCondition[] =>
    withCondition(migration?.status.conditions ?? [], type, timestampOf(clock.now()), message);
  const { group = "", version = "", resource = "" } = migration.spec.resource;
  const collection = apiPathOf({ group, version });
  try {
    if ((migration.status.resourceVersion ?? "") === "") {
      const { metadata } = await client.list(`${collection}/${resource}?limit=1`);
      await say({ ...migration.status, resourceVersion: metadata.resourceVersion });
    }
    if (!isTrue(migration, "Running")) await say({ ...migration.status, conditions: conditionsWith("Running") });
    await writeAll(client, collection, resource, signal);
    if (!signal.aborted) await say({ ...migration.status, conditions: conditionsWith("Succeeded") });
  } catch (error) {
    if (!isFinal(error)) throw error;
    await say({ ...migration.status, conditions: conditionsWith("Failed", error.status.message) });
  }
}

/** Writes every object of a collection unchanged. */
async function writeAll(client: RestClient, root: string, resource: string, signal: AbortSignal): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const { metadata } of inPages(client, `${root}/${resource}`)) {
    if (signal.aborted || failures.length > 0) break;
    const { name = "", namespace } = metadata;
    const namespacePath = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
    const work = rewrite(client, `${root}${namespacePath}/${resource}/${encodeURIComponent(name)}`, metadata)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= atOnce) await Promise.race(running);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
}

/** Writes an object unchanged. One that another client wrote or deleted since it was read needs no migration. */
async function rewrite(
  client: RestClient,
  path: string,
  { uid, resourceVersion }: ApiObject["metadata"],
): Promise<void> {
  try {
    await client.patch<ApiObject>(path, { metadata: { uid, resourceVersion } });
  } catch (error) {
    const isSettled = error instanceof StatusError && (error.status.code === 404 || error.status.code === 409);
    if (!isSettled) throw error;
  }
}

/** Whether a retry would not help. */
const isFinal = (error: unknown): error is StatusError =>
  error instanceof StatusError && error.status.code < 500 && error.status.code !== 429 && error.status.code !== 409;

const isTrue = ({ status }: StorageVersionMigration, wanted: ConditionType): boolean =>
  (status.conditions ?? []).some((condition) => condition.type === wanted && condition.status === "True");

const isDone = (migration: StorageVersionMigration): boolean =>
  isTrue(migration, "Succeeded") || isTrue(migration, "Failed");

/** Sets a condition to true; once the migration has ended, `Running` becomes false. */
function withCondition(
  before: readonly MigrationCondition[],
  type: ConditionType,
  now: string,
  message?: string,
): readonly MigrationCondition[] {
  const others = before
    .filter((condition) => condition.type !== type)
    .map((condition) =>
      type !== "Running" && condition.type === "Running"
        ? { ...condition, status: "False", lastUpdateTime: now }
        : condition,
    );
  const added = { type, status: "True", lastUpdateTime: now, reason: reasons[type] };
  return [...others, message === undefined ? added : { ...added, message }];
}
