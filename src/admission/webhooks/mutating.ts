/**
 * MutatingAdmissionWebhook: webhooks change an object, one after the other; each sees the changes of those before it. A
 * webhook that asks for it is called again when a later plugin changed the object. Source: upstream's plugin of this
 * name.
 */
import { jsonEquals } from "#apply/json-value.ts";
import { goQuote } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { internalError } from "#meta/status-error.ts";
import { Yielder } from "#std/cooperative.ts";
import { isExempt } from "../matching.ts";
import { type AdmissionAttributes, type AdmissionPlugin, type MutationRound, withObject } from "../plugin.ts";
import type { ReviewedWrite } from "./caller.ts";
import {
  annotateFailedOpen,
  meetsConditions,
  questionOf,
  type RequestChecks,
  type WebhookPluginParts,
} from "./plugin-parts.ts";
import type { Webhook } from "./webhook.ts";

const name = "MutatingAdmissionWebhook";

/** The data that the first round leaves for the second. */
interface Notes {
  /** Ids of the webhooks that want to see later changes. */
  readonly called: Set<string>;
  /** Ids of the ones that were called before such a change, and have to be called again. */
  readonly due: Set<string>;
  output: ApiObject | undefined;
}

export function mutatingWebhooks(parts: WebhookPluginParts): AdmissionPlugin {
  const { list, domain, environment } = parts;
  return {
    name,
    operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"],
    admit(attributes, round) {
      const { webhooks } = list;
      if (webhooks.length === 0 || isExempt(attributes, domain)) return undefined;
      const isAny = webhooks.some(({ matcher }) => matcher.match(attributes, environment) !== undefined);
      return isAny ? new Mutation(parts, attributes, round).run(webhooks) : undefined;
    },
  };
}

/** Runs one round of one write. */
class Mutation {
  readonly #parts: WebhookPluginParts;
  readonly #round: MutationRound;
  readonly #notes: Notes;
  readonly #checks: RequestChecks = {};
  #attributes: AdmissionAttributes;

  constructor(parts: WebhookPluginParts, attributes: AdmissionAttributes, round: MutationRound) {
    this.#parts = parts;
    this.#attributes = attributes;
    this.#round = round;
    const notes = (round.notes.get(name) as Notes | undefined) ?? {
      called: new Set(),
      due: new Set(),
      output: undefined,
    }; // ours
    round.notes.set(name, notes);
    this.#notes = notes;
  }

  /** Returns the changed object; `undefined` when it is unchanged. */
  async run(webhooks: readonly Webhook[]): Promise<ApiObject | undefined> {
    const { called, due, output } = this.#notes;
    const { object } = this.#attributes;
    // A change by another plugin between the rounds is shown to all webhooks that asked for it.
    if (this.#round.isSecond && !jsonEquals(object, output)) for (const id of called) due.add(id);
    const yielder = new Yielder(this.#parts.clock);
    for (const [index, webhook] of webhooks.entries()) {
      if (yielder.isDue) await yielder.pause();
      const matched = webhook.matcher.match(this.#attributes, this.#parts.environment);
      if (matched === undefined || (this.#round.isSecond && !due.has(webhook.id))) continue;
      const question = await questionOf(this.#parts, this.#attributes, matched);
      if (!(await meetsConditions(this.#parts, webhook, "admit", question, this.#checks))) continue;
      if (await this.#call(webhook, question, index)) {
        this.#round.repeat();
        for (const id of called) due.add(id);
      }
      if (webhook.isReinvoked) called.add(webhook.id);
    }
    this.#notes.output = this.#attributes.object;
    return this.#attributes.object === object ? undefined : this.#attributes.object;
  }

  /** Calls a webhook; returns whether it changed the object. */
  async #call(webhook: Webhook, question: ReviewedWrite, index: number): Promise<boolean> {
    const { caller, forms, domain } = this.#parts;
    const attributes = this.#attributes;
    const {
      object,
      matched: { kind },
    } = question;
    const auditKey = `round_${this.#round.isSecond ? 1 : 0}_index_${index}`;
    let mutated = false;
    try {
      const answer = await caller.ask(webhook, question);
      if (answer === undefined) {
        annotateFailedOpen(attributes, domain, "mutation", webhook, auditKey);
        return false;
      }
      const { patch } = answer;
      if (patch === undefined) return false;
      if (object === undefined) {
        throw internalError(
          `admission webhook ${goQuote(webhook.name)} attempted to modify the object, which is not supported for this operation`,
        );
      }
      const next = await forms.applyPatch(object, kind, patch);
      this.#annotatePatch(webhook, auditKey, patch);
      mutated = !jsonEquals(next, object);
      if (mutated) {
        const own = kind === attributes.kind ? next : await forms.convertTo(next, attributes.kind);
        this.#attributes = withObject(attributes, own);
      }
      return mutated;
    } finally {
      const { configuration, name: hook } = webhook;
      const key = domain.rename(`mutation.webhook.admission.k8s.io/${auditKey}`);
      attributes.context.annotate(key, JSON.stringify({ configuration, webhook: hook, mutated }));
    }
  }

  /** Records the patch in an audit annotation, if audit records the bodies of the request. */
  #annotatePatch({ configuration, name: webhook }: Webhook, auditKey: string, patch: Buffer): void {
    const { context } = this.#attributes;
    if (context.recordsBodies !== true) return;
    const head = JSON.stringify({ configuration, webhook }).slice(0, -1);
    const key = this.#parts.domain.rename(`patch.webhook.admission.k8s.io/${auditKey}`);
    context.annotate(key, `${head},"patch":${patch.toString()},"patchType":"JSONPatch"}`);
  }
}
