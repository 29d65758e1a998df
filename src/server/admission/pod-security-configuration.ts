/**
 * The configuration of the admission plugin PodSecurity: the defaults for namespaces without labels, and exemptions.
 */
import {
  levelMessage,
  modes,
  type PodSecuritySettings,
  type SecurityPolicy,
  readLevel,
  readVersion,
  versionMessage,
} from "#admission/pod-security.ts";
import {
  ConfigError,
  type Decoded,
  type Form,
  listOf,
  readDocument,
  struct,
  textValue,
} from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { aggregate, duplicate, type FieldError, invalid, printFieldError } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain, type NameCheck } from "#meta/names.ts";

const defaults = {
  enforce: textValue,
  "enforce-version": textValue,
  audit: textValue,
  "audit-version": textValue,
  warn: textValue,
  "warn-version": textValue,
};

const fields = {
  defaults: struct(defaults),
  exemptions: struct({
    usernames: listOf(textValue),
    namespaces: listOf(textValue),
    runtimeClasses: listOf(textValue),
  }),
} satisfies Readonly<Record<string, Form<unknown>>>;

type Configuration = Decoded<typeof fields>;

/** Throws `ConfigError` for a text that is not such a configuration. */
export function decodePodSecurity(text: string, domain: ApiDomain): Configuration {
  return readDocument(text, {
    kind: "PodSecurityConfiguration",
    apiVersions: ["v1", "v1beta1", "v1alpha1"].map((version) =>
      domain.rename(`pod-security.admission.config.k8s.io/${version}`),
    ),
    fields,
  });
}

/** Throws `ConfigError` for invalid values. */
export function podSecuritySettings({
  defaults: policyDefaults = {},
  exemptions = {},
}: Configuration): PodSecuritySettings {
  const policy = readDefaults(policyDefaults);
  const { namespaces = [], runtimeClasses = [], usernames = [] } = exemptions;
  const errors = [
    ...listErrors("namespaces", namespaces, dns1123Label),
    ...listErrors("runtimeClasses", runtimeClasses, dns1123Subdomain),
    ...listErrors("usernames", usernames, (name) => (name === "" ? ["username must not be empty"] : [])),
  ];
  if (errors.length > 0) throw new ConfigError(`PodSecurity invalid: ${aggregate(errors.map(printFieldError))}`);
  return {
    defaults: policy,
    exemptUsers: new Set(usernames),
    exemptNamespaces: new Set(namespaces),
    exemptRuntimeClasses: new Set(runtimeClasses),
  };
}

/** An empty text counts as an absent value. */
function readDefaults(policyDefaults: Decoded<typeof defaults>): SecurityPolicy {
  const errors: string[] = [];
  const standards = modes.map((mode) => {
    const level = readLevel(policyDefaults[mode] || "privileged");
    if (level === undefined) errors.push(`${mode}: ${levelMessage}`);
    const version = policyDefaults[`${mode}-version`] || "latest";
    const minor = readVersion(version);
    if (minor === undefined) errors.push(`${mode}-version: ${versionMessage}`);
    return [mode, { level, version, minor }];
  });
  if (errors.length > 0) throw new ConfigError(`PodSecurity configuration error: ${aggregate(errors)}`);
  return Object.fromEntries(standards) as SecurityPolicy; // each mode has one, without errors
}

function listErrors(name: string, values: readonly string[], check: NameCheck): readonly FieldError[] {
  const path = FieldPath.of("exemptions", name);
  const seen = new Set<string>();
  return values.flatMap((value, at) => {
    const problems = check(value);
    if (problems.length > 0) return [invalid(path.index(at), value, problems.join(", "))];
    if (seen.has(value)) return [duplicate(path.index(at), value)];
    seen.add(value);
    return [];
  });
}
