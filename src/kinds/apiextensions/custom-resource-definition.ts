/**
 * CustomResourceDefinition: names filled in, the status that is nobody's to write, and the two steps of its deletion.
 * Conditions, serving and the removal of its objects are `extensions/`'s. Source: upstream's
 * `pkg/registry/customresourcedefinition`.
 */
import { cleanupFinalizer, withCondition } from "#api/apiextensions/conditions.ts";
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from "#api/apiextensions/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Column } from "#registry/resource-definition.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { fieldText } from "#meta/field-texts.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { someSchema } from "#schema/structural.ts";
import { createdColumn, nameColumn } from "../cells.ts";
import { editField, type Json, objectField, textField, withField } from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateDefinition, validateDefinitionStatus, validateDefinitionUpdate } from "./validate-definition.ts";

export function customResourceDefinitions({ domain }: KindEnvironment, schema: () => Schema): KindBehaviour {
  const rules = { domain, metadata: () => schema().fields?.get("metadata")?.schema };
  const finalizer = domain.rename(cleanupFinalizer);
  return {
    unenforced: {
      warning: "this server stores conversion webhooks, but does not call them yet: versions differ in apiVersion only",
      when: (object) => typed(object).spec.conversion?.strategy === "Webhook",
    },
    anyFinalizers: true,
    columns: tableColumns(domain),
    statusResetsMetadata: true,
    strategy: {
      defaults: (object) => withStorageVersion(withSpecDefaults(object), true),
      prepareForCreate: (object) => withStorageVersion(object, false),
      prepareForUpdate: (object) => withStorageVersion(object, false),
      validate: (object) => validateDefinition(typed(object), rules),
      validateUpdate: (object, old) => validateDefinitionUpdate(typed(object), typed(old), rules),
      subresources: { status: { validateUpdate: (object) => validateDefinitionStatus(typed(object)) } },
      warningsOnCreate: (object) => ruleWarnings(typed(object), undefined),
      warningsOnUpdate: (object, old) => ruleWarnings(typed(object), typed(old)),
      // The first delete request only marks; from then on the finalizers say what is left to do.
      pendingFinalizers: ({ metadata }) => (metadata.deletionTimestamp === undefined ? [finalizer] : []),
      terminate: (object, old) => terminating(object, old, finalizer),
    },
  };
}

/** Name and creation, with the texts that clients of 1.32 are shown. */
function tableColumns(domain: ApiDomain): readonly Column[] {
  const name = { ...nameColumn, description: fieldText(domain, "name") };
  return [name, { ...createdColumn, description: fieldText(domain, "creationTimestamp") }];
}

/** The object as its type; its schema has decoded it. */
const typed = (object: Unstructured): CustomResourceDefinition => object as unknown as CustomResourceDefinition;

function withSpecDefaults(object: Unstructured): Unstructured {
  return editField(object, "spec", (spec) => {
    const named = editField(spec, "names", (names) => {
      const kind = textField(names, "kind");
      let next = names;
      if (textField(names, "singular") === "" && kind !== "") next = withField(next, "singular", kind.toLowerCase());
      if (textField(names, "listKind") === "" && kind !== "") next = withField(next, "listKind", `${kind}List`);
      return next;
    });
    if (objectField(named, "conversion") === undefined) return withField(named, "conversion", { strategy: "None" });
    return editField(named, "conversion", (conversion) =>
      editField(withoutEmptyWebhook(conversion), "webhook", (webhook) =>
        editField(webhook, "clientConfig", (config) =>
          editField(config, "service", (service) =>
            service["port"] === undefined ? { ...service, port: 443 } : service,
          ),
        ),
      ),
    );
  });
}

/** A webhook that says nothing is none. */
function withoutEmptyWebhook(conversion: Json): Json {
  const webhook = objectField(conversion, "webhook");
  const versions = webhook?.["conversionReviewVersions"] as readonly string[] | null | undefined; // its schema has decoded it
  if (webhook === undefined || webhook["clientConfig"] !== undefined || (versions?.length ?? 0) > 0) return conversion;
  const { webhook: _webhook, ...rest } = conversion;
  return rest;
}

/** The object with its storage version among those that were ever stored; `ifNone`: only when none is said. */
function withStorageVersion(object: Unstructured, ifNone: boolean): Unstructured {
  const { spec, status } = typed(object);
  const stored = status?.storedVersions ?? [];
  const storage = spec?.versions?.find((version) => version.storage)?.name;
  if (storage === undefined || stored.includes(storage) || (ifNone && stored.length > 0)) return object;
  return { ...object, status: { ...status, storedVersions: [...stored, storage] } };
}

function terminating(object: Unstructured, old: Unstructured, finalizer: string): Unstructured {
  const { finalizers = [], generation } = old.metadata;
  const { status } = typed(object);
  const time = object.metadata.deletionTimestamp ?? "";
  const conditions = withCondition(
    status?.conditions ?? [],
    {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    },
    time,
  );
  return {
    ...object,
    metadata: {
      ...object.metadata,
      ...(generation === undefined ? {} : { generation }),
      finalizers: finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer],
    },
    status: { ...status, conditions },
  };
}

/** Says of rules that are new to the definition that nobody follows them. */
function ruleWarnings(object: CustomResourceDefinition, old: CustomResourceDefinition | undefined): string[] {
  return (object.spec.versions ?? [])
    .filter((version) => hasRules(version) && !jsonEquals(version.schema, oldVersion(old, version.name)?.schema))
    .map(
      ({ name }) =>
        `spec.versions[${name}].schema: x-kubernetes-validations are kept and published, but this server does not evaluate them yet`,
    );
}

const oldVersion = (
  old: CustomResourceDefinition | undefined,
  name: string,
): CustomResourceDefinitionVersion | undefined => old?.spec.versions?.find((version) => version.name === name);

function hasRules({ schema }: CustomResourceDefinitionVersion): boolean {
  const props = schema?.openAPIV3Schema;
  return props !== undefined && someSchema(props, (inner) => inner["x-kubernetes-validations"] !== undefined);
}
