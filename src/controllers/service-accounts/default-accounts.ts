/** Creates the account `default` in every namespace. Source: upstream's service accounts controller. */
import type { ServiceAccount } from "#api/core/v1.ts";
import type { Controller } from "../controller.ts";
import { keepInEveryNamespace } from "../in-every-namespace.ts";

export const serviceAccountsController: Controller = (environment) =>
  keepInEveryNamespace<ServiceAccount>(environment, {
    what: "service account",
    queue: "serviceaccount",
    resource: "serviceaccounts",
    name: "default",
    object: { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } },
  });
