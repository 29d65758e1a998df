/** Refusals by webhooks as clients see them. Source: upstream's `admission/plugin/webhook/errors`. */
import { goQuote } from "#meta/field-error.ts";
import { badRequest, type Status, StatusError } from "#meta/status-error.ts";
import type { WebhookStatus } from "./webhook-status.ts";

/** Makes the refusal with the code, reason and message of the webhook, as far as it gave ones that can be sent. */
export function rejection(webhook: string, status: WebhookStatus | undefined): StatusError {
  const { code = 0, reason = "", message = "", metadata = {}, details } = status ?? {};
  const denied = `admission webhook ${goQuote(webhook)} denied the request`;
  const why = message === "" ? reason : message;
  const shown: Status = {
    kind: "Status",
    apiVersion: "v1",
    metadata,
    status: "Failure",
    message: why === "" ? `${denied} without explanation` : `${denied}: ${why}`,
    ...(reason === "" ? {} : { reason }),
    ...(details === undefined ? {} : { details }),
    // An answer needs a code of an error, and a code that HTTP can send.
    code: code < 400 || code > 599 ? 400 : code,
  };
  return new StatusError(shown, { showsValues: false });
}

/** The error of a dry run that would call a webhook with side effects. */
export const noDryRun = (webhook: string): StatusError =>
  badRequest(`admission webhook ${goQuote(webhook)} does not support dry run`);
