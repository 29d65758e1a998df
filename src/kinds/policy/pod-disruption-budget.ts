/** PodDisruptionBudget: how many pods of a set may be taken away at a time. */
import { ageColumn, integer, nameColumn, text } from "../cells.ts";
import { numberField, objectField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function podDisruptionBudgets(): KindBehaviour {
  return {
    anyFinalizers: true,
    metadataRepeats: -1,
    columns: [
      nameColumn,
      text("Min Available", "How many pods must stay.", (object) =>
        asText(objectField(object, "spec")?.["minAvailable"]),
      ),
      text("Max Unavailable", "How many pods may be missing.", (object) =>
        asText(objectField(object, "spec")?.["maxUnavailable"]),
      ),
      integer("Allowed Disruptions", "How many pods may go now.", (object) =>
        numberField(objectField(object, "status"), "disruptionsAllowed"),
      ),
      ageColumn,
    ],
  };
}

const asText = (value: unknown): string =>
  typeof value === "number" || typeof value === "string" ? String(value) : "N/A";
