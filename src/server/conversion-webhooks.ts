/** Calls conversion webhooks. */
import type { FindServiceAddress } from "#egress/service-address.ts";
import type { WebhookClients } from "#egress/webhook-client.ts";
import { conversionByReview } from "#extensions/conversion-review.ts";
import { tooManyRequests } from "#meta/status-error.ts";
import { webhookTunnels } from "./egress.ts";
import type { ServerParts } from "./server-parts.ts";

/** The maximum time in milliseconds of one call, as upstream. */
const timeoutMs = 30_000;
/** The maximum number of simultaneous calls of one webhook, and of their bytes. A single call may have more bytes. */
const callsMax = 128;
const bytesMax = 64 * 1024 * 1024;
/** The maximum bytes of an answer: this number, plus `answerGrowth` for each byte that was sent. */
const answerBytesMin = 3 * 1024 * 1024;
const answerGrowth = 4;

/** The HTTP client is loaded for the first call, since most servers make none. */
export function openConversionWebhooks(
  { domain, random, clock, egress }: Pick<ServerParts, "domain" | "random" | "clock" | "egress">,
  serviceAddress: FindServiceAddress,
) {
  let clients: Promise<WebhookClients> | undefined;
  const open = async (): Promise<WebhookClients> => {
    const loaded = await import("#egress/webhook-client.ts");
    return new loaded.WebhookClients({
      clock,
      serviceAddress,
      tunnels: webhookTunnels(egress),
      credentials: () => undefined,
    });
  };
  const pending = new PendingCalls();
  return {
    convert: conversionByReview(domain, random, async ({ clientConfig = {} }, body, question, caller) => {
      clients ??= open();
      const answerBytesMax = answerBytesMin + answerGrowth * body.length;
      const end = pending.begin(JSON.stringify(clientConfig), body.length);
      const span = caller?.span?.start(
        "Call conversion webhook",
        { "object-count": question.objects, UID: question.uid, "desired-api-version": question.desiredAPIVersion },
        "client",
      );
      const [signal, traceparent] = [caller?.signal, span?.traceparent];
      const call = { body, timeoutMs, isClientLimit: true, answerBytesMax, signal, traceparent };
      try {
        return await (await clients).post(clientConfig, call);
      } catch (error) {
        span?.fail();
        throw error;
      } finally {
        span?.end();
        end();
      }
    }),
    /** Ends connections and pending calls. */
    close: () => void clients?.then((opened) => opened.close()),
  };
}

/** The numbers of pending calls and their bytes, by webhook. */
class PendingCalls {
  readonly #calls = new Map<string, { readonly count: number; readonly bytes: number }>();

  /** Registers a call and returns the function that ends it. Throws `tooManyRequests`. */
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
