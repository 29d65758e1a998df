/**
 * The spec of a persistent volume claim: data sources, dropped fields and checks. Shared by claims and by the templates
 * of claims. Source: upstream's `ValidatePersistentVolumeClaimSpec` and `pkg/api/persistentvolumeclaim`.
 */
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { isAbsent, type Json, noFields, objectField, textField, textsField, withField } from "../json-edit.ts";
import type { KindEnvironment } from "../generic.ts";

const accessModes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const volumeModes = ["Block", "Filesystem"];

/** Which fields of claims exist. */
export interface ClaimGates {
  readonly anyDataSource: boolean;
  readonly crossNamespace: boolean;
  readonly attributesClass: boolean;
  readonly recoverExpansion: boolean;
  /** Group of volume snapshots. */
  readonly snapshotGroup: string;
}

export function claimGates(environment: KindEnvironment): ClaimGates {
  return {
    anyDataSource: environment.gate("AnyVolumeDataSource"),
    crossNamespace: environment.gate("CrossNamespaceVolumeDataSource"),
    attributesClass: environment.gate("VolumeAttributesClass"),
    recoverExpansion: environment.gate("RecoverVolumeExpansionFailure"),
    snapshotGroup: environment.domain.rename("snapshot.storage.k8s.io"),
  };
}

/** The spec without fields that no gate permits, unless they are in use, and with both data sources in step. */
export function prepareClaimSpec(spec: Json, old: Json | undefined, gates: ClaimGates): Json {
  const before = old ?? noFields;
  let next = spec;
  if (!gates.attributesClass && isAbsent(before["volumeAttributesClassName"])) {
    next = withField(next, "volumeAttributesClassName", undefined);
  }
  const refWasUsed = objectField(before, "dataSourceRef") !== undefined;
  if (!gates.anyDataSource && !refWasUsed) next = withField(next, "dataSourceRef", undefined);
  const ref = objectField(next, "dataSourceRef");
  if (!gates.crossNamespace && !refWasUsed && ref !== undefined && !isAbsent(ref["namespace"])) {
    next = withField(next, "dataSourceRef", withField(ref, "namespace", undefined));
  }
  next = dropUnknownSource(next, before, gates);
  return gates.anyDataSource ? alignSources(next) : next;
}

/** `dataSource` takes claims and snapshots; anything else is dropped without a word, as it was before there were more. */
function dropUnknownSource(spec: Json, old: Json, gates: ClaimGates): Json {
  const source = objectField(spec, "dataSource");
  if (source === undefined || objectField(old, "dataSource") !== undefined) return spec;
  const group = textField(source, "apiGroup");
  const kind = textField(source, "kind");
  const isKnown =
    (group === "" && kind === "PersistentVolumeClaim") || (group === gates.snapshotGroup && kind === "VolumeSnapshot");
  return isKnown ? spec : withField(spec, "dataSource", undefined);
}

function alignSources(spec: Json): Json {
  const source = objectField(spec, "dataSource");
  const ref = objectField(spec, "dataSourceRef");
  if (source !== undefined && ref === undefined) return withField(spec, "dataSourceRef", reference(source));
  if (ref !== undefined && source === undefined && textField(ref, "namespace") === "") {
    return withField(spec, "dataSource", reference(ref));
  }
  return spec;
}

/** Group, kind and name; the group of the core is null on the wire. */
function reference(of: Json): Json {
  const group = of["apiGroup"];
  return { apiGroup: isAbsent(group) ? null : group, kind: textField(of, "kind"), name: textField(of, "name") };
}

