/** ComponentStatus: a deprecated view of the health of parts of the system; never stored. */
import type { Unstructured } from "#meta/object-meta.ts";
import { nameColumn, text } from "../cells.ts";
import { listField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function componentStatuses(): KindBehaviour {
  const healthy = (object: Unstructured) =>
    listField(object, "conditions").find((condition) => condition["type"] === "Healthy");
  return {
    columns: [
      nameColumn,
      text("Status", "Whether the part is healthy.", (object) => {
        const condition = healthy(object);
        if (condition === undefined) return "Unknown";
        return textField(condition, "status") === "True" ? "Healthy" : "Unhealthy";
      }),
      text("Message", "What the part says of itself.", (object) => textField(healthy(object), "message")),
      text("Error", "What went wrong.", (object) => textField(healthy(object), "error")),
    ],
  };
}
