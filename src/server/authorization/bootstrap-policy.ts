/** Creates the built-in roles and bindings before the first request is served. */
import { missingRights } from "#authz/rules-cover.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { RestClient } from "#client/rest-client.ts";
import { reconcileBootstrapPolicy } from "#controllers/bootstrap-policy.ts";
import type { AssembleConfig } from "../assemble-config.ts";

const retryMs = 1000;

/**
 * Resolves after the first try. Where something failed (a namespace on its way out), the start step stays open and more
 * tries follow. The returned function ends them.
 */
export async function startBootstrapPolicy(config: AssembleConfig, client: RestClient): Promise<() => void> {
  const { domain, clock, log } = config;
  const done = config.health.startupStep("rbac/bootstrap-roles");
  const policy = bootstrapPolicy(domain, config.serving.gates.isOn);
  let isStopped = false;
  let cancel: () => void = () => undefined;
  const attempt = async (): Promise<void> => {
    try {
      await reconcileBootstrapPolicy({ client, domain, policy, missingRights });
      done();
    } catch (error) {
      if (isStopped) return;
      log.warn({ error: String(error) }, "could not bring the default roles up to date; trying again");
      cancel = clock.after(retryMs, () => void attempt());
    }
  };
  await attempt();
  return () => {
    isStopped = true;
    cancel();
  };
}
