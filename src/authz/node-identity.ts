/**
 * Identifies nodes: users of the group `system:nodes`, named `system:node:<name>`. Source: upstream's
 * `pkg/auth/nodeidentifier`.
 */
import type { UserInfo } from "#meta/user-info.ts";

const groupNodes = "system:nodes";
const prefix = "system:node:";

/** Returns the name of a node, possibly empty; `undefined` for other users. */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(prefix) && groups.includes(groupNodes) ? name.slice(prefix.length) : undefined;
}
