/** The token webhook, asked about tokens that no other authenticator knows. Loaded only when configured. */
import type { TokenAuthenticator } from "#authn/bearer-token.ts";
import { WebhookTokens } from "#authn/webhook-token.ts";
import type { AccessConfig } from "../access-config.ts";
import { seldom } from "../seldom.ts";
import { openWebhook, type WebhookConnection } from "#client/webhook-connection.ts";

/** Opens the webhook of `--authentication-token-webhook-config-file`. */
export function openTokenWebhook(
  { options, domain, clock, random, log, issuer }: AccessConfig,
  connection: WebhookConnection,
): { readonly tokens: TokenAuthenticator; close(): void } {
  const hook = openWebhook(connection, clock);
  const tokens = new WebhookTokens({
    ...hook,
    apiVersion: domain.rename(`authentication.k8s.io/${options.authenticationTokenWebhookVersion}`),
    audiences: issuer.audiences,
    cacheTtlMs: options.authenticationTokenWebhookCacheTtlMs,
    clock,
    random,
    failed: seldom(clock, (error) => log.error({ error }, "the token webhook gave no answer")),
  });
  return {
    tokens,
    close() {
      tokens.close();
      hook.outgoing.close();
    },
  };
}
