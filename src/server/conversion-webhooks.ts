/** Calls of conversion webhooks. */
import type { WebhookClients } from "#client/webhook-client.ts";
import { conversionByReview, type ConvertObjects } from "#extensions/conversion-review.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import type { ServerState } from "./state.ts";

/** Of one call, as upstream. */
const timeoutMs = 30_000;
/** An answer may have this many bytes, and some for each that was sent. */
const answerBytesMin = 3 * 1024 * 1024;
const answerGrowth = 4;

export interface ConversionWebhooks {
  readonly convert: ConvertObjects;
  /** Ends connections and pending calls. */
  close(): void;
}

/** The client is loaded for the first call: most servers make none. */
export function openConversionWebhooks(
  { domain, random, clock }: AssembleConfig,
  { serviceAddress }: ServerState,
): ConversionWebhooks {
  let clients: Promise<WebhookClients> | undefined;
  const open = async (): Promise<WebhookClients> => {
    const loaded = await import("#client/webhook-client.ts");
    return new loaded.WebhookClients({ clock, serviceAddress, credentials: () => undefined });
  };
  return {
    convert: conversionByReview(domain, random, async ({ clientConfig = {} }, review) => {
      clients ??= open();
      const body = Buffer.from(JSON.stringify(review));
      const answerBytesMax = answerBytesMin + answerGrowth * body.length;
      return (await clients).post(clientConfig, { body, timeoutMs, answerBytesMax, signal: undefined });
    }),
    close: () => void clients?.then((opened) => opened.close()),
  };
}
