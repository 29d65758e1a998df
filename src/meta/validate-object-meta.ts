/**
 * Validates object metadata on create and update, for all kinds. The store compares `resourceVersion` and `uid` and
 * keeps the server's fields (creation and deletion times, generation); admission checks that namespaces exist. Source:
 * upstream's `apimachinery/pkg/api/validation/objectmeta.go`.
 */
import { nearestNumber } from "#std/int64.ts";
import { isRawNumber } from "#std/raw-number.ts";
import {
  type FieldError,
  forbidden,
  goQuote,
  GoSyntax,
  goTexts,
  goTime,
  invalid,
  printValue,
  required,
  tooLong,
} from "./field-error.ts";
import { FieldPath } from "./field-path.ts";
import { parseApiVersion } from "./group-version.ts";
import { dns1123Label, labelValue, type NameRule, nameRules, qualifiedName, unprintableCharacters } from "./names.ts";
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./object-meta.ts";

interface ObjectMetaRules {
  readonly namespaced: boolean;
  /** A key of `nameRules`. */
  readonly nameRule: string;
  /** The path of the metadata; `metadata` by default. */
  readonly field?: FieldPath;
  /**
   * Whether a finalizer without a slash must be one of the standard names: true for built-in kinds, false for custom
   * resources.
   */
  readonly standardFinalizers?: boolean;
}

/** The maximum bytes of all annotation keys and values together. */
export const annotationBytesMax = 256 * 1024;
const fieldManagerBytesMax = 128;
const subresourceBytesMax = 256;

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";
const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", orphanFinalizer, foregroundFinalizer]);
const immutable = "field is immutable";

/** Returns the paths of the metadata fields that have their own checks. */
const partsOf = (field: FieldPath) => ({
  labels: field.child("labels"),
  annotations: field.child("annotations"),
  ownerReferences: field.child("ownerReferences"),
  finalizers: field.child("finalizers"),
  managedFields: field.child("managedFields"),
});

const metadataPath = FieldPath.of("metadata");
/** The paths are made once, although most writes have no errors. */
const metadataParts = partsOf(metadataPath);

/** Returns the errors in the metadata of a new object. */
export function validateObjectMeta(meta: ObjectMeta, rules: ObjectMetaRules): FieldError[] {
  const errors: FieldError[] = [];
  const { field = metadataPath } = rules;
  const nameRule = ruleOf(rules.nameRule);
  checkGenerateName(meta.generateName, nameRule, field, errors);
  const name = meta.name ?? "";
  if (name === "") errors.push(required(field.child("name"), "name or generateName is required"));
  else for (const message of nameRule(name, false)) errors.push(invalid(field.child("name"), name, message));
  const namespace = meta.namespace ?? "";
  if (!rules.namespaced) {
    if (namespace !== "") errors.push(forbidden(field.child("namespace"), "not allowed on this type"));
  } else if (namespace === "") errors.push(required(field.child("namespace")));
  else
    for (const message of dns1123Label(namespace)) errors.push(invalid(field.child("namespace"), namespace, message));
  if (nearestNumber(meta.generation ?? 0) < 0) {
    errors.push(invalid(field.child("generation"), meta.generation, "must be greater than or equal to 0"));
  }
  const parts = field === metadataPath ? metadataParts : partsOf(field);
  validateLabels(meta.labels, parts.labels, errors);
  validateAnnotations(meta.annotations, parts.annotations, errors);
  checkOwnerReferences(meta.ownerReferences, parts.ownerReferences, errors);
  checkFinalizers(meta.finalizers, parts.finalizers, errors);
  checkManagedFields(meta.managedFields, parts.managedFields, errors);
  if (rules.standardFinalizers === true) checkStandardFinalizers(meta.finalizers, parts.finalizers, errors);
  return errors;
}

function ruleOf(name: string): NameRule {
  const rule = nameRules[name];
  if (rule === undefined) throw new Error(`no name rule called ${name}`);
  return rule;
}

function checkGenerateName(prefix = "", rule: NameRule, field: FieldPath, errors: FieldError[]): void {
  if (prefix === "") return;
  for (const message of rule(prefix, true)) errors.push(invalid(field.child("generateName"), prefix, message));
}

interface UpdateRules extends Pick<ObjectMetaRules, "standardFinalizers"> {
  /** A key of `nameRules`, for kinds whose own checks look at `generateName` in updates. */
  readonly generateNameRule?: string | undefined;
}

