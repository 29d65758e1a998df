/** MutatingWebhookConfiguration and ValidatingWebhookConfiguration. `validate-webhook.ts` validates them. */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "#api/admissionregistration/v1.ts";
import { lazy } from "#std/lazy.ts";
import { andThen } from "#std/maybe-promise.ts";
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { editItems, editField, fillAbsent } from "../edit.ts";
import { expressionWeight } from "../expression-weight.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

/**
 * The module that validates webhooks. It needs the expression language, which is loaded for the first configuration.
 */
const validation = lazy(() => import("./validate-webhook.ts"));

export function mutatingWebhooks(environment: KindEnvironment): KindBehaviour<MutatingWebhookConfiguration> {
  return webhooks(environment, (hook) => fillAbsent(defaultHook(hook), { reinvocationPolicy: "Never" }));
}

export function validatingWebhooks(environment: KindEnvironment): KindBehaviour<ValidatingWebhookConfiguration> {
  return webhooks(environment, defaultHook);
}

/** Returns the behaviour of both kinds. Validating webhooks have the fields of mutating ones except one. */
function webhooks(
  { gate }: KindEnvironment,
  defaults: (hook: MutatingWebhook) => MutatingWebhook,
): KindBehaviour<MutatingWebhookConfiguration> {
  const check = { hasSelectors: gate("AuthorizeWithSelectors") };
  return {
    anyFinalizers: true,
    columns: [
      nameColumn,
      integer("Webhooks", "How many webhooks there are.", (object) => object.webhooks?.length ?? 0),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editItems(object, "webhooks", defaults),
      weight: ({ webhooks: all }) =>
        expressionWeight(
          (all ?? []).flatMap(({ matchConditions }) => (matchConditions ?? []).map(({ expression }) => expression)),
        ),
      checkRules: (configuration, old) =>
        andThen(validation(), ({ validateWebhooks }) => validateWebhooks(configuration, old, check)),
    },
  };
}

function defaultHook(hook: MutatingWebhook): MutatingWebhook {
  const next = fillAbsent(hook, {
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  });
  const addressed = editField(next, "clientConfig", (config) =>
    editField(config, "service", (service) => fillAbsent(service, { port: 443 })),
  );
  return editItems(addressed, "rules", (rule) => fillAbsent(rule, { scope: "*" }));
}
