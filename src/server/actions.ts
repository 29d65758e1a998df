/** Actions of resources: POST requests that store nothing. */
import type { FeatureGates } from "#api/feature-gates.ts";
import { selfSubjectReview } from "#authn/self-subject-review.ts";
import { tokenRequest, tokenRequestDefaults } from "#authn/token-request.ts";
import { tokenReview } from "#authn/token-review.ts";
import { accessReviews, rulesReview } from "#authz/subject-access-review.ts";
import { podBinding } from "#kinds/pod-binding.ts";
import { podEviction } from "#kinds/pod-eviction.ts";
import type { Action } from "#meta/action.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import { timestampOf } from "#meta/time.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Store } from "#registry/store.ts";
import { override } from "#registry/override.ts";
import type { Access } from "./access.ts";
import type { AuthenticationFlags } from "./authentication/flags.ts";
import type { ServiceAccountIssuer } from "./authentication/service-account-issuer.ts";
import type { Lookups } from "./lookups.ts";
import type { ServerParts } from "./server-parts.ts";

/** Actions by Kubernetes' name of the resource (`serviceaccounts`, `tokenreviews.authentication.k8s.io`), then by subresource. */
export type Actions = Readonly<Record<string, Readonly<Record<string, Action>>>>;

interface ActionParts extends Pick<ServerParts, "domain" | "clock" | "random"> {
  readonly options: AuthenticationFlags;
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly issuer: ServiceAccountIssuer;
  readonly access: Access;
  readonly lookups: Lookups;
  /** Finds the store of a resource by its Kubernetes name, in any served version; `undefined` when it is not served. */
  storeOf(resource: string): Store | undefined;
}

export function serverActions(parts: ActionParts): Actions {
  const { access, domain, clock, issuer, gates, storeOf } = parts;
  const group = "authorization.k8s.io";
  const pods = (): Store => {
    const store = storeOf("pods");
    if (store === undefined) throw new Error("an action of pods needs pods");
    return store;
  };
  const now = (): string => timestampOf(clock.now());
  const binding = podBinding({ pods, now });
  const budgets = (): Store | undefined => storeOf("poddisruptionbudgets.policy");
  const hasSelectors = gates.isOn("AuthorizeWithSelectors");
  const reviews = accessReviews(access.authorizer, domain.rename(group), hasSelectors);
  return {
    ...Object.fromEntries(
      Object.entries(reviews).map(([resource, action]) => [`${resource}.${group}`, { "": action }]),
    ),
    [`selfsubjectrulesreviews.${group}`]: { "": rulesReview(access.authorizer) },
    bindings: { "": binding },
    pods: { binding, eviction: podEviction({ domain, pods, budgets, now }) },
    serviceaccounts: {
      token: Object.assign(requestToken(parts), { defaults: tokenRequestDefaults }),
    },
    "selfsubjectreviews.authentication.k8s.io": { "": selfSubjectReview(clock) },
    "tokenreviews.authentication.k8s.io": { "": tokenReview(access.tokens, issuer.audiences) },
  };
}

function requestToken({ options, gates, domain, clock, random, issuer, lookups }: ActionParts): Action {
  return tokenRequest({
    domain,
    clock,
    random,
    find: lookups.get.bind(lookups),
    issuer: issuer.issuers[0],
    audiences: issuer.audiences,
    lifetimeSecondsMax: Math.floor(options.serviceAccountMaxTokenExpirationMs / 1000),
    extendsLifetime: options.serviceAccountExtendTokenExpiration,
    bindsNodes: gates.isOn("ServiceAccountTokenNodeBinding"),
    sign: (claims) => issuer.sign(claims),
  });
}

/** Adds the actions to the definitions that have some; returns other definitions unchanged. */
export function withActions(
  actions: Actions,
  domain: ApiDomain,
): (definition: ResourceDefinition) => ResourceDefinition {
  const byName = new Map(Object.entries(actions).map(([name, parts]) => [domain.rename(name), parts]));
  return (definition) => {
    const parts = byName.get(qualifiedResource(definition));
    return parts === undefined ? definition : override(definition, { actions: new Map(Object.entries(parts)) });
  };
}