/** Findings below `field`. */
export function validateClaimSpec(spec: Json, field: string, gates: ClaimGates): FieldError[] {
  const errors = validateAccessModes(spec, `${field}.accessModes`);
  const selector = objectField(spec, "selector");
  if (selector !== undefined) errors.push(...validateLabelSelector(selector, `${field}.selector`));
  errors.push(...validateSize(objectField(spec, "resources") ?? noFields, `${field}.resources`));
  const className = textField(spec, "storageClassName");
  if (className !== "") {
    for (const message of dns1123Subdomain(className)) {
      errors.push(invalid(`${field}.storageClassName`, className, message));
    }
  }
  const mode = spec["volumeMode"];
  if (typeof mode === "string" && !volumeModes.includes(mode)) {
    errors.push(notSupported(`${field}.volumeMode`, mode, volumeModes));
  }
  errors.push(...validateSources(spec, field));
  const attributes = textField(spec, "volumeAttributesClassName");
  if (gates.attributesClass && attributes !== "") {
    for (const message of dns1123Subdomain(attributes)) {
      errors.push(invalid(`${field}.volumeAttributesClassName`, attributes, message));
    }
  }
  return errors;
}

function validateAccessModes(spec: Json, field: string): FieldError[] {
  const modes = (spec["accessModes"] ?? []) as readonly string[]; // the schema says so
  if (modes.length === 0) return [required(field, "at least 1 access mode is required")];
  const errors = modes
    .filter((mode) => !accessModes.includes(mode))
    .map((mode) => notSupported(field, mode, accessModes));
  if (modes.includes("ReadWriteOncePod") && modes.some((mode) => mode !== "ReadWriteOncePod")) {
    errors.push(forbidden(field, "may not use ReadWriteOncePod with other access modes"));
  }
  return errors;
}

/** The specification: requests cannot exceed limits. Upstream documents this and does not check it. */
function validateSize(resources: Json, field: string): FieldError[] {
  const requests = textsField(resources, "requests") ?? {};
  const limits = textsField(resources, "limits") ?? {};
  const errors: FieldError[] = [];
  const storage = requests["storage"];
  if (storage === undefined) errors.push(required(`${field}[storage]`));
  else if (compareTexts(storage, "0") <= 0) {
    errors.push(invalid(`${field}[storage]`, storage, "must be greater than zero"));
  }
  for (const [name, request] of Object.entries(requests)) {
    const limit = Object.hasOwn(limits, name) ? limits[name] : undefined;
    if (limit === undefined || compareTexts(request, limit) <= 0) continue;
    errors.push(
      invalid(`${field}.requests[${name}]`, request, `must be less than or equal to ${name} limit of ${limit}`),
    );
  }
  return errors;
}

/** Order of two quantities; the decoder has made sure that they are some. */
export function compareTexts(a: string, b: string): number {
  const left = parseQuantity(a);
  const right = parseQuantity(b);
  return left === undefined || right === undefined ? 0 : compareQuantities(left, right);
}

function validateSources(spec: Json, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const source = objectField(spec, "dataSource");
  const ref = objectField(spec, "dataSourceRef");
  if (source !== undefined) errors.push(...validateSource(source, `${field}.dataSource`));
  if (ref === undefined) return errors;
  errors.push(...validateSource(ref, `${field}.dataSourceRef`));
  const namespace = textField(ref, "namespace");
  if (namespace !== "") {
    for (const message of dns1123Label(namespace)) {
      errors.push(invalid(`${field}.dataSourceRef.namespace`, namespace, message));
    }
    if (source !== undefined) {
      const detail = "may not be specified when dataSourceRef.namespace is specified";
      errors.push(invalid(field, `${field}.dataSource`, detail));
    }
  } else if (source !== undefined && !isSameReference(source, ref)) {
    errors.push(invalid(field, `${field}.dataSource`, "must match dataSourceRef"));
  }
  return errors;
}

const isSameReference = (a: Json, b: Json): boolean =>
  ["apiGroup", "kind", "name"].every((name) => textField(a, name) === textField(b, name));

function validateSource(source: Json, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const kind = textField(source, "kind");
  if (textField(source, "name") === "") errors.push(required(`${field}.name`));
  if (kind === "") errors.push(required(`${field}.kind`));
  const group = textField(source, "apiGroup");
  if (group === "" && kind !== "PersistentVolumeClaim") errors.push(invalid(field, kind, ""));
  if (group !== "") {
    for (const message of dns1123Subdomain(group)) errors.push(invalid(`${field}.apiGroup`, group, message));
  }
  return errors;
}
