/** What a POST does where nothing is stored, by resource. */
import type { Action } from "#meta/action.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { withMembers } from "#registry/with-members.ts";
import type { Access } from "./access.ts";

/** Actions by Kubernetes' name of the resource (`serviceaccounts`, `tokenreviews.authentication.k8s.io`), then by subresource. */
export type Actions = Readonly<Record<string, Readonly<Record<string, Action>>>>;

export interface ActionParts {
  readonly domain: ApiDomain;
  readonly access: Access;
}

/** `parts` are complete before the first request. */
export function serverActions(_parts: () => ActionParts): Actions {
  return {};
}

/** Gives definitions their actions; leaves others alone. */
export function withActions(
  actions: Actions,
  domain: ApiDomain,
): (definition: ResourceDefinition) => ResourceDefinition {
  const byName = new Map(Object.entries(actions).map(([name, parts]) => [renamed(name, domain), parts]));
  return (definition) => {
    const { group, resource } = definition;
    const parts = byName.get(group === "" ? resource : `${resource}.${group}`);
    return parts === undefined ? definition : withMembers(definition, { actions: new Map(Object.entries(parts)) });
  };
}

function renamed(name: string, domain: ApiDomain): string {
  const dot = name.indexOf(".");
  return dot < 0 ? name : name.slice(0, dot + 1) + domain.rename(name.slice(dot + 1));
}
