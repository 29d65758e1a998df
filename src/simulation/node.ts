/** Keeps the node of the simulation and its Lease, as a kubelet does. Source: upstream's `pkg/kubelet/nodestatus`. */
import type { Cluster } from "#client/cluster.ts";
import { isConditionTrue, setCondition } from "#client/controllers.ts";
import { Lease, Node, type NodeCondition } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { microTimestamp, timestampOf } from "#meta/time.ts";
import { nodeName, simulationDomain } from "./parts.ts";

/** The address of the node: documentation range TEST-NET-1 (RFC 5737). */
export const nodeAddress = "192.0.2.1";

/** The time between two renewals of the Lease; it is valid four times as long. */
export const renewalMs = 10_000;

/** Makes the node where it is missing or not Ready, and renews its Lease. */
export async function keepNode(cluster: Cluster, { rename }: ApiDomain): Promise<void> {
  const labels = {
    [rename("kubernetes.io/arch")]: "amd64",
    [rename("kubernetes.io/hostname")]: nodeName,
    [rename("kubernetes.io/os")]: "linux",
    [`${simulationDomain}/simulated`]: "true",
  };
  const description = "This node is simulated: its pods have states, but nothing runs.";
  const annotations = { [`${simulationDomain}/description`]: description };
  const metadata = { name: nodeName };
  const nodes = cluster.kind(Node);
  const { object: node } = await nodes.apply({ metadata: { ...metadata, labels, annotations } }, { force: true });
  if (!isConditionTrue(node?.status.conditions, "Ready"))
    await nodes.status.apply({ metadata, status: statusAt(cluster.clock.now()) }, { force: true });
  const renewTime = microTimestamp(cluster.clock.now());
  const spec = { holderIdentity: nodeName, leaseDurationSeconds: (renewalMs * 4) / 1000, renewTime };
  await cluster.kind(Lease).apply({ metadata, spec }, { in: rename("kube-node-lease"), force: true });
}

const resources = { cpu: "1000", memory: "4Ti", "ephemeral-storage": "64Ti", pods: "100000" };
const message = "pods are simulated, nothing runs";
const ready = { type: "Ready", status: "True", reason: "SimulatedNodeReady", message };

const statusAt = (nowMs: number) => ({
  capacity: resources,
  allocatable: resources,
  // The error of logs and exec prints the addresses of a node that has none of a known type, so this type says why.
  addresses: [{ type: "SimulatedNodeWithoutKubelet", address: nodeName }],
  nodeInfo: { osImage: "simulated", containerRuntimeVersion: "simulated://1.0.0", kubeletVersion: "v1.32.0-simulated" },
  conditions: setCondition<NodeCondition>(undefined, { ...ready, lastHeartbeatTime: timestampOf(nowMs) }, nowMs),
});
