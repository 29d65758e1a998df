/**
 * MutatingAdmissionWebhook and ValidatingAdmissionWebhook: the lists of webhooks, which follow the stored
 * configurations, and the plugins that call the webhooks. When none is configured, a write costs two comparisons.
 */
import type { AdmissionPlugin } from "./plugin.ts";
import { AdmissionStarts, type CallerOptions, WebhookCaller, type WebhookType } from "./webhooks/caller.ts";
import { mutatingWebhooks } from "./webhooks/mutating.ts";
import type { WebhookPluginParts } from "./webhooks/plugin-parts.ts";
import { validatingWebhooks } from "./webhooks/validating.ts";
import { type Webhook, WebhookList, type WebhookListOptions } from "./webhooks/webhook.ts";

export type { ObservedCall, WebhookObserver, WebhookType } from "./webhooks/caller.ts";
export type { Webhook, WebhookList } from "./webhooks/webhook.ts";

export class WebhookLists {
  readonly mutating: WebhookList;
  readonly validating: WebhookList;

  constructor(options: WebhookListOptions) {
    this.mutating = new WebhookList(options);
    this.validating = new WebhookList(options);
  }

  /** Webhooks that are left alone for a while because they did not answer. */
  get silent(): readonly Webhook[] {
    return [...this.mutating.silent, ...this.validating.silent];
  }
}

interface WebhookPluginOptions extends CallerOptions, Omit<WebhookPluginParts, "list" | "caller"> {
  readonly lists: WebhookLists;
}

export function webhookPlugins(options: WebhookPluginOptions): {
  readonly mutating: AdmissionPlugin;
  readonly validating: AdmissionPlugin;
} {
  const { lists } = options;
  const starts = new AdmissionStarts();
  const caller = (type: WebhookType): WebhookCaller => new WebhookCaller(options, type, starts);
  return {
    mutating: mutatingWebhooks({ ...options, list: lists.mutating, caller: caller("admit") }),
    validating: validatingWebhooks({ ...options, list: lists.validating, caller: caller("validating") }),
  };
}
