/** Deletes expired bootstrap tokens. Source: upstream's token cleaner. */
import type { Secret } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { tokenEnd, tokenSecrets, waitMaxMs } from "./token-secrets.ts";
import type { Controller } from "../controller.ts";
import { objectPath } from "../paths.ts";
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
    matters: (secret) => tokenEnd(secret) !== undefined && secret.metadata.deletionTimestamp === undefined,
    async work(secret, later) {
      const restMs = tokenEnd(secret)! - clock.now(); // it matters only if it ends
      if (restMs > 0) return later(Math.min(restMs, waitMaxMs));
      const { uid, resourceVersion } = secret.metadata;
      const options = { preconditions: { uid, resourceVersion } };
      await ignoreNotFound(client.delete(objectPath(path, secret.metadata), options));
    },
  });
};
