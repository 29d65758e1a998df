/** StorageVersion and StorageVersionMigration: which versions objects are stored in, and moving them to another. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, firstOf, inside, nameColumn, text } from "../cells.ts";
import { listField, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function storageVersions(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text(
        "CommonEncodingVersion",
        "Version that all servers write, if they agree.",
        (object) => textField(objectField(object, "status"), "commonEncodingVersion") || "<unset>",
      ),
      text("StorageVersions", "Version that each server writes.", versionsText),
      ageColumn,
    ],
  };
}

function versionsText(object: Unstructured): string {
  const all = listField(objectField(object, "status") ?? noFields, "storageVersions").map(
    (one) => `${textField(one, "apiServerID")}=${textField(one, "encodingVersion")}`,
  );
  return firstOf(all, 3, "<unset>");
}

export function storageVersionMigrations(): KindBehaviour {
  return {
    columns: [
      { ...nameColumn, format: "" },
      text("Resource", "Resource whose objects are moved.", (object) => {
        const resource = inside(object, "spec", "resource");
        return ["resource", "version", "group"].map((name) => textField(resource, name)).join(".");
      }),
    ],
  };
}
