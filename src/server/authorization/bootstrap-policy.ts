/** Creates the built-in roles and bindings before the first request is served. */
import { missingRights } from "#authz/rules-cover.ts";
import { bootstrapPolicy } from "#api/bootstrap-policy.ts";
import type { RestClient } from "#client/rest-client.ts";
import { reconcileBootstrapPolicy } from "#controllers/bootstrap-policy.ts";
import type { Health } from "#http/health.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";

export interface BootstrapPolicyParts {
  readonly client: RestClient;
  readonly domain: ApiDomain;
  gate(name: string): boolean;
  readonly clock: Clock;
  readonly log: Log;
  readonly health: Health;
}

const retryMs = 1000;

/**
 * Resolves after the first try. Where something failed (a namespace on its way out), the start step stays open and more
 * tries follow. The returned function ends them.
 */
export async function startBootstrapPolicy(parts: BootstrapPolicyParts): Promise<() => void> {
  const { client, domain, clock, log } = parts;
  const done = parts.health.startupStep("rbac/bootstrap-roles");
  const policy = bootstrapPolicy(domain, parts.gate);
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
