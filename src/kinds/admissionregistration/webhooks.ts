/** MutatingWebhookConfiguration and ValidatingWebhookConfiguration: who is asked before something is written. */
import { ageColumn, integer, nameColumn } from "../cells.ts";
import { editField, editItems, fillAbsent, type Json, listField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function mutatingWebhooks(): KindBehaviour {
  return webhooks((hook) => fillAbsent(hook, { reinvocationPolicy: "Never" }));
}

export function validatingWebhooks(): KindBehaviour {
  return webhooks((hook) => hook);
}

function webhooks(more: (hook: Json) => Json): KindBehaviour {
  return {
    anyFinalizers: true,
    unenforced: { warning: "this server stores admission webhooks, but does not call them yet" },
    columns: [
      nameColumn,
      integer("Webhooks", "How many webhooks there are.", (object) => listField(object, "webhooks").length),
      ageColumn,
    ],
    strategy: { defaults: (object) => editItems(object, "webhooks", (hook) => more(defaultHook(hook))) },
  };
}

function defaultHook(hook: Json): Json {
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
