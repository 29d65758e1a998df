/** ComponentStatus: deprecated health of the server's parts; never stored. */
import type { ComponentCondition, ComponentStatus } from "#api/core/v1.ts";
import { nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function componentStatuses(): KindBehaviour<ComponentStatus> {
  return {
    deprecated: "1.19",
    columns: [
      nameColumn,
      text("Status", "Whether the part is healthy.", (object) => {
        const condition = healthyCondition(object);
        if (condition === undefined) return "Unknown";
        return condition.status === "True" ? "Healthy" : "Unhealthy";
      }),
      text("Message", "What the part says of itself.", (object) => healthyCondition(object)?.message ?? ""),
      text("Error", "What went wrong.", (object) => healthyCondition(object)?.error ?? ""),
    ],
  };
}

const healthyCondition = ({ conditions = [] }: ComponentStatus): ComponentCondition | undefined =>
  conditions.find(({ type }) => type === "Healthy");
