/**
 * The spec of a persistent volume claim: data sources, dropped fields and validation. Source: upstream's
 * `ValidatePersistentVolumeClaimSpec` and `pkg/api/persistentvolumeclaim`.
 */
import type {
  PersistentVolumeClaimSpec,
  TypedLocalObjectReference,
  TypedObjectReference,
  VolumeResourceRequirements,
} from "#api/core/v1.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { compareQuantityTexts } from "#meta/quantity.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkOneOf, checkOptionalName, type Errors } from "../checks.ts";
import { withField } from "../edit.ts";
import type { KindEnvironment } from "../generic.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
export const volumeModes = ["Block", "Filesystem"];

/** The feature gates that decide which fields of claims exist. */
export interface ClaimGates {
  readonly anyDataSource: boolean;
  readonly attributesClass: boolean;
  readonly recoverExpansion: boolean;
  /** The API group of volume snapshots. */
  readonly snapshotGroup: string;
}

export function claimGates(environment: KindEnvironment): ClaimGates {
  return {
    anyDataSource: environment.gate("AnyVolumeDataSource"),
    attributesClass: environment.gate("VolumeAttributesClass"),
    recoverExpansion: environment.gate("RecoverVolumeExpansionFailure"),
    snapshotGroup: environment.domain.rename("snapshot.storage.k8s.io"),
  };
}

/**
 * Returns the spec with equal data sources in both fields. An unknown data source is dropped, unless the stored spec
 * has a data source or the new one has a reference.
 */
export function prepareClaimSpec(
  spec: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec | undefined,
  gates: ClaimGates,
): PersistentVolumeClaimSpec {
  const hasReason = old?.dataSource !== undefined || spec.dataSourceRef !== undefined;
  const next = hasReason ? spec : dropUnknownSource(spec, gates);
  return gates.anyDataSource ? alignSources(next) : next;
}

/** Drops a data source that is not a claim or snapshot. There is no error, since older releases knew no others. */
function dropUnknownSource(spec: PersistentVolumeClaimSpec, gates: ClaimGates): PersistentVolumeClaimSpec {
  if (spec.dataSource === undefined) return spec;
  const { apiGroup, kind } = spec.dataSource;
  const isKnown = apiGroup
    ? apiGroup === gates.snapshotGroup && kind === "VolumeSnapshot"
    : kind === "PersistentVolumeClaim";
  return isKnown ? spec : withField(spec, "dataSource", undefined);
}

function alignSources(spec: PersistentVolumeClaimSpec): PersistentVolumeClaimSpec {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined && dataSourceRef === undefined) {
    return withField(spec, "dataSourceRef", localReference(dataSource));
  }
  if (dataSourceRef !== undefined && dataSource === undefined && !dataSourceRef.namespace) {
    return withField(spec, "dataSource", localReference(dataSourceRef));
  }
  return spec;
}

const localReference = ({ apiGroup, kind, name }: TypedObjectReference): TypedLocalObjectReference => ({
  apiGroup,
  kind,
  name,
});

const specPath = FieldPath.of("spec");

/**
 * Returns findings about the spec of a claim, or of a template of claims at `path`. `old` is the stored spec of an
 * update.
 */
export function validateClaimSpec(
  spec: PersistentVolumeClaimSpec,
  gates: ClaimGates,
  path = specPath,
  old?: PersistentVolumeClaimSpec,
): FieldError[] {
  const { selector, storageClassName, volumeMode, volumeAttributesClassName } = spec;
  const errors = selector === undefined ? [] : validateLabelSelector(selector, path.child("selector"));
  addAll(errors, validateAccessModes(spec, path.child("accessModes")));
  addAll(errors, validateSize(spec.resources, path.child("resources")));
  checkOptionalName(storageClassName, dns1123Subdomain, path.child("storageClassName"), errors);
  if (volumeMode !== undefined && !volumeModes.includes(volumeMode)) {
    errors.push(notSupported(path.child("volumeMode"), volumeMode, volumeModes));
  }
  // Upstream: a claim that has a group in its data source may have any group.
  const takesAnyGroup = [old?.dataSource, old?.dataSourceRef].some((source) => (source?.apiGroup ?? null) !== null);
  addAll(errors, validateSources(spec, takesAnyGroup, path));
  if (gates.attributesClass) {
    const at = path.child("volumeAttributesClassName");
    checkOptionalName(volumeAttributesClassName, dns1123Subdomain, at, errors);
  }
  return errors;
}

