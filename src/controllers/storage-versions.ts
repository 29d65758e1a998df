/** The controllers of storage versions: what each server stores, which servers are gone, and migrations of stored objects. */
import { storageVersionCollector } from "./storage-versions/collector.ts";
import { storageVersionMigrationController } from "./storage-versions/migration.ts";
import { storageVersionsController } from "./storage-versions/updater.ts";

export type { StoredResource } from "./storage-versions/updater.ts";

export const storageVersionControllers = {
  updater: storageVersionsController,
  collector: storageVersionCollector,
  migration: storageVersionMigrationController,
};
