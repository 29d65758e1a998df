/** Flags of authorization. Names and defaults are upstream's, except the default mode, which is RBAC. */
import { choice, duration, type Flag, list, optional, type OptionsOf } from "#std/flags.ts";

const authorizationModes = ["AlwaysAllow", "AlwaysDeny", "ABAC", "Webhook", "RBAC", "Node"] as const;
export type AuthorizationMode = (typeof authorizationModes)[number];

const authorization = (name: string) => [name, "Authorization"] as const;

const modes: Flag<readonly string[]> = {
  ...list(
    authorization("authorization-mode"),
    "modes",
    `Authorizers in order: ${authorizationModes.join(", ")}.`,
    (mode) =>
      (authorizationModes as readonly string[]).includes(mode)
        ? undefined
        : `must be one of ${authorizationModes.join(", ")}`,
  ),
  default: ["RBAC"],
};

export const authorizationFlags = {
  authorizationMode: modes,
  authorizationConfig: optional(
    authorization("authorization-config"),
    "file",
    "AuthorizationConfiguration: authorizers in order, webhooks among them; read again when it changes. Not with the other flags of this group.",
  ),
  authorizationPolicyFile: optional(
    authorization("authorization-policy-file"),
    "file",
    "Policies of the mode ABAC, one JSON object a line.",
  ),
  authorizationWebhookConfigFile: optional(
    authorization("authorization-webhook-config-file"),
    "file",
    "Kubeconfig of the webhook of the mode Webhook.",
  ),
  authorizationWebhookVersion: choice(
    authorization("authorization-webhook-version"),
    "v1beta1",
    ["v1", "v1beta1"],
    "Version of the SubjectAccessReview the webhook is sent.",
  ),
  authorizationWebhookCacheAuthorizedTtlMs: duration(
    authorization("authorization-webhook-cache-authorized-ttl"),
    5 * 60_000,
    "How long it counts that the webhook allowed something.",
  ),
  authorizationWebhookCacheUnauthorizedTtlMs: duration(
    authorization("authorization-webhook-cache-unauthorized-ttl"),
    30_000,
    "How long it counts that the webhook did not.",
  ),
};

export type AuthorizationFlags = OptionsOf<typeof authorizationFlags>;
