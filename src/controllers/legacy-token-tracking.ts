/**
 * Records since when the use of legacy tokens is tracked, for the cleaner. The date is written once. If it is removed,
 * tracking starts again within half an hour. Source: upstream's `legacytokentracking`.
 */
import type { ConfigMap } from "#api/core/v1.ts";
import { pause } from "#client/reflector.ts";
import { found } from "#client/rest-client.ts";
import { StatusError } from "#meta/status-error.ts";
import { dayOf, dayToMs, trackingKey, trackingMaps, trackingName } from "./legacy-tokens.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";

const periodMs = 30 * 60_000;
const retryMs = 10_000;

export const legacyTokenTrackingController: Controller = async (environment) => {
  const { clock, signal, log } = environment;
  while (!signal.aborted) {
    let nextMs = periodMs;
    try {
      await keepDay(environment);
    } catch (err) {
      if (signal.aborted) return;
      nextMs = retryMs;
      log.warn({ err }, "could not say since when uses of tokens are noted; trying again");
    }
    await pause(clock, nextMs, signal);
  }
};

async function keepDay({ client, clock, domain }: ControllerEnvironment): Promise<void> {
  const maps = trackingMaps(domain);
  const path = `${maps}/${trackingName}`;
  const map = await found(client.get<ConfigMap>(path));
  const before = map?.data ?? {};
  if (map !== undefined && dayToMs(before[trackingKey]) !== undefined) return;
  const data = { ...before, [trackingKey]: dayOf(clock.now()) };
  try {
    if (map !== undefined) await client.update<ConfigMap>(path, { ...map, data });
    else
      await client.create<ConfigMap>(maps, {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: trackingName },
        data,
      });
  } catch (error) {
    // Another server was first, or another client wrote or removed it just now.
    if (!(error instanceof StatusError) || ![404, 409].includes(error.status.code)) throw error;
  }
}
