/** Who may do what: the authorizers that `--authorization-mode` names, in its order, after `system:masters`. */
import { alwaysAllow, alwaysDeny } from "#authz/always.ts";
import { type Authorizer, union } from "#authz/authorizer.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { rbac } from "#authz/rbac.ts";
import { groupMasters } from "#meta/user-info.ts";
import type { AccessConfig } from "./access.ts";
import type { AuthorizationMode } from "./authorization-flags.ts";

export function serverAuthorizer({ options, rbacIndex }: AccessConfig): Required<Authorizer> {
  const modes: Readonly<Partial<Record<AuthorizationMode, () => Authorizer>>> = {
    AlwaysAllow: () => alwaysAllow,
    AlwaysDeny: () => alwaysDeny,
    RBAC: () => rbac(rbacIndex),
  };
  const chosen = options.authorizationMode.flatMap((mode) => modes[mode as AuthorizationMode]?.() ?? []); // checked by the flag
  return union([privilegedGroups([groupMasters]), ...chosen]);
}
