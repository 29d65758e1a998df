/** APIService: a group version and the server of it. */
import type { APIService } from "#api/apiregistration/v1.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function apiServices(): KindBehaviour<APIService> {
  return {
    unenforced: {
      warning: "this server stores APIServices with a service, but does not forward requests to them yet",
      when: ({ spec }) => spec.service !== undefined,
    },
    columns: [
      nameColumn,
      text("Service", "Service that answers; Local is this server.", ({ spec: { service } }) =>
        service === undefined ? "Local" : `${service.namespace ?? ""}/${service.name ?? ""}`,
      ),
      text("Available", "Whether it answers.", availableText),
      ageColumn,
    ],
    strategy: {
      prepareForCreate: (object) => (object.spec.service === undefined ? available(object) : object),
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(spec, "service", (service) => fillAbsent(service, { port: 443 })),
        ),
    },
  };
}

/** Group versions of this server are available from the start. */
function available(object: APIService): APIService {
  const condition = {
    type: "Available",
    status: "True",
    lastTransitionTime: object.metadata.creationTimestamp ?? null,
    reason: "Local",
    message: "Local APIServices are always available",
  };
  return { ...object, status: { conditions: [condition] } };
}

function availableText({ status: { conditions = [] } }: APIService): string {
  const condition = conditions.find(({ type }) => type === "Available");
  if (condition === undefined) return "Unknown";
  const { status, reason = "" } = condition;
  return status === "True" ? status : `${status} (${reason})`;
}
