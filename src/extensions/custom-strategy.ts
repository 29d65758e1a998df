/**
 * The strategy of custom resources: writes of the status, generation, and validation by the schema. Source: upstream's
 * `pkg/registry/customresource`.
 */
import type { CustomResourceSubresourceScale } from "#api/apiextensions/v1.ts";
import { fieldSetOf } from "#apply/field-set.ts";
import { sameMembers } from "#apply/json-value.ts";
import type { RuleOptions } from "#cel/schema-rules.ts";
import { type FieldError, type FieldErrorType, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { type Unstructured, nextGeneration, withStatus } from "#meta/object-meta.ts";
import { whileTerminating } from "#meta/status-error.ts";
import { finalizerWarnings } from "#meta/validate-object-meta.ts";
import type { Strategy, UpdateStrategy, WriteAttributes } from "#registry/resource-definition.ts";
import { nestedField, nestedInteger, nestedText } from "#schema/nested-field.ts";
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { checkEmbedded, checkListTypes, patternWeight, validateValue } from "#schema/structural.ts";
import { addAll } from "#std/add-all.ts";
import type { CustomVersion } from "./custom-version.ts";

export interface CustomStrategyOptions {
  readonly group: string;
  readonly resource: string;
  readonly version: CustomVersion;
  readonly hasStatus: boolean;
  readonly scale: CustomResourceSubresourceScale | undefined;
  /** The names of fields for selectors: paths without the first dot. */
  readonly selectable: readonly string[];
  /** Whether the definition is being deleted, so that no object may be created. */
  readonly isTerminating: boolean;
}

const statusPath = FieldPath.of("status");
const mainResets = fieldSetOf([["f:status"]]);
const statusResets = fieldSetOf([["f:spec"]]);

export function customStrategy(options: CustomStrategyOptions): Strategy {
  const { version, hasStatus, selectable } = options;
  return {
    weight: (object) => patternWeight(version.structural.node, object),
    prepareForCreate(object) {
      if (options.isTerminating) throw whileTerminating(options, "create");
      return hasStatus ? withStatus(object, undefined) : object;
    },
    prepareForUpdate(object, old) {
      const next = hasStatus ? withStatus(object, old["status"]) : object;
      if (sameMembers(next, old, outside)) return next;
      return { ...next, metadata: { ...next.metadata, generation: nextGeneration(old.metadata) } };
    },
    validate: (object) => findings(options, object),
    validateUpdate: (object, old) => findings(options, object, old),
    checkRules: (object, old, errors, attributes) => ruleFindings(version, object, { old }, errors, attributes),
    ...(hasStatus ? { resetFields: mainResets, subresources: { status: statusStrategy(options) } } : {}),
    warningsOnCreate: (object) => finalizerWarnings(object.metadata.finalizers),
    warningsOnUpdate,
    ...(selectable.length === 0 ? {} : { fields: (object) => selectedFields(object, selectable) }),
  };
}

/** Returns the errors of an object except those of the rules. */
function findings({ version, scale }: CustomStrategyOptions, object: Unstructured, old?: Unstructured): FieldError[] {
  const { node } = version.structural;
  return [
    ...validateValue(object, node, old),
    ...checkScale(object, scale, true),
    ...checkEmbedded(object, node),
    ...checkListTypes(object, node, old),
  ];
}

function statusStrategy({ version, scale }: CustomStrategyOptions): UpdateStrategy {
  return {
    resetFields: statusResets,
    prepareForUpdate: onlyStatus,
    validateUpdate(object, old) {
      const { structural } = version;
      const status = structural.property("status");
      const isChecked = status !== undefined && Object.hasOwn(object, "status");
      return [
        ...(isChecked ? validateValue(object["status"], status.node, undefined, statusPath) : []),
        ...checkScale(object, scale, false),
        ...checkListTypes(object, structural.node, old),
      ];
    },
    // A write of the status must fulfil the rules of all parts of the object, as upstream.
    checkRules: (object, old, errors, attributes) =>
      ruleFindings(version, object, { old, isStrict: true }, errors, attributes),
    warningsOnUpdate,
  };
}

const warningsOnUpdate = (object: Unstructured, old: Unstructured): readonly string[] =>
  finalizerWarnings(object.metadata.finalizers, old.metadata.finalizers);

/** The types of errors after which rules are not evaluated, since rules may rely on the schema. */
const blocking: ReadonlySet<FieldErrorType> = new Set([
  "FieldValueNotSupported",
  "FieldValueRequired",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid",
]);

/** Returns the errors of the schema's rules. `others` are the other errors of the schema. */
function ruleFindings(
  { rules }: CustomVersion,
  object: Unstructured,
  options: RuleOptions,
  others: readonly FieldError[],
  { context }: WriteAttributes,
): MaybePromise<readonly FieldError[]> {
  if (rules === undefined) return [];
  if (others.some(({ type }) => blocking.has(type))) {
    const detail =
      "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
    return [invalid(FieldPath.root, null, detail)];
  }
  const checked = andThen(rules, (loaded) => loaded.check(object, options));
  if (isLate(checked)) context.slow?.();
  return andThen(checked, ({ errors, tolerated }) => {
    for (const finding of tolerated) context.warn(finding);
    return errors;
  });
}

/** Returns the old object with the new status and the new `managedFields`. */
function onlyStatus(object: Unstructured, old: Unstructured): Unstructured {
  const { managedFields } = object.metadata;
  const { managedFields: _old, ...metadata } = old.metadata;
  const next = { ...old, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
  return withStatus(next, object["status"]);
}

/** The fields that are not content: metadata only. Without the subresource, status is a field like any other. */
const outside: ReadonlySet<string> = new Set(["metadata"]);

const int32Max = 2 ** 31 - 1;

/**
 * Returns the errors of the fields that the scale subresource shows. A write of the status does not check the desired
 * number.
 */
function checkScale(
  object: Unstructured,
  scale: CustomResourceSubresourceScale | undefined,
  withSpec: boolean,
): FieldError[] {
  if (scale === undefined) return [];
  const errors: FieldError[] = [];
  if (withSpec) addAll(errors, checkReplicas(object, scale.specReplicasPath));
  addAll(errors, checkReplicas(object, scale.statusReplicasPath));
  const { labelSelectorPath = "" } = scale;
  if (labelSelectorPath === "") return errors;
  const { problem } = nestedText(object, labelSelectorPath);
  if (problem !== undefined) errors.push(invalid(asGiven(labelSelectorPath), "", problem));
  return errors;
}

/** Returns a path that is shown as the definition has it, with a dot before it, as upstream. */
const asGiven = (path: string): FieldPath => FieldPath.of(path);

function checkReplicas(object: Unstructured, replicasPath: string): FieldError[] {
  const { value, problem } = nestedInteger(object, replicasPath);
  const path = asGiven(replicasPath);
  if (problem !== undefined) return [invalid(path, 0, problem)];
  if (value === undefined) return [];
  if (value < 0) return [invalid(path, value, "should be a non-negative integer")];
  if (value > int32Max) return [invalid(path, value, `should be less than or equal to ${int32Max}`)];
  return [];
}

/** Returns the fields as texts, which selectors compare; an absent field is empty. */
function selectedFields(object: Unstructured, names: readonly string[]): Readonly<Record<string, string>> {
  const fields: Record<string, string> = {};
  for (const name of names) {
    const { value } = nestedField(object, name);
    fields[name] =
      value === undefined || value === null
        ? ""
        : isRawNumber(value)
          ? value.rawJSON
          : String(value as string | number | boolean); // the schema says that it is one
  }
  return fields;
}
