/**
 * A call to a webhook, and its failures. In a file of its own, since the client is loaded only where there are
 * webhooks.
 */

export interface WebhookCall {
  /** JSON. */
  readonly body: Buffer;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal | undefined;
}

/** A call without a usable answer. */
export class WebhookCallError extends Error {
  /** Whether there was no answer in the time of the call. */
  readonly isTimeout: boolean;
  /** The answer has this code; 503 stands for none. */
  readonly code: number;

  constructor(message: string, options: ErrorOptions & { readonly isTimeout?: boolean; readonly code?: number } = {}) {
    super(message, options);
    this.name = "WebhookCallError";
    this.isTimeout = options.isTimeout === true;
    this.code = options.code ?? 503;
  }
}
