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
import { StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { findListed } from "../find-listed.ts";
import { ignoreCodes } from "../ignore-codes.ts";
import { inPages } from "../pages.ts";
import { objectPath, segment } from "../paths.ts";
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
    matters: (migration) => !isDone(migration),
    workersMax: 1,
    logKey: "migration",
    failure: "a storage version migration did not get on; trying again",
    // The role of the controller permits list, not get.
    read: (name) => findListed(environment.reader, path, name),
    work: (migration) => migrate(environment, objectPath(path, migration.metadata), migration),
  });
};

async function migrate(
  { client, clock, signal }: ControllerEnvironment,
  path: string,
  present: StorageVersionMigration,
): Promise<void> {
  let migration = present;
  const say = async (status: StorageVersionMigrationStatus): Promise<void> => {
    migration = await client.update<StorageVersionMigration>(`${path}/status`, { ...migration, status });
  };
  const conditionsWith = (type: ConditionType, message?: string): readonly MigrationCondition[] =>
    withCondition(migration.status.conditions ?? [], type, timestampOf(clock.now()), message);
  const { group = "", version = "", resource = "" } = migration.spec.resource;
  try {
    // Any text is valid there.
    const [own, plural] = [{ group: group === "" ? "" : segment(group), version: segment(version) }, segment(resource)];
    const collection = `${apiPathOf(own)}/${plural}`;
    if ((migration.status.resourceVersion ?? "") === "") {
      const { metadata } = await client.list(`${collection}?limit=1`);
      await say({ ...migration.status, resourceVersion: metadata.resourceVersion });
    }
    if (!isTrue(migration, "Running")) await say({ ...migration.status, conditions: conditionsWith("Running") });
    await writeAll(client, collection, signal);
    if (!signal.aborted) await say({ ...migration.status, conditions: conditionsWith("Succeeded") });
  } catch (error) {
    if (!isFinal(error)) throw error;
    await say({ ...migration.status, conditions: conditionsWith("Failed", error.status.message) });
  }
}

/** Writes every object of a collection unchanged. */
async function writeAll(client: RestClient, collection: string, signal: AbortSignal): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const { metadata } of inPages(client, collection)) {
    if (signal.aborted || failures.length > 0) break;
    const { uid, resourceVersion } = metadata;
    // An object that another client wrote or deleted since it was read needs no migration.
    const work = ignoreCodes(
      [404, 409],
      client.patch(objectPath(collection, metadata), { metadata: { uid, resourceVersion } }),
    )
      .then(() => undefined)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= atOnce) await Promise.race(running);
  }
  await Promise.all(running);
  if (failures.length > 0) throw failures[0];
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
