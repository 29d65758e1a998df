/** Checks of privileges of processes: privileged containers, escalation, capabilities. */
import { type StandardCheck, containerCheck, printNames, quoteTexts, sortTexts } from "./check.ts";

/** Refuses privileged containers. */
export const privileged: StandardCheck = containerCheck(
  "privileged",
  (security) => security.privileged === true,
  "must not set securityContext.privileged=true",
);

/** Requires that containers forbid their processes to gain privileges. */
export const privilegeEscalation: StandardCheck = containerCheck(
  "allowPrivilegeEscalation != false",
  (security) => security.allowPrivilegeEscalation !== false,
  "must set securityContext.allowPrivilegeEscalation=false",
);

const defaultCapabilities: ReadonlySet<string> = new Set(
  "AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT".split(
    " ",
  ),
);

const bindService: ReadonlySet<string> = new Set(["NET_BIND_SERVICE"]);

/** Refuses capabilities that container runtimes do not give by default. */
export const addedCapabilities: StandardCheck = (pod) => {
  const added = forbiddenAdditions(pod, defaultCapabilities);
  return added === undefined ? undefined : { reason: "non-default capabilities", detail: added };
};

/** Requires that containers drop all capabilities; they may add `NET_BIND_SERVICE` only. */
export const restrictedCapabilities: StandardCheck = (pod) => {
  const namesWithoutDrop = pod.containers
    .filter(({ securityContext }) => securityContext?.capabilities?.drop?.includes("ALL") !== true)
    .map(({ name }) => name);
  const added = forbiddenAdditions(pod, bindService);
  const details = [
    ...(namesWithoutDrop.length === 0
      ? []
      : [`${printNames("container", namesWithoutDrop)} must set securityContext.capabilities.drop=["ALL"]`]),
    ...(added === undefined ? [] : [added]),
  ];
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
};

/** Says which capabilities containers add beyond `allowed`; `undefined` when none does. */
function forbiddenAdditions(
  { containers }: Parameters<StandardCheck>[0],
  allowed: ReadonlySet<string>,
): string | undefined {
  const names: string[] = [];
  const forbidden = new Set<string>();
  for (const { name, securityContext } of containers) {
    const added = (securityContext?.capabilities?.add ?? []).filter((capability) => !allowed.has(capability));
    if (added.length === 0) continue;
    names.push(name);
    for (const capability of added) forbidden.add(capability);
  }
  if (names.length === 0) return undefined;
  const list = quoteTexts(sortTexts(forbidden));
  return `${printNames("container", names)} must not include ${list} in securityContext.capabilities.add`;
}
