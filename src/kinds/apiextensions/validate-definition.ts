/**
 * Validates custom resource definitions; `schema/structural.ts` validates schemas. Paths are the ones of upstream's
 * internal form, which clients have always seen: settings that all versions share are reported once, directly below
 * `spec`. Source of the rules and their order: upstream's `pkg/apis/apiextensions/validation`.
 */
import { approvalAnnotation, approvalOf, isProtectedGroup } from "#api/apiextensions/approval.ts";
import { isConditionTrue } from "#api/apiextensions/conditions.ts";
import type {
  CustomResourceColumnDefinition,
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
  CustomResourceSubresources,
} from "#api/apiextensions/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { ruleChecks, type StoredExpressions } from "#cel/schema-rules.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1035Label, dns1123Subdomain } from "#meta/names.ts";
import { emptyMembers } from "#schema/given-empty.ts";
import type { Schema } from "#schema/schema.ts";
import {
  type CheckOptions,
  checkStructural,
  type JsonSchemaProps,
  ratchetedChecks,
  someSchema,
} from "#schema/structural.ts";
import { addAll } from "#std/add-all.ts";
import { checkConversion } from "./validate-conversion.ts";
import { checkSelectableFields } from "./selectable-fields.ts";

/** The settings of the validation. */
export interface DefinitionRules {
  readonly domain: ApiDomain;
  /** Returns the schema of the metadata of all objects, for defaults of embedded objects and in them. */
  metadata(): Schema | undefined;
}

const specPath = FieldPath.of("spec");
const namesPath = specPath.child("names");
const versionsPath = specPath.child("versions");
const selectablePath = specPath.child("selectableFields");
const acceptedPath = FieldPath.of("status", "acceptedNames");
const storedPath = FieldPath.of("status", "storedVersions");

const someHasStatus = (versions: readonly CustomResourceDefinitionVersion[]): boolean =>
  versions.some(({ subresources }) => subresources?.status !== undefined);

/** Returns findings about a new definition, without those about its metadata. */
export function validateDefinition(object: CustomResourceDefinition, rules: DefinitionRules): FieldError[] {
  return [
    ...checkName(object),
    ...checkSpec(object.spec, undefined, false, rules),
    ...checkNames(object.status.acceptedNames, acceptedPath),
    ...checkStoredVersions(object),
    ...checkApproval(object, undefined, rules.domain),
    ...checkPreserving(object, undefined),
  ];
}

/** Returns findings about a changed definition. */
export function validateDefinitionUpdate(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition,
  rules: DefinitionRules,
): FieldError[] {
  const isEstablished = isConditionTrue(old, "Established");
  const { spec } = object;
  const immutable = (field: FieldPath, next: unknown, before: unknown): FieldError[] =>
    next === before ? [] : [invalid(field, next, "field is immutable")];
  return [
    ...checkSpec(spec, old.spec, isEstablished, rules),
    ...(isEstablished
      ? [
          ...immutable(specPath.child("scope"), spec.scope, old.spec.scope),
          ...immutable(specPath.child("names", "kind"), spec.names.kind, old.spec.names.kind),
        ]
      : []),
    ...immutable(specPath.child("group"), spec.group, old.spec.group),
    ...immutable(specPath.child("names", "plural"), spec.names.plural, old.spec.names.plural),
    ...checkNames(object.status.acceptedNames, acceptedPath),
    ...checkStoredVersions(object),
    ...checkApproval(object, old, rules.domain),
    ...checkPreserving(object, old),
  ];
}

/** Returns findings about an update of the status. */
export function validateDefinitionStatus(object: CustomResourceDefinition): FieldError[] {
  return checkNames(object.status.acceptedNames, acceptedPath);
}

function checkName({ metadata, spec }: CustomResourceDefinition): FieldError[] {
  const wanted = `${spec.names.plural}.${spec.group}`;
  const errors: FieldError[] = [];
  for (const field of ["generateName", "name"] as const) {
    const name = metadata[field] ?? "";
    if (name !== "" && name !== wanted) {
      errors.push(invalid(FieldPath.of("metadata", field), name, 'must be spec.names.plural+"."+spec.group'));
    }
  }
  return errors;
}

