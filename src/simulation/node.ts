/** Keeps the node of the simulation and its Lease, as a kubelet does. Source: upstream's `pkg/kubelet/nodestatus`. */
import type { NodeStatus } from "#api/core/v1.ts";
import type { Cluster } from "#client/cluster.ts";
import { Lease, Node } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { microTimestamp, timestampOf } from "#meta/time.ts";
import { writeStatus } from "./owned.ts";
import { nodeName, simulationDomain } from "./parts.ts";

/** The address of the node: documentation range TEST-NET-1 (RFC 5737). */
export const nodeAddress = "192.0.2.1";

/** The time between two renewals of the Lease; it is valid four times as long. */
export const renewalMs = 10_000;

const resources = {
  cpu: "1000",
  memory: "4Ti",
  "ephemeral-storage": "64Ti",
  "hugepages-1Gi": "0",
  "hugepages-2Mi": "0",
  pods: "100000",
};

/** Conditions by type: status, reason and message of upstream's kubelet. */
const conditions = [
  ["MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"],
  ["DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"],
  ["PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"],
  ["Ready", "True", "SimulatedNodeReady", "pods are simulated, nothing runs"],
] as const;

/** Makes the node where it is missing or not Ready, and renews its Lease. */
export async function keepNode(cluster: Cluster, domain: ApiDomain): Promise<void> {
  const { object: node } = await cluster.kind(Node).apply(nodeFor(domain), { force: true });
  const signal = new AbortController().signal;
  // With force there are no conflicts.
  await writeStatus(
    { client: cluster, signal, written: () => undefined },
    Node,
    node!,
    statusOf(node!, cluster.clock.now()),
  );
  const spec = { holderIdentity: nodeName, leaseDurationSeconds: (renewalMs * 4) / 1000 };
  const renewTime = microTimestamp(cluster.clock.now());
  await cluster
    .kind(Lease)
    .apply(
      { metadata: { name: nodeName }, spec: { ...spec, renewTime } },
      { in: domain.rename("kube-node-lease"), force: true },
    );
}

const nodeFor = (domain: ApiDomain) => ({
  metadata: {
    name: nodeName,
    labels: {
      [domain.rename("kubernetes.io/arch")]: "amd64",
      [domain.rename("kubernetes.io/hostname")]: nodeName,
      [domain.rename("kubernetes.io/os")]: "linux",
      [`${simulationDomain}/simulated`]: "true",
    },
    annotations: {
      [`${simulationDomain}/description`]: "This node is simulated: its pods have states, but nothing runs.",
    },
  },
});

function statusOf({ status }: Node, nowMs: number): NodeStatus {
  const time = timestampOf(nowMs);
  const present = status.conditions ?? [];
  const isSame = conditions.every(([type, state]) => present.some((one) => one.type === type && one.status === state));
  if (isSame) return status;
  return {
    ...status,
    capacity: resources,
    allocatable: resources,
    // The error of logs and exec prints the addresses of a node that has none of a known type, so this type says why.
    addresses: [{ type: "SimulatedNodeWithoutKubelet", address: nodeName }],
    nodeInfo: {
      machineID: nodeName,
      systemUUID: nodeName,
      bootID: nodeName,
      kernelVersion: "simulated",
      osImage: "simulated",
      containerRuntimeVersion: "simulated://1.0.0",
      kubeletVersion: "v1.32.0-simulated",
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: "amd64",
    },
    conditions: conditions.map(([type, state, reason, message]) => ({
      type,
      status: state,
      reason,
      message,
      lastHeartbeatTime: time,
      lastTransitionTime: time,
    })),
  };
}
