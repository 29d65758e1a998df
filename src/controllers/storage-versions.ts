/**
 * The controllers of storage versions: they record what each server stores, remove servers that are gone, and migrate
 * stored objects.
 */
import { storageVersionCollector } from "./storage-versions/collector.ts";
import { storageVersionMigrationController } from "./storage-versions/migration.ts";
import { storageVersionsController } from "./storage-versions/updater.ts";

export type { StoredResource } from "./storage-versions/updater.ts";

export const storageVersionControllers = {
  updater: storageVersionsController,
  collector: storageVersionCollector,
  migration: storageVersionMigrationController,
};
