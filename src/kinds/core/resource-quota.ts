/** ResourceQuota: limits on the objects of a namespace. It is not enforced yet. */
import type { ResourceQuota } from "#api/core/v1.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function resourceQuotas(): KindBehaviour<ResourceQuota> {
  return {
    returnsDeleted: true,
    unenforced: { warning: "this server stores resource quotas, but does not enforce them yet" },
    columns: [
      nameColumn,
      ageColumn,
      text("Request", "Use and limit of what is requested or counted.", (object) => usageText(object, false)),
      text("Limit", "Use and limit of limits.", (object) => usageText(object, true)),
    ],
  };
}

function usageText({ status: { hard = {}, used = {} } }: ResourceQuota, ofLimits: boolean): string {
  return Object.keys(hard)
    .filter((name) => name.startsWith("limits.") === ofLimits)
    .sort()
    .map((name) => `${name}: ${Object.hasOwn(used, name) ? used[name]! : "0"}/${hard[name]}`)
    .join(", ");
}
