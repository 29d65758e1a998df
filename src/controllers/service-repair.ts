/**
 * Gives services that were stored without an address what they lack: one update that changes nothing does. Runs once,
 * since nothing is stored without since then. Source: upstream's repair of service addresses.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Controller } from "./controller.ts";

/** `isIncomplete` tells which services these are. */
export const serviceRepairController =
  (isIncomplete: (service: ApiObject) => boolean): Controller =>
  async ({ client, signal, log }) => {
    const { items } = await client.list("/api/v1/services");
    for (const service of items.filter(isIncomplete)) {
      if (signal.aborted) return;
      const { namespace = "", name = "" } = service.metadata;
      try {
        await client.update(`/api/v1/namespaces/${namespace}/services/${name}`, {
          ...service,
          apiVersion: "v1",
          kind: "Service",
        });
      } catch (err) {
        log.warn(
          { namespace, service: name, err },
          "a service was stored without an address and could not be given one",
        );
      }
    }
  };
