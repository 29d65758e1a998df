/** Calls conversion webhooks. */
import type { FindServiceAddress } from "#client/service-address.ts";
import type { WebhookClients } from "#client/webhook-client.ts";
import { conversionByReview, type ConvertObjects } from "#extensions/conversion-review.ts";
import { tooManyRequests } from "#meta/status-error.ts";
import type { ServerParts } from "./server-parts.ts";

/** One call takes no longer than this, as upstream. */
const timeoutMs = 30_000;
/** Calls of one webhook at a time, and their bytes, unless there is a single one. */
const callsMax = 128;
const bytesMax = 64 * 1024 * 1024;
/** An answer may have this many bytes, and some for each that was sent. */
const answerBytesMin = 3 * 1024 * 1024;
const answerGrowth = 4;

interface ConversionWebhooks {
  readonly convert: ConvertObjects;
  /** Ends connections and pending calls. */
  close(): void;
}

/** The client is loaded for the first call: most servers make none. */
export function openConversionWebhooks(
  { domain, random, clock }: Pick<ServerParts, "domain" | "random" | "clock">,
  serviceAddress: FindServiceAddress,
): ConversionWebhooks {
  let clients: Promise<WebhookClients> | undefined;
  const open = async (): Promise<WebhookClients> => {
    const loaded = await import("#client/webhook-client.ts");
    return new loaded.WebhookClients({ clock, serviceAddress, credentials: () => undefined });
  };
  const pending = new PendingCalls();
  return {
    convert: conversionByReview(domain, random, async ({ clientConfig = {} }, body, signal) => {
      clients ??= open();
      const answerBytesMax = answerBytesMin + answerGrowth * body.length;
      const end = pending.begin(JSON.stringify(clientConfig), body.length);
      try {
        return await (await clients).post(clientConfig, { body, timeoutMs, answerBytesMax, signal });
      } finally {
        end();
      }
    }),
    close: () => void clients?.then((opened) => opened.close()),
  };
}

/** Calls that wait for each webhook. */
class PendingCalls {
  readonly #calls = new Map<string, { readonly count: number; readonly bytes: number }>();

  /** Returns what ends the call. Throws `tooManyRequests`. */
  begin(webhook: string, bytes: number): () => void {
    const before = this.#calls.get(webhook) ?? { count: 0, bytes: 0 };
    if (before.count >= callsMax || (before.count > 0 && before.bytes + bytes > bytesMax)) {
      throw tooManyRequests("too many objects wait for their conversion webhook, please try again later", 1);
    }
    this.#add(webhook, 1, bytes);
    return () => this.#add(webhook, -1, -bytes);
  }

  #add(webhook: string, count: number, bytes: number): void {
    const before = this.#calls.get(webhook) ?? { count: 0, bytes: 0 };
    const after = { count: before.count + count, bytes: before.bytes + bytes };
    if (after.count === 0) this.#calls.delete(webhook);
    else this.#calls.set(webhook, after);
  }
}