/**
 * Findings about the metadata of an update: the new metadata is checked as that of a create, with any path segment as the
 * name, and compared with the old. Clients see each as often as kube-apiserver's checks for
 * all kinds find it: they compare twice, and those of built-in kinds check the new metadata once more.
 */
export function validateObjectMetaUpdate(
  next: ObjectMeta,
  old: ObjectMeta,
  { generateNameRule, ...options }: UpdateRules = {},
): FieldError[] {
  const namespaced = old.namespace !== undefined && old.namespace !== "";
  const created = validateObjectMeta(next, { ...options, namespaced, nameRule: "pathSegment" });
  const changed = validateChanges(next, old);
  if (created.length > 0) {
    validateLabels(next.labels, metadataParts.labels, changed);
    validateAnnotations(next.annotations, metadataParts.annotations, changed);
    checkOwnerReferences(next.ownerReferences, metadataParts.ownerReferences, changed);
    checkManagedFields(next.managedFields, metadataParts.managedFields, changed);
  }
  const errors = [...created, ...changed, ...changed, ...(options.standardFinalizers === true ? created : [])];
  if (generateNameRule !== undefined) {
    checkGenerateName(next.generateName, ruleOf(generateNameRule), metadataPath, errors);
  }
  return errors;
}

/** Returns the errors of metadata fields that must not change, or only in one direction. */
function validateChanges(next: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) checkNoNewFinalizers(next, old, metadataParts.finalizers, errors);
  if (next.resourceVersion === undefined || next.resourceVersion === "") {
    errors.push(invalid(metadataPath.child("resourceVersion"), "", "must be specified for an update"));
  }
  if (nearestNumber(next.generation ?? 0) < nearestNumber(old.generation ?? 0)) {
    errors.push(invalid(metadataPath.child("generation"), next.generation ?? 0, "must not be decremented"));
  }
  for (const key of unchanging) {
    if (!isSame(next[key], old[key])) errors.push(immutableError(key, next[key]));
  }
  return errors;
}

function immutableError(key: (typeof unchanging)[number], value: unknown): FieldError {
  const field = metadataPath.child(key);
  // The zero time is null.
  const isTime = key.endsWith("Timestamp") && (typeof value === "string" || value === null);
  if (!isTime) return invalid(field, value ?? (key.endsWith("Seconds") ? null : ""), immutable);
  return invalid(field, goTime(value), immutable);
}

const unchanging = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const;

const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (isRawNumber(a) && isRawNumber(b) && a.rawJSON === b.rawJSON);

/** Adds the errors of a label map to `errors`; also used for label maps inside specs. */
export function validateLabels(
  labels: Readonly<Record<string, string>> = {},
  path: FieldPath,
  errors: FieldError[] = [],
): FieldError[] {
  for (const [key, value] of Object.entries(labels)) {
    for (const message of qualifiedName(key)) errors.push(invalid(path, key, message));
    for (const message of labelValue(value)) errors.push(invalid(path, value, message));
  }
  return errors;
}

/** Adds the errors of an annotation map to `errors`; also used for annotation maps inside specs. */
export function validateAnnotations(
  annotations: Readonly<Record<string, string>> = {},
  path: FieldPath,
  errors: FieldError[] = [],
): FieldError[] {
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    // Upper-case prefixes are tolerated here, unlike in labels.
    for (const message of qualifiedName(key.toLowerCase())) errors.push(invalid(path, key, message));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > annotationBytesMax) errors.push(tooLong(path, annotationBytesMax));
  return errors;
}

/** Returns warnings about finalizers that may conflict with other ones. As upstream, only for custom resources. */
export function finalizerWarnings(finalizers: readonly string[] | undefined, old?: readonly string[]): string[] {
  return (finalizers ?? [])
    .filter((name) => old?.includes(name) !== true)
    .filter((name) => !name.includes("/") && !standardFinalizers.has(name))
    .map((name) => {
      const better = `a domain-qualified finalizer name${name.includes(".") ? " including a path (/)" : ""}`;
      return `metadata.finalizers: ${goQuote(name)}: prefer ${better} to avoid accidental conflicts with other finalizer writers`;
    });
}

/** The number of errors from which the characters of a field manager add at most one more. */
const manyFindings = 1000;