/** The settings that upstream's internal form has once if they are equal in all versions. */
type PerVersion = "schema" | "subresources" | "additionalPrinterColumns" | "selectableFields";

function sharedBy(versions: readonly CustomResourceDefinitionVersion[]): Record<PerVersion, boolean> {
  const first = versions[0];
  const isShared = (key: PerVersion): boolean => versions.every((version) => alike(version[key], first?.[key]));
  return {
    schema: isShared("schema"),
    subresources: isShared("subresources"),
    additionalPrinterColumns: isShared("additionalPrinterColumns"),
    selectableFields: isShared("selectableFields"),
  };
}

/** Whether two settings are equal. Upstream: an empty list is equal to an absent one. */
function alike(one: unknown, other: unknown): boolean {
  const plain = (value: unknown): unknown => (Array.isArray(value) && value.length === 0 ? undefined : value);
  return jsonEquals(plain(one), plain(other));
}

function checkSpec(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  isEstablished: boolean,
  rules: DefinitionRules,
): FieldError[] {
  const versions = spec.versions ?? [];
  const [first] = versions;
  const schemas = new SchemaRules(old, rules);
  const is = sharedBy(versions);
  const { conversion, preserveUnknownFields } = spec;
  return [
    ...checkGroup(spec.group),
    ...oneOf(specPath.child("scope"), spec.scope, ["Cluster", "Namespaced"]),
    ...checkSchemasGiven(spec, old, is),
    ...checkDefaults(spec),
    ...versions.flatMap((version, index) => {
      const path = versionsPath.index(index);
      return [...label(path.child("name"), version.name), ...checkVersion(version, is, schemas, path)];
    }),
    ...checkVersionList(spec.versions),
    ...(first === undefined || first.name === "" ? [] : label(specPath.child("version"), first.name)),
    ...checkNamesGiven(spec.names),
    ...checkNames(spec.names, namesPath),
    ...checkShared(versions, is, schemas),
    ...(conversion === undefined
      ? []
      : checkConversion(conversion, old?.conversion, preserveUnknownFields === true, isEstablished)),
  ];
}

function checkGroup(group: string): FieldError[] {
  if (group === "") return [required(specPath.child("group"))];
  const problems = dns1123Subdomain(group);
  if (problems.length > 0) return [invalid(specPath.child("group"), group, problems.join(","))];
  return group.includes(".")
    ? []
    : [invalid(specPath.child("group"), group, "should be a domain with at least one dot")];
}

/** Returns findings about versions without a schema. Definitions that are stored without schemas may stay so. */
function checkSchemasGiven(
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
  is: Record<PerVersion, boolean>,
): FieldError[] {
  const versions = spec.versions ?? [];
  const hasSchema = ({ schema }: CustomResourceDefinitionVersion): boolean => schema?.openAPIV3Schema !== undefined;
  if (is.schema && versions[0] !== undefined && hasSchema(versions[0])) return [];
  const mustHaveSchemas = old === undefined || (old.versions ?? []).every(hasSchema);
  return versions.flatMap((version, index) => {
    if (!is.schema && hasSchema(version)) return [];
    const path = versionsPath.index(index).child("schema", "openAPIV3Schema");
    if (mustHaveSchemas) return [required(path, "schemas are required")];
    const isPruned = version.served && spec.preserveUnknownFields !== true;
    return isPruned ? [required(path, "because otherwise all fields are pruned")] : [];
  });
}

function checkDefaults({ preserveUnknownFields, versions }: CustomResourceDefinitionSpec): FieldError[] {
  if (preserveUnknownFields !== true) return [];
  if (!(versions ?? []).some(({ schema }) => hasDefaults(schema?.openAPIV3Schema))) return [];
  return [
    invalid(specPath.child("preserveUnknownFields"), true, "must be false in order to use defaults in the schema"),
  ];
}

function checkVersionList(versions: readonly CustomResourceDefinitionVersion[] | null): FieldError[] {
  const names = new Set(versions?.map(({ name }) => name));
  const stored = versions?.filter(({ storage }) => storage) ?? [];
  return [
    ...(names.size === (versions?.length ?? 0) ? [] : [wrongVersions(versions, "must contain unique version names")]),
    ...(stored.length === 1
      ? []
      : [wrongVersions(versions, "must have exactly one version marked as storage version")]),
  ];
}

