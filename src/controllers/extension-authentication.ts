/**
 * Maintains the ConfigMap `extension-apiserver-authentication`, which tells aggregated API servers which certificates
 * and headers to trust. Source: upstream's `clusterauthenticationtrust`.
 */
import { isDeepStrictEqual } from "node:util";
import type { ConfigMap } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { Controller } from "./controller.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { follow, workQueue } from "./reconcile.ts";

const name = "extension-apiserver-authentication";
/** The time between two looks: authorities change in files, without a notification. */
const periodMs = 60_000;

/** Makes the controller. `data` returns the wanted content of the ConfigMap; other keys are not changed. */
export const extensionAuthenticationController =
  (data: () => Readonly<Record<string, string>>): Controller =>
  async (environment) => {
    const { client, domain } = environment;
    const namespace = domain.rename("kube-system");
    const collection = `/api/v1/namespaces/${namespace}/configmaps`;
    const manager = `?fieldManager=${domain.prefix}-apiserver`;
    const queue = workQueue(environment, {
      name: "extension_authentication",
      workersMax: 1,
      async work() {
        const wanted = data();
        const path = `${collection}/${name}`;
        const present = await ignoreNotFound(client.get<ConfigMap>(path));
        if (present === undefined) {
          const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: wanted };
          await ignoreCodes([409], client.create<ConfigMap>(collection + manager, object));
        } else {
          const next = { ...present.data, ...wanted };
          if (!isDeepStrictEqual(next, { ...present.data })) {
            await client.update<ConfigMap>(path + manager, { ...present, data: next });
          }
        }
        queue.addAfter(name, periodMs);
      },
      logKey: "configMap",
      failure: "a ConfigMap of the server was not written; trying again",
    });
    await follow(
      { ...environment, reader: client },
      {
        what: "the ConfigMap of the server",
        path: collection,
        fieldSelector: `metadata.name=${name}`,
        replaced: () => queue.add(name),
        changed: () => queue.add(name),
      },
    );
  };