/** Adds the errors of a field manager's name, as in `fieldManager=` and managedFields, to `errors`. */
export function validateFieldManager(manager: string, field: FieldPath, errors: FieldError[] = []): FieldError[] {
  if (Buffer.byteLength(manager) > fieldManagerBytesMax) errors.push(tooLong(field, fieldManagerBytesMax));
  let shown: GoSyntax | undefined; // made once for all characters
  for (const { char, position } of unprintableCharacters(manager)) {
    shown ??= new GoSyntax(printValue(manager));
    const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    errors.push(invalid(field, shown, `invalid character U+${code} (at position ${position})`));
    if (errors.length >= manyFindings) break;
  }
  return errors;
}

function checkOwnerReferences(
  references: readonly OwnerReference[] | undefined,
  field: FieldPath,
  errors: FieldError[],
): void {
  if (references === undefined) return;
  let controller = "";
  for (const reference of references) {
    const { apiVersion, kind, name, uid } = textsOf(reference);
    const gv = parseApiVersion(apiVersion);
    if (gv === undefined || gv.version === "") {
      errors.push(invalid(field.child("apiVersion"), apiVersion, "version must not be empty"));
    }
    if (kind === "") errors.push(invalid(field.child("kind"), kind, "kind must not be empty"));
    if (name === "") errors.push(invalid(field.child("name"), name, "name must not be empty"));
    if (uid === "") errors.push(invalid(field.child("uid"), uid, "uid must not be empty"));
    if (apiVersion === "v1" && kind === "Event") {
      errors.push(invalid(field, reference, "/v1, Kind=Event is disallowed from being an owner"));
    }
    if (reference.controller !== true) continue;
    const current = `${kind}/${name}`;
    if (controller === "") controller = current;
    else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${current}`;
      errors.push(invalid(field, references, detail));
    }
  }
}

/** Returns the texts of a reference. Decoded objects of older forms may lack some of them. */
function textsOf(reference: Partial<OwnerReference>): Record<"apiVersion" | "kind" | "name" | "uid", string> {
  const { apiVersion = "", kind = "", name = "", uid = "" } = reference;
  return { apiVersion, kind, name, uid };
}

function checkFinalizers(finalizers: readonly string[] | undefined, field: FieldPath, errors: FieldError[]): void {
  if (finalizers === undefined) return;
  for (const name of finalizers) {
    for (const message of qualifiedName(name)) errors.push(invalid(field, name, message));
  }
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const detail = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`;
    errors.push(invalid(field, goTexts(finalizers), detail));
  }
}

function checkStandardFinalizers(
  finalizers: readonly string[] | undefined,
  field: FieldPath,
  errors: FieldError[],
): void {
  for (const [index, name] of (finalizers ?? []).entries()) {
    if (name.includes("/") || standardFinalizers.has(name)) continue;
    const detail = "name is neither a standard finalizer name nor is it fully qualified";
    errors.push(invalid(field.index(index), name, detail));
  }
}

function checkNoNewFinalizers(next: ObjectMeta, old: ObjectMeta, field: FieldPath, errors: FieldError[]): void {
  const added = new Set(next.finalizers ?? []).difference(new Set(old.finalizers ?? []));
  if (added.size === 0) return;
  const { text } = goTexts([...added].sort());
  errors.push(
    forbidden(field, `no new finalizers can be added if the object is being deleted, found new finalizers ${text}`),
  );
}

function checkManagedFields(
  entries: readonly ManagedFieldsEntry[] | undefined,
  field: FieldPath,
  errors: FieldError[],
): void {
  if (entries === undefined) return;
  for (const [index, entry] of entries.entries()) {
    const { manager = "", operation = "", fieldsType = "", subresource = "" } = entry;
    const at = (name: string): FieldPath => field.index(index).child(name);
    if (operation !== "Apply" && operation !== "Update") {
      errors.push(invalid(at("operation"), operation, "must be `Apply` or `Update`"));
    }
    if (fieldsType !== "" && fieldsType !== "FieldsV1") {
      errors.push(invalid(at("fieldsType"), fieldsType, "must be `FieldsV1`"));
    }
    validateFieldManager(manager, at("manager"), errors);
    if (Buffer.byteLength(subresource) > subresourceBytesMax) {
      errors.push(tooLong(at("subresource"), subresourceBytesMax));
    }
  }
}
