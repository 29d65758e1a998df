/** StorageVersion and StorageVersionMigration: the versions that objects are stored in, and their migration. */
import type { StorageVersion } from "#api/apiserverinternal/v1alpha1.ts";
import type { StorageVersionMigration } from "#api/storagemigration/v1alpha1.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function storageVersions(): KindBehaviour<StorageVersion> {
  return {
    columns: [
      nameColumn,
      text(
        "CommonEncodingVersion",
        "Version that all servers write, if they agree.",
        ({ status }) => status.commonEncodingVersion || "<unset>",
      ),
      text("StorageVersions", "Version that each server writes.", versionsText),
      ageColumn,
    ],
  };
}

function versionsText({ status: { storageVersions = [] } }: StorageVersion): string {
  const all = storageVersions.map(({ apiServerID = "", encodingVersion = "" }) => `${apiServerID}=${encodingVersion}`);
  return firstOf(all, 3, "<unset>");
}

export function storageVersionMigrations(): KindBehaviour<StorageVersionMigration> {
  return {
    columns: [
      { ...nameColumn, format: "" },
      text("Resource", "Resource whose objects are moved.", ({ spec: { resource } }) =>
        [resource.resource ?? "", resource.version ?? "", resource.group ?? ""].join("."),
      ),
    ],
  };
}
