/**
 * Who the built-in controllers are. Each acts as its own service account of the system namespace, and may do what its
 * role says (`system:controller:…`), like anybody; all of them follow objects as `system:kube-controller-manager`. So it
 * is upstream with `--use-service-account-credentials`. Where no authorizer reads roles, those names could do nothing:
 * there they are members of `system:masters` as well.
 */
import { accountGroups, accountUserName } from "#authn/service-account-token.ts";
import { RestClient } from "#client/rest-client.ts";
import type { Transport } from "#client/transport.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupMasters, type UserInfo } from "#meta/user-info.ts";

export interface ControllerClients {
  /** Of a service account of the system namespace. What it writes has the account's name as field manager. */
  account(name: string): RestClient;
  /**
   * Of `system:kube-controller-manager`, who lists and watches everything and writes accounts and their Secrets.
   * `name` is the field manager.
   */
  manager(name: string): RestClient;
  /** Of the server itself, who may do everything. */
  readonly server: RestClient;
}

export interface ControllerClientsOptions {
  readonly domain: ApiDomain;
  /** Whether an authorizer reads roles and bindings. */
  readonly hasRoles: boolean;
  /** A transport of somebody; `userAgent` names who asks. */
  transport(user: UserInfo, userAgent: string): Transport;
}

export function controllerClients({ domain, hasRoles, transport }: ControllerClientsOptions): ControllerClients {
  const namespace = domain.rename("kube-system");
  const more = hasRoles ? [] : [groupMasters];
  const client = (user: UserInfo, userAgent: string): RestClient => new RestClient(transport(user, userAgent));
  const manager: UserInfo = { name: "system:kube-controller-manager", uid: "", groups: more };
  return {
    account(name) {
      const groups = [...accountGroups(namespace), ...more];
      return client({ name: accountUserName(namespace, name), uid: "", groups }, name);
    },
    manager: (name) => client(manager, name),
    server: client({ name: "system:apiserver", uid: "", groups: [groupMasters] }, `${domain.prefix}-apiserver`),
  };
}