const checkNamesGiven = (names: CustomResourceDefinitionNames): FieldError[] =>
  (["plural", "singular", "kind", "listKind"] as const).flatMap((key) =>
    (names[key] ?? "") === "" ? [required(namesPath.child(key))] : [],
  );

/** Checks the settings shared by all versions. */
function checkShared(
  versions: readonly CustomResourceDefinitionVersion[],
  is: Record<PerVersion, boolean>,
  schemas: SchemaRules,
): FieldError[] {
  const [first] = versions;
  const schema = is.schema ? first?.schema : undefined;
  const subresources = is.subresources ? first?.subresources : undefined;
  const columns = is.additionalPrinterColumns ? first?.additionalPrinterColumns : undefined;
  const selectable = (is.selectableFields ? first?.selectableFields : undefined) ?? [];
  const errors = [
    ...checkSchema(schema, someHasStatus(versions), schemas, specPath.child("validation")),
    ...checkSubresources(subresources, specPath.child("subresources")),
    ...checkColumns(columns, specPath.child("additionalPrinterColumns")),
  ];
  if (selectable.length === 0) return errors;
  if (schema !== undefined) return [...errors, ...checkSelectableFields(selectable, schema.openAPIV3Schema, specPath)];
  const detail = "selectableFields may only be set when validations.schema is included";
  return [...errors, invalid(selectablePath, "", detail)];
}

/** Returns a finding about the list of versions, shown by their names. Upstream prints Go structs with addresses. */
const wrongVersions = (versions: readonly CustomResourceDefinitionVersion[] | null, detail: string): FieldError =>
  invalid(versionsPath, versions?.map(({ name }) => name) ?? [], detail);

/** Checks the settings of a single version. */
function checkVersion(
  version: CustomResourceDefinitionVersion,
  is: Record<PerVersion, boolean>,
  schemas: SchemaRules,
  path: FieldPath,
): FieldError[] {
  const schema = is.schema ? undefined : version.schema;
  const selectable = is.selectableFields ? undefined : version.selectableFields;
  const errors: FieldError[] = [];
  for (const problem of warningProblems(version)) {
    errors.push(invalid(path.child("deprecationWarning"), version.deprecationWarning, problem));
  }
  const hasStatus = version.subresources?.status !== undefined;
  addAll(errors, checkSchema(schema, hasStatus, schemas, path.child("schema"), version.name));
  if (!is.subresources) addAll(errors, checkSubresources(version.subresources, path.child("subresources")));
  if (!is.additionalPrinterColumns) {
    addAll(errors, checkColumns(version.additionalPrinterColumns, path.child("additionalPrinterColumns")));
  }
  if (selectable !== undefined && selectable.length > 0) {
    if (schema?.openAPIV3Schema === undefined) {
      const detail = "selectableFields may only be set when version.schema.openAPIV3Schema is not included";
      errors.push(invalid(path.child("selectableFields"), "", detail));
    } else addAll(errors, checkSelectableFields(selectable, schema.openAPIV3Schema, path));
  }
  return errors;
}

const warningLengthMax = 256;

function warningProblems({ deprecated, deprecationWarning: text }: CustomResourceDefinitionVersion): string[] {
  if (text === undefined) return [];
  if (deprecated !== true) return ["can only be set for deprecated versions"];
  const problems: string[] = [];
  if (Buffer.byteLength(text) > warningLengthMax) problems.push(`must be <= ${warningLengthMax} characters long`);
  if (text === "") problems.push("must not be an empty string");
  const match = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.exec(text);
  if (match !== null) {
    const at = Buffer.byteLength(text.slice(0, match.index));
    problems.push(`must only contain printable UTF-8 characters; non-printable character found at index ${at}`);
  }
  return problems;
}

/** The checks of schemas. On an update they depend on the old definition. */
class SchemaRules {
  /** The checks of every schema. */
  readonly always: CheckOptions;
  readonly #versions: readonly CustomResourceDefinitionVersion[];
  #ratcheted: CheckOptions | undefined;

