/** The token webhook. It gets tokens that no other authenticator accepts. Loaded only when it is configured. */
import { WebhookTokens } from "#authn/webhook-token.ts";
import { rateLimited } from "#std/log.ts";
import { openWebhook, type WebhookConnection } from "#egress/webhook-connection.ts";
import type { AuthenticationParts } from "./parts.ts";

/** Opens the webhook of `--authentication-token-webhook-config-file`. */
export const openTokenWebhook = (
  { options, domain, clock, random, log, egress }: AuthenticationParts,
  connection: WebhookConnection,
  audiences: readonly string[],
): WebhookTokens =>
  new WebhookTokens({
    ...openWebhook(connection, clock, egress.controlPlane),
    apiVersion: domain.rename(`authentication.k8s.io/${options.authenticationTokenWebhookVersion}`),
    audiences,
    cacheTtlMs: options.authenticationTokenWebhookCacheTtlMs,
    clock,
    random,
    failed: rateLimited(clock, (error) => log.error({ error }, "the token webhook gave no answer")),
  });
