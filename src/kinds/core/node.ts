/** Node: a machine. Agents report it; nothing here runs on one. */
import type { ApiObject } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text, wideText } from "../cells.ts";
import { editField, isAbsent, type Json, listField, noFields, objectField, textField, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function nodes(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const rolePrefix = rename("node-role.kubernetes.io/");
  const roleLabel = rename("kubernetes.io/role");
  const rolesText = (object: ApiObject): string => {
    const roles = Object.entries(object.metadata.labels ?? {}).flatMap(([key, value]) => {
      if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
      return key === roleLabel ? [value] : [];
    });
    return [...new Set(roles.filter((role) => role !== ""))].sort().join(",") || "<none>";
  };
  return {
    columns: [
      nameColumn,
      text("Status", "Whether the node is ready for pods.", statusText),
      text("Roles", "What the node is for.", rolesText),
      ageColumn,
      text("Version", "Version of the node's agent.", (object) => infoText(object, "kubeletVersion")),
      wideText("Internal-IP", "Address inside the cluster.", (object) => addressText(object, "InternalIP")),
      wideText("External-IP", "Address outside the cluster.", (object) => addressText(object, "ExternalIP")),
      wideText("OS-Image", "Operating system.", (object) => infoText(object, "osImage") || "<unknown>"),
      wideText(
        "Kernel-Version",
        "Version of the kernel.",
        (object) => infoText(object, "kernelVersion") || "<unknown>",
      ),
      wideText(
        "Container-Runtime",
        "What runs the containers.",
        (object) => infoText(object, "containerRuntimeVersion") || "<unknown>",
      ),
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "status", (status) =>
          isAbsent(status["allocatable"]) && !isAbsent(status["capacity"])
            ? withField(status, "allocatable", status["capacity"])
            : status,
        ),
      fields: (object) => ({ "spec.unschedulable": String(objectField(object, "spec")?.["unschedulable"] === true) }),
    },
    // Agents make nodes with their first status.
    statusOnCreate: true,
  };
}

const statusOf = (object: ApiObject): Json => objectField(object, "status") ?? noFields;

const infoText = (object: ApiObject, name: string): string => textField(inside(object, "status", "nodeInfo"), name);

function addressText(object: ApiObject, type: string): string {
  const found = listField(statusOf(object), "addresses").find((address) => address["type"] === type);
  return textField(found, "address") || "<none>";
}

function statusText(object: ApiObject): string {
  const ready = listField(statusOf(object), "conditions").find((condition) => condition["type"] === "Ready");
  const state = ready === undefined ? "Unknown" : textField(ready, "status") === "True" ? "Ready" : "NotReady";
  return objectField(object, "spec")?.["unschedulable"] === true ? `${state},SchedulingDisabled` : state;
}
