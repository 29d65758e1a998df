/**
 * Gives stored services without an address one, by an update without changes. Runs once, because newly stored services
 * always have an address. Source: upstream's repair of service addresses.
 */
import type { Service } from "#api/core/v1.ts";
import type { Controller } from "./controller.ts";
import { inPages } from "./pages.ts";
import { objectPath } from "./paths.ts";
import { retryUntilDone } from "./repeat.ts";

const services = "/api/v1/services";

/** Makes the controller. `isIncomplete` finds services without an address. */
export const serviceRepairController =
  (isIncomplete: (service: Service) => boolean): Controller =>
  (environment) =>
    retryUntilDone(environment, "look for services without an address", async () => {
      const { client, signal, log } = environment;
      for await (const service of inPages<Service>(client, services)) {
        if (signal.aborted) return;
        if (!isIncomplete(service)) continue;
        const { namespace, name } = service.metadata;
        try {
          const typed = { ...service, apiVersion: "v1", kind: "Service" };
          await client.update(objectPath(services, service.metadata), typed);
        } catch (err) {
          log.warn({ namespace, service: name, err }, "a service without an address could not be given one");
        }
      }
    });