  constructor(old: CustomResourceDefinitionSpec | undefined, { metadata }: DefinitionRules) {
    const schema = metadata();
    this.#versions = old?.versions ?? [];
    const rules = ruleChecks(storedExpressions(this.#versions));
    this.always = schema === undefined ? { rules } : { metadata: schema, rules };
  }

  /** The checks of every schema without those that some stored schema does not pass. */
  get ratcheted(): CheckOptions {
    const stored = this.#versions.flatMap(({ schema }) => schema?.openAPIV3Schema ?? []);
    return (this.#ratcheted ??= stored.length === 0 ? this.always : { ...this.always, ...ratchetedChecks(stored) });
  }

  /**
   * Whether this schema is stored already, and so is valid. `name` is the version of the schema; `undefined` if all
   * versions share it. A schema with empty members is new, since empty members are not stored.
   */
  has(props: JsonSchemaProps, statusSubresource: boolean, name: string | undefined): boolean {
    const isStored = this.#versions.some(
      (version) =>
        (name === undefined || version.name === name) &&
        (!statusSubresource || version.subresources?.status !== undefined) &&
        jsonEquals(version.schema?.openAPIV3Schema, props),
    );
    return isStored && !someSchema(props, (schema) => emptyMembers(schema).length > 0);
  }
}

/** Returns the expressions of a stored definition. They are collected at the first question. */
function storedExpressions(versions: readonly CustomResourceDefinitionVersion[]): StoredExpressions {
  let knownTexts: { readonly rules: ReadonlySet<string>; readonly messages: ReadonlySet<string> } | undefined;
  const collect = (): NonNullable<typeof knownTexts> => {
    const [rules, messages] = [new Set<string>(), new Set<string>()];
    for (const { schema } of versions) {
      if (schema?.openAPIV3Schema === undefined) continue;
      someSchema(schema.openAPIV3Schema, ({ "x-kubernetes-validations": validations }) => {
        for (const { rule, messageExpression } of validations ?? []) {
          if (rule !== undefined) rules.add(rule);
          if (messageExpression !== undefined) messages.add(messageExpression);
        }
        return false;
      });
    }
    return { rules, messages };
  };
  return {
    isRule: (text) => (knownTexts ??= collect()).rules.has(text),
    isMessage: (text) => (knownTexts ??= collect()).messages.has(text),
  };
}

function checkSchema(
  schema: CustomResourceDefinitionVersion["schema"],
  statusSubresource: boolean,
  schemas: SchemaRules,
  path: FieldPath,
  name?: string,
): FieldError[] {
  const props = schema?.openAPIV3Schema;
  if (props === undefined || schemas.has(props, statusSubresource, name)) return [];
  const at = path.child("openAPIV3Schema");
  const findings = checkStructural(props, at, { ...schemas.always, statusSubresource });
  // The stored definition decides only whether findings are ignored, so it is read only if there are some.
  return findings.length === 0 || schemas.ratcheted === schemas.always
    ? findings
    : checkStructural(props, at, { ...schemas.ratcheted, statusSubresource });
}

function hasDefaults(props: JsonSchemaProps | undefined): boolean {
  return props !== undefined && someSchema(props, ({ default: value }) => value !== undefined);
}

function checkNames(names: CustomResourceDefinitionNames, path: FieldPath): FieldError[] {
  const { plural, singular = "", kind, listKind = "", shortNames, categories } = names;
  const errors: FieldError[] = [];
  if (plural !== "") addAll(errors, label(path.child("plural"), plural));
  if (singular !== "") addAll(errors, label(path.child("singular"), singular));
  for (const [key, value] of Object.entries({ kind, listKind })) {
    const problems = dns1035Label(value.toLowerCase());
    if (value === "" || problems.length === 0) continue;
    const detail = `may have mixed case, but should otherwise match: ${problems.join(",")}`;
    errors.push(invalid(path.child(key), value, detail));
  }
  for (const [index, name] of (shortNames ?? []).entries())
    addAll(errors, label(path.child("shortNames").index(index), name));
  if (kind !== "" && kind === listKind) {
    errors.push(invalid(path.child("listKind"), listKind, "kind and listKind may not be the same"));
  }
  for (const [index, name] of (categories ?? []).entries())
    addAll(errors, label(path.child("categories").index(index), name));
  return errors;
}

function label(field: FieldPath, value: string): FieldError[] {
  const problems = dns1035Label(value);
  return problems.length === 0 ? [] : [invalid(field, value, problems.join(","))];
}

function oneOf(field: FieldPath, value: string, accepted: readonly string[]): FieldError[] {
  if (value === "") return [required(field)];
  return accepted.includes(value) ? [] : [notSupported(field, value, accepted)];
}

function checkSubresources(subresources: CustomResourceSubresources | undefined, path: FieldPath): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const below = (key: string, jsonPath: string, roots: readonly string[], detail: string): FieldError[] => {
    const at = path.child("scale", key);
    if (!jsonPath.startsWith(".")) return [invalid(at, jsonPath, simplePath)];
    return roots.some((root) => jsonPath.startsWith(root)) ? [] : [invalid(at, jsonPath, detail)];
  };
  const needed = (key: string, jsonPath: string, root: string): FieldError[] =>
    jsonPath === ""
      ? [required(path.child("scale", key))]
      : below(key, jsonPath, [`.${root}.`], `should be a json path under .${root}`);
  const { labelSelectorPath = "" } = scale;
  const errors = [
    ...needed("specReplicasPath", scale.specReplicasPath, "spec"),
    ...needed("statusReplicasPath", scale.statusReplicasPath, "status"),
  ];
  if (labelSelectorPath === "") return errors;
  const detail = "should be a json path under either .spec or .status";
  return [...errors, ...below("labelSelectorPath", labelSelectorPath, [".spec.", ".status."], detail)];
}

const simplePath = "must be a simple json path starting with .";
const columnTypes = ["boolean", "date", "integer", "number", "string"];
const columnFormats = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

function checkColumns(columns: readonly CustomResourceColumnDefinition[] | undefined, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  for (const [index, { name, type, format = "", jsonPath }] of (columns ?? []).entries()) {
    const at = path.index(index);
    if (name === "") errors.push(required(at.child("name")));
    const types = `must be one of ${columnTypes.join(",")}`;
    if (type === "") errors.push(required(at.child("type"), types));
    else if (!columnTypes.includes(type)) errors.push(invalid(at.child("type"), type, types));
    if (format !== "" && !columnFormats.includes(format)) {
      errors.push(invalid(at.child("format"), format, `must be one of ${columnFormats.join(",")}`));
    }
    if (jsonPath === "") errors.push(required(at.child("JSONPath")));
    else if (!jsonPath.startsWith(".")) errors.push(invalid(at.child("JSONPath"), jsonPath, simplePath));
  }
  return errors;
}

function checkStoredVersions({ spec, status }: CustomResourceDefinition): FieldError[] {
  const stored = status.storedVersions ?? [];
  if (stored.length === 0) {
    return [invalid(storedPath, goTexts(status.storedVersions), "must have at least one stored version")];
  }
  const errors: FieldError[] = [];
  const shown = goTexts(stored);
  const unmatched = new Map(stored.map((name, index) => [name, index]));
  for (const { name, storage } of spec.versions ?? []) {
    const isStored = unmatched.delete(name); // upstream: a second version with the same name does not count
    if (storage && !isStored) {
      errors.push(invalid(storedPath, shown, `must have the storage version ${name}`));
    }
  }
  for (const [name, index] of unmatched) {
    errors.push(invalid(storedPath.index(index), name, "must appear in spec.versions"));
  }
  return errors;
}

function checkApproval(
  object: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
  domain: ApiDomain,
): FieldError[] {
  if (!isProtectedGroup(object.spec.group, domain)) return [];
  const { state, reason } = approvalOf(object.metadata.annotations, domain);
  if (old !== undefined && approvalOf(old.metadata.annotations, domain).state === state) return [];
  const name = approvalAnnotation(domain);
  const path = FieldPath.of("metadata", "annotations").key(name);
  if (state === "missing") return [required(path, reason)];
  return state === "invalid" ? [invalid(path, object.metadata.annotations?.[name], reason)] : [];
}

function checkPreserving(object: CustomResourceDefinition, old: CustomResourceDefinition | undefined): FieldError[] {
  if (old?.spec.preserveUnknownFields === true || object.spec.preserveUnknownFields !== true) return [];
  const detail =
    "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
  return [invalid(specPath.child("preserveUnknownFields"), true, detail)];
}
