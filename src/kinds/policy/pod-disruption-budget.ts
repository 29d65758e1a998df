/** PodDisruptionBudget: how many pods of a set may be disrupted at a time. */
import type { PodDisruptionBudget } from "#api/policy/v1.ts";
import { ageColumn, integer, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function podDisruptionBudgets(): KindBehaviour<PodDisruptionBudget> {
  return {
    anyFinalizers: true,
    metadataRepeats: -1,
    columns: [
      nameColumn,
      text("Min Available", "How many pods must stay.", ({ spec }) => String(spec.minAvailable ?? "N/A")),
      text("Max Unavailable", "How many pods may be missing.", ({ spec }) => String(spec.maxUnavailable ?? "N/A")),
      integer("Allowed Disruptions", "How many pods may go now.", ({ status }) => status.disruptionsAllowed),
      ageColumn,
    ],
  };
}