function validateAccessModes({ accessModes: modes = [] }: PersistentVolumeClaimSpec, path: FieldPath): FieldError[] {
  if (modes.length === 0) return [required(path, "at least 1 access mode is required")];
  const errors: FieldError[] = [];
  checkAccessModes(modes, path, errors);
  return errors;
}

/** Checks that access modes are known, and that ReadWriteOncePod is the only mode. */
export function checkAccessModes(modes: readonly string[], path: FieldPath, errors: Errors): void {
  for (const mode of modes) checkOneOf(mode, accessModes, path, errors);
  const isOther = (mode: string): boolean => mode !== "ReadWriteOncePod" && accessModes.includes(mode);
  if (!modes.includes("ReadWriteOncePod") || !modes.some(isOther)) return;
  errors.push(forbidden(path, "may not use ReadWriteOncePod with other access modes"));
}

/**
 * Returns findings about the requested size. The specification says that requests cannot exceed limits; upstream
 * documents this and does not check it.
 */
function validateSize({ requests = {}, limits = {} }: VolumeResourceRequirements, at: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  const storage = requests["storage"];
  if (storage === undefined) errors.push(required(at.key("storage")));
  else if (compareQuantityTexts(storage, "0") <= 0) {
    errors.push(invalid(at.key("storage"), storage, "must be greater than zero"));
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined || compareQuantityTexts(request, limit) <= 0) continue;
    const path = at.child("requests").key(name);
    errors.push(invalid(path, request, `must be less than or equal to ${name} limit of ${limit}`));
  }
  return errors;
}

function validateSources(
  { dataSource, dataSourceRef }: PersistentVolumeClaimSpec,
  takesAnyGroup: boolean,
  path: FieldPath,
): FieldError[] {
  const sourcePath = path.child("dataSource");
  const refPath = path.child("dataSourceRef");
  const errors: FieldError[] = [];
  if (dataSource !== undefined) addAll(errors, validateSource(dataSource, takesAnyGroup, sourcePath));
  if (dataSourceRef === undefined) return errors;
  addAll(errors, validateSource(dataSourceRef, takesAnyGroup, refPath));
  // Upstream: the message shows the path of the source as the value.
  const wrongSource = (detail: string): FieldError => invalid(path, String(sourcePath), detail);
  if (dataSourceRef.namespace) {
    checkName(dataSourceRef.namespace, dns1123Label, refPath.child("namespace"), errors);
    if (dataSource !== undefined) {
      errors.push(wrongSource("may not be specified when dataSourceRef.namespace is specified"));
    }
  } else if (dataSource !== undefined && !isSameReference(dataSource, dataSourceRef)) {
    errors.push(wrongSource("must match dataSourceRef"));
  }
  return errors;
}

const isSameReference = (a: TypedLocalObjectReference, b: TypedLocalObjectReference): boolean =>
  (a.apiGroup ?? "") === (b.apiGroup ?? "") && a.kind === b.kind && a.name === b.name;

const otherKind = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";

function validateSource(
  { apiGroup, kind, name }: TypedLocalObjectReference,
  takesAnyGroup: boolean,
  path: FieldPath,
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(path.child("name")));
  if (kind === "") errors.push(required(path.child("kind")));
  if (!apiGroup) return kind === "PersistentVolumeClaim" ? errors : [...errors, invalid(path, kind, otherKind)];
  if (takesAnyGroup) return errors;
  checkName(apiGroup, dns1123Subdomain, path.child("apiGroup"), errors);
  return errors;
}
