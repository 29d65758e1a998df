/**
 * Validates webhook configurations. An update may keep errors that the stored configuration already has. Source:
 * upstream's `apis/admissionregistration/validation`, and the answers of kube-apiserver.
 */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from "#api/admissionregistration/v1.ts";
import { ExpressionBudget } from "#cel/expression-budget.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { duplicate, type FieldError, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Subdomain } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import {
  acceptedReviewVersions,
  checkReviewVersions,
  checkWebhookService,
  checkWebhookUrl,
} from "../webhook-address.ts";
import { checkConditions, type ConditionCheck } from "./check-conditions.ts";
import { validateRule } from "./rules.ts";

type Webhook = MutatingWebhook | ValidatingWebhook;
type Configuration = MutatingWebhookConfiguration | ValidatingWebhookConfiguration;

/** The checks that every webhook of a configuration has to pass. */
interface Demands {
  readonly hasUniqueNames: boolean;
  readonly hasNoSideEffects: boolean;
  readonly knowsVersion: boolean;
  /** The check of match conditions; `undefined` if an update does not change them. */
  readonly conditions: Omit<ConditionCheck, "hasParams" | "budget"> | undefined;
}

/**
 * Returns findings about the webhooks of a configuration. `old` is the stored configuration; `undefined` for a create.
 */
export function validateWebhooks(
  { webhooks = [] }: Configuration,
  old: Configuration | undefined,
  check: Pick<ConditionCheck, "hasSelectors">,
): FieldError[] {
  const demands = demandsOf(webhooks, old?.webhooks, check);
  const names = new Set<string>();
  const errors: FieldError[] = [];
  for (const [index, webhook] of webhooks.entries()) {
    const at = FieldPath.of("webhooks").index(index);
    addAll(errors, validateWebhook(webhook, at, demands));
    const { name } = webhook;
    if (demands.hasUniqueNames && name !== "" && names.has(name)) errors.push(duplicate(at.child("name"), name));
    names.add(name);
  }
  return errors;
}

function demandsOf(
  webhooks: readonly Webhook[],
  old: readonly Webhook[] | undefined,
  check: Pick<ConditionCheck, "hasSelectors">,
): Demands {
  if (old === undefined) {
    return { hasUniqueNames: true, hasNoSideEffects: true, knowsVersion: true, conditions: check };
  }
  const conditionsOf = (all: readonly Webhook[]) => all.map(({ matchConditions = [] }) => matchConditions);
  const stored = new Set(conditionsOf(old).flatMap((conditions) => conditions.map(({ expression }) => expression)));
  return {
    hasUniqueNames: new Set(old.map(({ name }) => name)).size === old.length,
    hasNoSideEffects: old.every(({ sideEffects }) => allowedEffects.includes(sideEffects ?? "")),
    knowsVersion: old.every(({ admissionReviewVersions }) =>
      (admissionReviewVersions ?? []).some((version) => acceptedReviewVersions.includes(version)),
    ),
    conditions: jsonEquals(conditionsOf(webhooks), conditionsOf(old)) ? undefined : { ...check, stored },
  };
}

const policies = ["Fail", "Ignore"];
const matchPolicies = ["Equivalent", "Exact"];
const reinvocations = ["IfNeeded", "Never"];
const allowedEffects = ["None", "NoneOnDryRun"];
const allEffects = ["None", "NoneOnDryRun", "Some", "Unknown"];

function validateWebhook(webhook: Webhook, at: FieldPath, demands: Demands): FieldError[] {
  const { failurePolicy, matchPolicy, sideEffects, timeoutSeconds, namespaceSelector, objectSelector } = webhook;
  const errors = [
    ...checkName(webhook.name, at.child("name")),
    ...(webhook.rules ?? []).flatMap((rule, index) => validateRule(rule, at.child("rules").index(index))),
    ...checkOneOf(failurePolicy, policies, at.child("failurePolicy")),
    ...checkOneOf(matchPolicy, matchPolicies, at.child("matchPolicy")),
  ];
  const effects = demands.hasNoSideEffects ? allowedEffects : allEffects;
  if (sideEffects === undefined || sideEffects === null) {
    errors.push(required(at.child("sideEffects"), `must specify one of ${effects.join(", ")}`));
  }
  addAll(errors, checkOneOf(sideEffects ?? undefined, effects, at.child("sideEffects")));
  if (timeoutSeconds !== undefined && (timeoutSeconds < 1 || timeoutSeconds > 30)) {
    const detail = "the timeout value must be between 1 and 30 seconds";
    errors.push(invalid(at.child("timeoutSeconds"), timeoutSeconds, detail));
  }
  addAll(errors, validateLabelSelector(namespaceSelector ?? {}, at.child("namespaceSelector")));
  addAll(errors, validateLabelSelector(objectSelector ?? {}, at.child("objectSelector")));
  if ("reinvocationPolicy" in webhook) {
    addAll(errors, checkOneOf(webhook.reinvocationPolicy, reinvocations, at.child("reinvocationPolicy")));
  }
  addAll(errors, checkClient(webhook, at.child("clientConfig")));
  if (demands.conditions !== undefined) {
    const budget = new ExpressionBudget("a webhook");
    const check = { hasParams: false, budget, ...demands.conditions };
    addAll(errors, checkConditions(webhook.matchConditions ?? [], at.child("matchConditions"), check));
  }
  errors.push(
    ...checkReviewVersions(webhook.admissionReviewVersions ?? [], at.child("admissionReviewVersions"), {
      missing: `must specify one of ${acceptedReviewVersions.join(", ")}`,
      mustKnow: demands.knowsVersion,
    }),
  );
  return errors;
}

const checkOneOf = (value: string | undefined, values: readonly string[], at: FieldPath): readonly FieldError[] =>
  value === undefined || values.includes(value) ? [] : [notSupported(at, value, values)];

/** Returns findings about the name of a webhook, a domain of at least three labels. */
function checkName(name: string, at: FieldPath): readonly FieldError[] {
  if (name === "") return [required(at)];
  const problems = dns1123Subdomain(name);
  if (problems.length > 0) return problems.map((problem) => invalid(at, name, problem));
  if (name.split(".").length >= 3) return [];
  return [invalid(at, name, "should be a domain with at least three segments separated by dots")];
}

function checkClient({ clientConfig }: Webhook, at: FieldPath): readonly FieldError[] {
  const { url, service } = clientConfig ?? {};
  if (url !== undefined && service === undefined) return checkWebhookUrl(url, at.child("url"));
  if (service !== undefined && url === undefined) return checkWebhookService(service, at.child("service"));
  return [required(at, "exactly one of url or service is required")];
}
