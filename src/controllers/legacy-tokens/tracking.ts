/**
 * Records since when the use of legacy tokens is tracked, for the cleaner. The date is written once. If it is removed,
 * tracking starts again within half an hour. Source: upstream's `legacytokentracking`.
 */
import type { ConfigMap } from "#api/core/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { dayOf, dayToMs, trackingKey, trackingMaps, trackingName } from "./tracking-data.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { ignoreCodes } from "../ignore-codes.ts";
import { periodically } from "../repeat.ts";

const periodMs = 30 * 60_000;
const retryMs = 10_000;

export const legacyTokenTrackingController: Controller = (environment) => {
  const failure = "could not say since when uses of tokens are noted; trying again";
  return periodically(environment, periodMs, failure, () => keepDay(environment), retryMs);
};

async function keepDay({ client, clock, domain }: ControllerEnvironment): Promise<void> {
  const maps = trackingMaps(domain);
  const path = `${maps}/${trackingName}`;
  const map = await ignoreNotFound(client.get<ConfigMap>(path));
  const before = map?.data ?? {};
  if (map !== undefined && dayToMs(before[trackingKey]) !== undefined) return;
  const data = { ...before, [trackingKey]: dayOf(clock.now()) };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: trackingName }, data };
  const written =
    map === undefined ? client.create<ConfigMap>(maps, configMap) : client.update<ConfigMap>(path, { ...map, data });
  // Another server was first, or another client wrote or removed it just now.
  await ignoreCodes([404, 409], written);
}
