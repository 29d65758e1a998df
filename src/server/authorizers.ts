/** Who may do what. Until roles are evaluated: `system:masters` everything, everybody discovery, some health. */
import { type Authorizer, union } from "#authz/authorizer.ts";
import { discoveryAndHealth } from "#authz/discovery-and-health.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupMasters } from "#meta/user-info.ts";

export const serverAuthorizer = (domain: ApiDomain): Authorizer =>
  union([privilegedGroups([groupMasters]), discoveryAndHealth(domain)]);
