/**
 * CustomResourceDefinition: defaulted names, the status that only the server writes, and two-phase deletion.
 * `extensions/` does conditions, serving, and removal of objects. Source: upstream's
 * `pkg/registry/customresourcedefinition`.
 */
import { cleanupFinalizer, withCondition } from "#api/apiextensions/conditions.ts";
import type {
  CustomResourceConversion,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
} from "#api/apiextensions/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Column } from "#registry/resource-definition.ts";
import { fieldText } from "#meta/field-texts.ts";
import { isObject } from "#std/is-object.ts";
import { lazy } from "#std/lazy.ts";
import { andThen } from "#std/maybe-promise.ts";
import { createdColumn, nameColumn } from "../cells.ts";
import { editField, fillAbsent, fillZero, withField } from "../edit.ts";
import { evaluationWeight, expressionWeight, patternsWeight } from "../expression-weight.ts";
import type { KindBehaviour, KindEnvironment, SchemaOfVersion } from "../generic.ts";

/**
 * The module that validates definitions. It needs the expression language, which is loaded for the first definition.
 */
const validation = lazy(() => import("./validate-definition.ts"));

export function customResourceDefinitions(
  { domain }: KindEnvironment,
  schemaOf: SchemaOfVersion,
): KindBehaviour<CustomResourceDefinition> {
  const rules = { domain, metadata: () => schemaOf().fields?.get("metadata")?.schema };
  const finalizer = domain.rename(cleanupFinalizer);
  return {
    anyFinalizers: true,
    columns: tableColumns(domain),
    statusResetsMetadata: true,
    strategy: {
      defaults: (object) => withStorageVersion(editField(object, "spec", defaultSpec), true),
      weight: ({ spec }) => weightOfSchemas(spec),
      prepareForCreate: (object) => withStorageVersion(object, false),
      prepareForUpdate: (object) => withStorageVersion(object, false),
      checkRules: (object, old) =>
        andThen(validation(), ({ validateDefinition, validateDefinitionUpdate }) =>
          old === undefined ? validateDefinition(object, rules) : validateDefinitionUpdate(object, old, rules),
        ),
      subresources: {
        status: { checkRules: (object) => andThen(validation(), (loaded) => loaded.validateDefinitionStatus(object)) },
      },
      // The first delete request only marks the definition. Afterwards its finalizers decide when it is removed.
      pendingFinalizers: ({ metadata }) => (metadata.deletionTimestamp === undefined ? [finalizer] : []),
      terminate: (object, old) => terminating(object, old, finalizer),
    },
  };
}

/**
 * Returns the weight of the rules and patterns at any depth of the schemas. A write of the definition also evaluates
 * the rules of parts that have a default.
 */
function weightOfSchemas({ versions }: CustomResourceDefinitionSpec): number {
  const texts: string[] = [];
  const patterns = new Set<string>();
  const waiting = (versions ?? []).map(({ schema }) => ({
    part: schema?.openAPIV3Schema as unknown,
    isDefault: false,
  }));
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { part } = next;
    if (typeof part !== "object" || part === null) continue;
    const isDefault = next.isDefault || "default" in part;
    for (const inner of Object.values(part)) waiting.push({ part: inner, isDefault });
    if ("pattern" in part && typeof part.pattern === "string") patterns.add(part.pattern);
    const rules: unknown = "x-kubernetes-validations" in part ? part["x-kubernetes-validations"] : undefined;
    if (!Array.isArray(rules)) continue;
    if (isDefault) return evaluationWeight;
    for (const rule of rules as readonly unknown[]) {
      if (!isObject(rule)) continue;
      for (const text of [rule["rule"], rule["messageExpression"]]) if (typeof text === "string") texts.push(text);
    }
  }
  return expressionWeight(texts) + patternsWeight(patterns);
}

/** Makes the columns of name and creation time, with the descriptions that clients of 1.32 see. */
function tableColumns(domain: ApiDomain): readonly Column<CustomResourceDefinition>[] {
  const name = { ...nameColumn, description: fieldText(domain, "name") };
  return [name, { ...createdColumn, description: fieldText(domain, "creationTimestamp") }];
}

function defaultSpec(spec: CustomResourceDefinitionSpec): CustomResourceDefinitionSpec {
  const named = editField(spec, "names", defaultNames);
  if (named.conversion === undefined) return withField(named, "conversion", { strategy: "None" });
  return editField(named, "conversion", (conversion) =>
    editField(withoutEmptyWebhook(conversion), "webhook", (webhook) =>
      editField(webhook, "clientConfig", (config) =>
        editField(config, "service", (service) => fillAbsent(service, { port: 443 })),
      ),
    ),
  );
}

function defaultNames(names: CustomResourceDefinitionNames): CustomResourceDefinitionNames {
  const { kind } = names;
  return kind === "" ? names : fillZero(names, { singular: kind.toLowerCase(), listKind: `${kind}List` });
}

/** Drops an empty webhook. */
function withoutEmptyWebhook(conversion: CustomResourceConversion): CustomResourceConversion {
  const { webhook } = conversion;
  if (webhook === undefined || webhook.clientConfig !== undefined) return conversion;
  return (webhook.conversionReviewVersions ?? []).length > 0 ? conversion : withField(conversion, "webhook", undefined);
}

/**
 * Returns the object with its storage version in `storedVersions`. With `ifNone`, the version is added to an empty list
 * only.
 */
function withStorageVersion(object: CustomResourceDefinition, ifNone: boolean): CustomResourceDefinition {
  const { spec, status } = object;
  const stored = status.storedVersions ?? [];
  const storage = spec.versions?.find((version) => version.storage)?.name;
  if (storage === undefined || stored.includes(storage) || (ifNone && stored.length > 0)) return object;
  return { ...object, status: { ...status, storedVersions: [...stored, storage] } };
}

function terminating(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition,
  finalizer: string,
): CustomResourceDefinition {
  const { finalizers = [], generation } = old.metadata;
  const { metadata, status } = object;
  const conditions = withCondition(
    status.conditions ?? [],
    {
      type: "Terminating",
      status: "True",
      reason: "InstanceDeletionPending",
      message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    },
    metadata.deletionTimestamp ?? "",
  );
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(generation === undefined ? {} : { generation }),
      finalizers: finalizers.includes(finalizer) ? finalizers : [...finalizers, finalizer],
    },
    status: { ...status, conditions },
  };
}
