/** Shared parts of the two webhook plugins. */
import type { Authorizer } from "#authz/authorizer.ts";
import type { AuthorizationChecks } from "#cel/authorizer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { forbidden } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { lazy } from "#std/lazy.ts";
import { admissionRequest } from "../admission-request.ts";
import type { Matched, MatchEnvironment } from "../matching.ts";
import type { ObjectForms } from "../object-form.ts";
import type { AdmissionAttributes } from "../plugin.ts";
import type { ReviewedWrite, WebhookCaller, WebhookObserver, WebhookType } from "./caller.ts";
import type { Webhook, WebhookList } from "./webhook.ts";

export interface WebhookPluginParts {
  readonly list: WebhookList;
  readonly caller: WebhookCaller;
  readonly environment: MatchEnvironment;
  readonly forms: ObjectForms;
  readonly domain: ApiDomain;
  /** The authorizer for conditions that ask what the user may do. */
  readonly authorizer: Authorizer;
  readonly observer: WebhookObserver;
  readonly clock: Clock;
}

const expressions = lazy(() => import("../admission-expressions.ts"));

/** The checks of the authorizer for one request, each asked once; made for its first webhook with conditions. */
export interface RequestChecks {
  checks?: AuthorizationChecks;
}

/** Returns the write in the form in which the rules matched. */
export async function questionOf(
  { forms }: WebhookPluginParts,
  attributes: AdmissionAttributes,
  matched: Matched,
): Promise<ReviewedWrite> {
  const { object, oldObject, kind } = attributes;
  if (matched.kind === kind) return { attributes, matched, object, oldObject };
  const convert = async (one: ApiObject | undefined): Promise<ApiObject | undefined> =>
    one === undefined ? undefined : forms.convertTo(one, matched.kind);
  return { attributes, matched, object: await convert(object), oldObject: await convert(oldObject) };
}

/**
 * Whether the conditions of a webhook let it be called. A condition without a value refuses the request, or leaves the
 * webhook out if its failures are ignored.
 */
export async function meetsConditions(
  { observer, clock, authorizer }: WebhookPluginParts,
  webhook: Webhook,
  type: WebhookType,
  question: ReviewedWrite,
  ofRequest: RequestChecks,
): Promise<boolean> {
  if (webhook.conditions === undefined) return true;
  const { attributes, matched } = question;
  const { operation, resource, name } = attributes;
  const { authorizationChecks, compileConditions, evaluateConditions, RequestValues } = await expressions();
  const checks = (ofRequest.checks ??= authorizationChecks(authorizer));
  // Upstream: the resource is that of the request, while the kind is that of the form that the webhook would see.
  const shown = { kind: matched.kind, resource };
  const values = new RequestValues({ ...question, request: () => admissionRequest(attributes, shown), checks });
  const startedMs = clock.monotonic();
  const result = await evaluateConditions(webhook.conditions(compileConditions), values);
  const seconds = (clock.monotonic() - startedMs) / 1000;
  const excluded = "error" in result ? webhook.ignoresFailure : result.outcome === "no";
  observer.conditions({ webhook, type, operation, seconds, hasFailed: "error" in result, isExcluded: excluded });
  if ("error" in result && !excluded) throw forbidden(resource, name, result.error.message);
  return !excluded;
}

/** Records an ignored failure in the audit log. */
export function annotateFailedOpen(
  { context }: AdmissionAttributes,
  { rename }: ApiDomain,
  phase: "mutation" | "validating",
  webhook: Webhook,
  auditKey: string,
): void {
  context.annotate(rename(`failed-open.${phase}.webhook.admission.k8s.io/${auditKey}`), webhook.name);
}
