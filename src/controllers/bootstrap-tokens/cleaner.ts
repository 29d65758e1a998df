/** Deletes expired bootstrap tokens. Source: upstream's token cleaner. */
import type { Secret } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { tokenEnd, tokenSecrets, waitMaxMs } from "./token-secrets.ts";
import type { Controller } from "../controller.ts";
import { reconcile } from "../reconcile.ts";

export const tokenCleanerController: Controller = (environment) => {
  const { client, clock, domain } = environment;
  const { path, fieldSelector } = tokenSecrets(domain);
  return reconcile<Secret>(environment, {
    name: "token_cleaner",
    path,
    fieldSelector,
    what: "bootstrap tokens",
    logKey: "secret",
    failure: "could not delete a bootstrap token; trying again",
    workersMax: 2,
    keyOf: (secret) => (tokenEnd(secret) === undefined ? undefined : secret.metadata.name),
    async work(name, queue) {
      const secret = await ignoreNotFound(client.get<Secret>(`${path}/${name}`));
      if (secret === undefined || secret.metadata.deletionTimestamp !== undefined) return;
      const end = tokenEnd(secret);
      if (end === undefined) return;
      const restMs = end - clock.now();
      if (restMs > 0) return queue.addAfter(name, Math.min(restMs, waitMaxMs));
      const { uid, resourceVersion } = secret.metadata;
      await ignoreNotFound(client.delete(`${path}/${name}`, { preconditions: { uid, resourceVersion } }));
    },
  });
};
