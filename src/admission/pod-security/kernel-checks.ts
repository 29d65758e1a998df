/** Checks of settings of the kernel: the visible part of /proc, and sysctls. */
import { type StandardCheck, printNames, quoteTexts, sortTexts } from "./check.ts";

export const procMount: StandardCheck = ({ containers, hasOwnUsers }) => {
  if (hasOwnUsers) return undefined;
  const names: string[] = [];
  const types = new Set<string>();
  for (const { name, securityContext } of containers) {
    const type = securityContext?.procMount ?? "Default";
    if (type === "Default") continue;
    names.push(name);
    types.add(type);
  }
  if (names.length === 0) return undefined;
  const list = quoteTexts(sortTexts(types));
  return {
    reason: "procMount",
    detail: `${printNames("container", names)} must not set securityContext.procMount to ${list}`,
  };
};

/** The sysctls that every version allows. */
export const safeSysctls: readonly string[] = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
];

export function sysctls(...names: readonly string[]): StandardCheck {
  const allowed: ReadonlySet<string> = new Set(names);
  return ({ security }) => {
    const forbidden = (security.sysctls ?? []).filter(({ name }) => !allowed.has(name));
    if (forbidden.length === 0) return undefined;
    return { reason: "forbidden sysctls", detail: forbidden.map(({ name }) => name).join(", ") };
  };
}
