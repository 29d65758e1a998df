/**
 * ValidatingAdmissionWebhook: calls all matching webhooks at the same time. If several refuse, the client gets the
 * refusal of the first webhook. Source: upstream's plugin of this name.
 */
import { apiVersionOf } from "#meta/group-version.ts";
import { Yielder } from "#std/cooperative.ts";
import { isExempt, type Matched } from "../matching.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "../plugin.ts";
import type { ReviewedWrite } from "./caller.ts";
import {
  annotateFailedOpen,
  meetsConditions,
  questionOf,
  type RequestChecks,
  type WebhookPluginParts,
} from "./plugin-parts.ts";
import type { Webhook } from "./webhook.ts";

export function validatingWebhooks(parts: WebhookPluginParts): AdmissionPlugin {
  const { list, domain, environment } = parts;
  return {
    name: "ValidatingAdmissionWebhook",
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    validate(attributes) {
      const { webhooks } = list;
      if (webhooks.length === 0 || isExempt(attributes, domain)) return undefined;
      const relevant = webhooks.flatMap((webhook) => {
        const matched = webhook.matcher.match(attributes, environment);
        return matched === undefined ? [] : [{ webhook, matched }];
      });
      return relevant.length === 0 ? undefined : askAll(parts, attributes, relevant);
    },
  };
}

interface Relevant {
  readonly webhook: Webhook;
  readonly matched: Matched;
}

async function askAll(
  parts: WebhookPluginParts,
  attributes: AdmissionAttributes,
  relevant: readonly Relevant[],
): Promise<void> {
  const checks: RequestChecks = {};
  const called: (Relevant & { readonly question: ReviewedWrite })[] = [];
  let last: ReviewedWrite | undefined;
  const yielder = new Yielder(parts.clock);
  for (const one of relevant) {
    if (yielder.isDue) await yielder.pause();
    // Most webhooks see the same form, which is converted and encoded once.
    const isSame = last !== undefined && isSameForm(last.matched, one.matched);
    const question: ReviewedWrite = isSame ? last! : await questionOf(parts, attributes, one.matched);
    last = question;
    if (await meetsConditions(parts, one.webhook, "validating", question, checks)) called.push({ ...one, question });
  }
  const results = await Promise.allSettled(
    called.map(async ({ webhook, question }, index) => {
      const answer = await parts.caller.ask(webhook, question);
      if (answer !== undefined) return;
      annotateFailedOpen(attributes, parts.domain, "validating", webhook, `round_0_index_${index}`);
    }),
  );
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

/** Whether two webhooks see the same form. Versions of a resource may share the kind of a subresource. */
const isSameForm = (a: Matched, b: Matched): boolean =>
  apiVersionOf(a.kind) === apiVersionOf(b.kind) && apiVersionOf(a.resource) === apiVersionOf(b.resource);
