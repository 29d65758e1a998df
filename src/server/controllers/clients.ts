/**
 * Clients of the built-in controllers. Each acts as its own service account of the system namespace with the rights of
 * its role `system:controller:…`; all follow objects as `system:kube-controller-manager`, as upstream does with
 * `--use-service-account-credentials`. With RBAC among the authorizers, only RBAC is asked about them, so that the
 * server does not depend on webhooks that may need it first. Without RBAC they are members of `system:masters`.
 */
import { accountGroups, accountUserName } from "#authn/service-account-token.ts";
import { withLeaseGuard, type Term } from "#client/leader-election.ts";
import { RestClient } from "#client/rest-client.ts";
import type { Transport } from "#client/transport.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupAuthenticated, groupMasters, type UserInfo } from "#meta/user-info.ts";

export interface ControllerClients {
  /** Returns the client of a service account in the system namespace. `name` is also the field manager. */
  account(name: string): RestClient;
  /**
   * Returns a client of `system:kube-controller-manager`, which lists and watches everything and writes service
   * accounts and their Secrets. `name` is the field manager.
   */
  manager(name: string): RestClient;
  /** The client of the server itself, which may do everything. */
  readonly server: RestClient;
  /** The way to the server of that client. */
  readonly administrator: Transport;
  /** Returns the way to the server of a user that has the rights of its roles. */
  transport(user: string): Transport;
  /** Returns the same clients, restricted so that they write only during a term. */
  within(term: Term): ControllerClients;
}

interface ControllerClientsOptions {
  readonly domain: ApiDomain;
  /** Whether RBAC is among the authorizers. */
  readonly hasRoles: boolean;
  /**
   * The set of users for whom only roles decide; each user is added to it. Their requests carry the same user objects.
   */
  readonly users: WeakSet<UserInfo>;
  /** Returns a transport of a user with a user agent. */
  transport(user: UserInfo, userAgent: string): Transport;
}

export function controllerClients(options: ControllerClientsOptions): ControllerClients {
  const { domain, hasRoles, users, transport } = options;
  const namespace = domain.rename("kube-system");
  const more = hasRoles ? [] : [groupMasters];
  const clientsOver = (open: (transport: Transport) => RestClient): ControllerClients => {
    const way = (name: string, groups: readonly string[], userAgent: string): Transport => {
      // The user is complete, so authentication does not replace the object.
      const user: UserInfo = { name, uid: "", groups: [...groups, groupAuthenticated] };
      if (hasRoles) users.add(user);
      return transport(user, userAgent);
    };
    const client = (...whose: Parameters<typeof way>): RestClient => open(way(...whose));
    const administrator = ["system:apiserver", [groupMasters], `${domain.prefix}-apiserver`] as const;
    return {
      account: (name) => client(accountUserName(namespace, name), [...accountGroups(namespace), ...more], name),
      manager: (name) => client("system:kube-controller-manager", more, name),
      server: client(...administrator),
      administrator: way(...administrator),
      transport: (user) => way(user, more, user),
      within: (term) => clientsOver((own) => withLeaseGuard(own, term)),
    };
  };
  return clientsOver((own) => new RestClient(own));
}
