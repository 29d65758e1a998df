/** ResourceQuota: how much a namespace may hold. Counting and enforcing come with a later step. */
import type { ApiObject } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function resourceQuotas(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("Request", "Use and limit of what is requested or counted.", (object) => usageText(object, false)),
      text("Limit", "Use and limit of limits.", (object) => usageText(object, true)),
      ageColumn,
    ],
  };
}

function usageText(object: ApiObject, ofLimits: boolean): string {
  const hard = inside(object, "status", "hard") ?? {};
  const used = inside(object, "status", "used") ?? {};
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === ofLimits)
    .sort()
    .map((name) => `${name}: ${String(used[name] ?? "0")}/${String(hard[name])}`)
    .join(", ");
}
