/** Counts the writes that were answered before other servers said that they act by them. */
import type { Http2Client } from "../http2-client.ts";

/** `clients` has one for each server. */
export async function lateWaits(clients: readonly Http2Client[]): Promise<number> {
  const metrics = await Promise.all(clients.map((client) => client.call("/metrics")));
  return metrics
    .map(({ text }) => Number(/^binnacle_peer_waits_total\{result="late"\} (\d+)$/m.exec(text)?.[1] ?? 0))
    .reduce((sum, one) => sum + one, 0);
}
