/** Creates the built-in roles and bindings before the first request is served. */
import { missingRights } from "#authz/rules-cover.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { RestClient } from "#client/rest-client.ts";
import { reconcileBootstrapPolicy } from "#controllers/bootstrap-policy.ts";
import { retriedStep } from "../retried-step.ts";
import type { ServerParts } from "../server-parts.ts";

interface BootstrapPolicyParts extends Pick<ServerParts, "domain" | "clock" | "log" | "health"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly client: RestClient;
}

/** The step of the start that makes the objects. */
export const rolesStep = "rbac/bootstrap-roles";

/**
 * Resolves after the first try. After a failure (a namespace that is being deleted) the start step stays open, and
 * tries follow until the returned function is called.
 */
export function startBootstrapPolicy(parts: BootstrapPolicyParts): Promise<() => void> {
  const { domain, health, gates, client } = parts;
  const done = health.startupStep(rolesStep);
  return retriedStep(parts, "could not bring the default roles up to date", async () => {
    // The policy is made inside this function, so that it is garbage afterwards.
    const policy = bootstrapPolicy(domain, gates.isOn);
    await reconcileBootstrapPolicy({ client, domain, policy, missingRights });
    done();
  });
}
