/** Checks of the users that containers run as. */
import { type StandardCheck, containersWhere, printNames, podAndContainers } from "./check.ts";

export const runAsNonRoot: StandardCheck = (pod) => {
  if (pod.hasOwnUsers) return undefined;
  const reason = "runAsNonRoot != true";
  const ofPod = pod.security.runAsNonRoot;
  const refusing = containersWhere(pod, (security) => security.runAsNonRoot === false);
  const setters = podAndContainers(ofPod === false, refusing);
  if (setters !== "") return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  if (ofPod === true) return undefined;
  const silent = containersWhere(pod, (security) => security.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${printNames("container", silent)} must set securityContext.runAsNonRoot=true` };
};

export const runAsUser: StandardCheck = (pod) => {
  if (pod.hasOwnUsers) return undefined;
  const containers = containersWhere(pod, (security) => security.runAsUser === 0);
  const setters = podAndContainers(pod.security.runAsUser === 0, containers);
  return setters === "" ? undefined : { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
};
