/** Node: a machine of the cluster, reported by its agent. */
import type { Node, NodeSpec, NodeStatus } from "#api/core/v1.ts";
import { ageColumn, nameColumn, text, wideText } from "../cells.ts";
import { editField, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { roundAmounts } from "./amounts.ts";
import { validateNode, validateNodeUpdate } from "./node-validation.ts";
import { ownPrefix } from "./resource-names.ts";

export function nodes(environment: KindEnvironment): KindBehaviour<Node> {
  const { rename } = environment.domain;
  const rolePrefix = rename("node-role.kubernetes.io/");
  const roleLabel = rename("kubernetes.io/role");
  const own = ownPrefix(environment.domain);
  const rolesText = ({ metadata: { labels = {} } }: Node): string => {
    const roles = Object.entries(labels).flatMap(([key, value]) => {
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
      text("Version", "Version of the node's agent.", ({ status }) => status.nodeInfo.kubeletVersion),
      wideText("Internal-IP", "Address inside the cluster.", (node) => addressText(node, "InternalIP")),
      wideText("External-IP", "Address outside the cluster.", (node) => addressText(node, "ExternalIP")),
      wideText("OS-Image", "Operating system.", ({ status }) => status.nodeInfo.osImage || "<unknown>"),
      wideText(
        "Kernel-Version",
        "Version of the kernel.",
        ({ status }) => status.nodeInfo.kernelVersion || "<unknown>",
      ),
      wideText(
        "Container-Runtime",
        "What runs the containers.",
        ({ status }) => status.nodeInfo.containerRuntimeVersion || "<unknown>",
      ),
    ],
    strategy: {
      defaults: (object) =>
        editField(editField(object, "spec", withAgreeingRanges), "status", (status) =>
          withRoundedAmounts(
            status.allocatable === undefined ? withField(status, "allocatable", status.capacity) : status,
          ),
        ),
      validate: (object) => validateNode(object, own),
      validateUpdate: (object, old) => validateNodeUpdate(object, old, own),
      subresources: {
        status: { validateUpdate: (object, old) => validateNodeUpdate(object, old, own) },
      },
      warningsOnCreate: warnings,
      warningsOnUpdate: warnings,
      fields: ({ spec }) => ({ "spec.unschedulable": String(spec.unschedulable === true) }),
    },
    // Agents create nodes with a status.
    statusOnCreate: true,
  };
}

const withRoundedAmounts = (status: NodeStatus): NodeStatus =>
  editField(editField(status, "capacity", roundAmounts), "allocatable", roundAmounts);

/**
 * Returns the spec with equal ranges in both fields. If they differ, the single field wins, since older agents write no
 * other. Source: upstream's conversion of node specs.
 */
function withAgreeingRanges(spec: NodeSpec): NodeSpec {
  const { podCIDR, podCIDRs = [] } = spec;
  if (!podCIDR) return withField(spec, "podCIDR", podCIDRs[0] ?? podCIDR);
  return podCIDRs[0] === podCIDR ? spec : withField(spec, "podCIDRs", [podCIDR]);
}

const addressText = ({ status: { addresses = [] } }: Node, wanted: string): string =>
  addresses.find(({ type }) => type === wanted)?.address || "<none>";

function statusText({ spec, status: { conditions = [] } }: Node): string {
  const ready = conditions.find(({ type }) => type === "Ready");
  const state = ready === undefined ? "Unknown" : ready.status === "True" ? "Ready" : "NotReady";
  return spec.unschedulable === true ? `${state},SchedulingDisabled` : state;
}

const warnings = ({ spec: { externalID } }: Node): string[] =>
  externalID ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"] : [];
