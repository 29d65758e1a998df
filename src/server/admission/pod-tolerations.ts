/** The configuration of PodTolerationRestriction. Loaded only when the plugin is on. */
import { podTolerationRestriction, type TolerationSettings } from "#admission/pod-toleration-restriction.ts";
import type { Toleration } from "#api/core/v1.ts";
import { ConfigError, integerValue, listOf, readDocument, struct, textValue } from "#codec/config-document.ts";
import { isBestEffort, validateTolerations } from "#kinds/pod-tolerations.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { ReadPlugin } from "./planned-plugin.ts";

/** Reads the tolerations. Throws `ConfigError`. Without a document, there are only those of namespaces. */
export const planPodTolerations: ReadPlugin = (text, domain) => {
  const settings = text === undefined ? { initial: [], allowed: [] } : readTolerations(text, domain);
  return {
    settings,
    open: ({ lookups }) =>
      podTolerationRestriction({
        ...settings,
        domain,
        getNamespace: lookups.getNamespace,
        isBestEffort,
      }),
  };
};

function readTolerations(text: string, domain: ApiDomain): TolerationSettings {
  const tolerations = listOf<Toleration>(
    struct({
      key: textValue,
      operator: textValue,
      value: textValue,
      effect: textValue,
      tolerationSeconds: integerValue,
    }),
  );
  const { default: initial = [], whitelist: allowed = [] } = readDocument(text, {
    kind: "Configuration",
    apiVersions: [domain.rename("podtolerationrestriction.admission.k8s.io/v1alpha1")],
    fields: { default: tolerations, whitelist: tolerations },
    lenient: true,
  });
  const errors = [
    ...validateTolerations(initial, FieldPath.of("podtolerationrestriction", "default")),
    ...validateTolerations(allowed, FieldPath.of("podtolerationrestriction", "whitelist")),
  ];
  if (errors.length > 0) throw new ConfigError(`invalid config: [${errors.map(printFieldError).join(" ")}]`);
  return { initial, allowed };
}
