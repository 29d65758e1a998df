/** Checks of resources that a pod shares with its node. Source: the answers of kube-apiserver, as for all checks. */
import { type StandardCheck, containersWhere, printNames, plural, podAndContainers, sortTexts } from "./check.ts";

/** Refuses pods in the network, the process or the IPC namespace of their node. */
export const hostNamespaces: StandardCheck = ({ spec }) => {
  const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field] === true);
  if (shared.length === 0) return undefined;
  return { reason: "host namespaces", detail: shared.map((field) => `${field}=true`).join(", ") };
};

/** Refuses containers with ports of their node. */
export const hostPorts: StandardCheck = ({ containers }) => {
  const names: string[] = [];
  const used = new Set<string>();
  for (const { name, ports } of containers) {
    let isUsed = false;
    for (const { hostPort } of ports ?? []) {
      if ((hostPort ?? 0) === 0) continue;
      isUsed = true;
      used.add(String(hostPort));
    }
    if (isUsed) names.push(name);
  }
  if (names.length === 0) return undefined;
  const verb = names.length === 1 ? "uses" : "use";
  const list = sortTexts(used).join(", ");
  return {
    reason: "hostPort",
    detail: `${printNames("container", names)} ${verb} ${plural("hostPort", used.size)} ${list}`,
  };
};

/** Refuses Windows containers whose processes run on the node itself. */
export const hostProcess: StandardCheck = (pod) => {
  const containers = containersWhere(pod, ({ windowsOptions }) => windowsOptions?.hostProcess === true);
  const setters = podAndContainers(pod.security.windowsOptions?.hostProcess === true, containers);
  if (setters === "") return undefined;
  return { reason: "hostProcess", detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
};
