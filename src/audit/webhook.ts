/**
 * Sends events to a webhook as an `EventList`. A failed call is retried a few times, whatever the reason. Source:
 * upstream's `plugin/webhook` and its backoff.
 */
import type { Outgoing } from "#egress/outgoing-https.ts";
import { retryCall } from "#egress/webhook-question.ts";
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type { EventWriter } from "./backend.ts";
import type { EventRecord } from "./event.ts";

interface AuditWebhookOptions {
  readonly outgoing: Outgoing;
  readonly url: string;
  /** Headers with credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The domain's `audit.k8s.io/v1`. */
  readonly apiVersion: string;
  /** The pause before the second call in milliseconds; each later pause is 1.5 times as long. */
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends calls and pauses; their events are lost. */
  readonly signal: AbortSignal;
}

const callTimeoutMs = 30_000;
const answerBytesMax = 1024 * 1024;

export function auditWebhook(options: AuditWebhookOptions): EventWriter {
  const { outgoing, url, apiVersion, signal } = options;
  const headers = { ...options.headers, "content-type": "application/json", accept: "application/json" };

  async function call(body: Buffer): Promise<void> {
    const { code } = await outgoing.callOut({
      url,
      method: "POST",
      headers,
      body,
      timeoutMs: callTimeoutMs,
      maxBytes: answerBytesMax,
      signal,
    });
    if (code < 200 || code > 299) throw new Error(`the webhook answered ${code}`);
  }

  const retry = { ...options, firstPauseMs: options.initialBackoffMs };
  const underWay = new Set<Promise<void>>();
  return {
    write(records) {
      const body = eventList(records, apiVersion);
      const calls = retryCall(
        () => call(body),
        () => true,
        retry,
      ).finally(() => underWay.delete(calls));
      underWay.add(calls);
      return calls;
    },
    async close() {
      await Promise.allSettled(underWay);
      outgoing.close();
    },
  };
}

function eventList(records: readonly EventRecord[], apiVersion: string): Buffer {
  const items = records.map(({ text }) => text).join(",");
  return Buffer.from(
    `{"kind":"EventList","apiVersion":${JSON.stringify(apiVersion)},"metadata":{},"items":[${items}]}\n`,
  );
}
