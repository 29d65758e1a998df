/** APIService: a group version and who serves it. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent, listField, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function apiServices(): KindBehaviour {
  return {
    unenforced: {
      warning: "this server stores APIServices with a service, but does not forward requests to them yet",
      when: (object) => inside(object, "spec", "service") !== undefined,
    },
    columns: [
      nameColumn,
      text("Service", "Service that answers; Local is this server.", (object) => {
        const service = inside(object, "spec", "service");
        return service === undefined ? "Local" : `${textField(service, "namespace")}/${textField(service, "name")}`;
      }),
      text("Available", "Whether it answers.", availableText),
      ageColumn,
    ],
    strategy: {
      prepareForCreate: (object) => (inside(object, "spec", "service") === undefined ? available(object) : object),
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(spec, "service", (service) => fillAbsent(service, { port: 443 })),
        ),
    },
  };
}

/** What this server answers for itself is available from the start. */
function available(object: Unstructured): Unstructured {
  const condition = {
    type: "Available",
    status: "True",
    lastTransitionTime: object.metadata.creationTimestamp,
    reason: "Local",
    message: "Local APIServices are always available",
  };
  return { ...object, status: { conditions: [condition] } };
}

function availableText(object: Unstructured): string {
  const conditions = listField(objectField(object, "status") ?? noFields, "conditions");
  const available = conditions.find((condition) => condition["type"] === "Available");
  if (available === undefined) return "Unknown";
  const status = textField(available, "status");
  return status === "True" ? status : `${status} (${textField(available, "reason")})`;
}
