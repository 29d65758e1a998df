/** MutatingWebhookConfiguration and ValidatingWebhookConfiguration: which webhooks a write is sent to. */
import type {
  MutatingWebhook,
  MutatingWebhookConfiguration,
  ValidatingWebhookConfiguration,
} from "#api/admissionregistration/v1.ts";
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { editItems, editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function mutatingWebhooks(): KindBehaviour<MutatingWebhookConfiguration> {
  return webhooks((hook) => fillAbsent(defaultHook(hook), { reinvocationPolicy: "Never" }));
}

export function validatingWebhooks(): KindBehaviour<ValidatingWebhookConfiguration> {
  return webhooks(defaultHook);
}

/** Validating webhooks have the fields of mutating ones but one. */
function webhooks(defaults: (hook: MutatingWebhook) => MutatingWebhook): KindBehaviour<MutatingWebhookConfiguration> {
  return {
    anyFinalizers: true,
    columns: [
      nameColumn,
      integer("Webhooks", "How many webhooks there are.", (object) => object.webhooks?.length ?? 0),
      ageColumn,
    ],
    strategy: { defaults: (object) => editItems(object, "webhooks", defaults) },
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
