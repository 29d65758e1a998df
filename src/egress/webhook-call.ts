/**
 * A call to a webhook, and its failures. A file of its own, since the client is loaded only when there are webhooks.
 */

import type { CallProblem } from "./connection-problem.ts";

export interface WebhookCall {
  /** The body, which is JSON. */
  readonly body: Buffer;
  readonly timeoutMs: number;
  /** Whether the time limit is one of the caller's client, which messages then say, and not of the request. */
  readonly isClientLimit?: boolean;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal | undefined;
  /** The header by which the webhook continues the trace; absent when the request is not traced. */
  readonly traceparent?: string | undefined;
}

interface WebhookCallErrorOptions extends ErrorOptions {
  readonly isTimeout?: boolean;
  readonly code?: number;
  /** The kind of the problem; left out: an answer that cannot be used. */
  readonly problem?: CallProblem;
  /** Whether nothing was called, since the configuration cannot be used. */
  readonly isUncallable?: boolean;
}

/** The error of a call without a usable answer. */
export class WebhookCallError extends Error {
  /** Whether no answer arrived in time. */
  readonly isTimeout: boolean;
  /** The code of the answer; 503 without an answer. */
  readonly code: number;
  readonly problem: CallProblem;
  readonly isUncallable: boolean;

  constructor(message: string, options: WebhookCallErrorOptions = {}) {
    super(message, options);
    this.name = "WebhookCallError";
    this.problem = options.problem ?? "answer";
    this.isTimeout = options.isTimeout === true;
    this.isUncallable = options.isUncallable === true;
    this.code = options.code ?? 503;
  }
}
