/** Creates the built-in roles and bindings before the first request is served. */
import { missingRights } from "#authz/rules-cover.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { RestClient } from "#client/rest-client.ts";
import { reconcileBootstrapPolicy } from "#controllers/bootstrap-policy.ts";
import type { AssembleConfig } from "../assemble-config.ts";
import { retriedStep } from "../retried-step.ts";

/**
 * Resolves after the first try. Where something failed (a namespace on its way out), the start step stays open and more
 * tries follow. The returned function ends them.
 */
export function startBootstrapPolicy(config: AssembleConfig, client: RestClient): Promise<() => void> {
  const { domain, health, serving } = config;
  const done = health.startupStep("rbac/bootstrap-roles");
  return retriedStep(config, "could not bring the default roles up to date", async () => {
    // Made here, so that nothing refers to it afterwards.
    const policy = bootstrapPolicy(domain, serving.gates.isOn);
    await reconcileBootstrapPolicy({ client, domain, policy, missingRights });
    done();
  });
}
