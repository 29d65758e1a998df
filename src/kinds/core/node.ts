/** Node: a machine. Agents report it; nothing here runs on one. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text, wideText } from "../cells.ts";
import {
  editField,
  isAbsent,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { inStep } from "../in-step.ts";

export function nodes(environment: KindEnvironment): KindBehaviour {
  const { rename } = environment.domain;
  const rolePrefix = rename("node-role.kubernetes.io/");
  const roleLabel = rename("kubernetes.io/role");
  const rolesText = (object: Unstructured): string => {
    const roles = Object.entries(object.metadata.labels ?? {}).flatMap(([key, value]) => {
      if (key.startsWith(rolePrefix)) return [key.slice(rolePrefix.length)];
      return key === roleLabel ? [value] : [];
    });
    return [...new Set(roles.filter((role) => role !== ""))].sort().join(",") || "<none>";
  };
  return {
    metadataRepeats: 1,
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
        editField(
          editField(object, "spec", (spec) => inStep(spec, ranges)),
          "status",
          (status) =>
            isAbsent(status["allocatable"]) && !isAbsent(status["capacity"])
              ? withField(status, "allocatable", status["capacity"])
              : status,
        ),
      validateUpdate: (object, old) => validateRanges(objectField(object, "spec"), objectField(old, "spec")),
      fields: (object) => ({ "spec.unschedulable": String(objectField(object, "spec")?.["unschedulable"] === true) }),
    },
    // Agents make nodes with their first status.
    statusOnCreate: true,
  };
}

const ranges = { one: "podCIDR", all: "podCIDRs", text: (item: unknown) => item, item: (range: unknown) => range };

const statusOf = (object: Unstructured): Json => objectField(object, "status") ?? noFields;

const infoText = (object: Unstructured, name: string): string => textField(inside(object, "status", "nodeInfo"), name);

function addressText(object: Unstructured, type: string): string {
  const found = listField(statusOf(object), "addresses").find((address) => address["type"] === type);
  return textField(found, "address") || "<none>";
}

function statusText(object: Unstructured): string {
  const ready = listField(statusOf(object), "conditions").find((condition) => condition["type"] === "Ready");
  const state = ready === undefined ? "Unknown" : textField(ready, "status") === "True" ? "Ready" : "NotReady";
  return objectField(object, "spec")?.["unschedulable"] === true ? `${state},SchedulingDisabled` : state;
}

/** A node's ranges of pod addresses are given to it once. */
function validateRanges(next: Json = noFields, old: Json = noFields): FieldError[] {
  if (listLength(old["podCIDRs"]) === 0 || jsonEquals(next["podCIDRs"], old["podCIDRs"])) return [];
  return [forbidden("spec.podCIDRs", 'node updates may not change podCIDR except from "" to valid')];
}

const listLength = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
