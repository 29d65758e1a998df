/** Validates the volumes of pods, and returns the volumes that containers may mount. */
import type { PodSpec, Volume } from "#api/core/v1.ts";
import { duplicate, forbidden, goQuote, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { checkOptionalName, checkRequired, checkRequiredName, type Errors } from "../../checks.ts";
import type { Volumes } from "./mounts.ts";
import { checkSource, hasLongInterface, iscsiInterfaceTooLong, sourceNames } from "./volume-sources.ts";

/**
 * Checks volumes, and returns the valid ones by name. `path` is the path of the spec. `podName` is the name of a pod,
 * whose ephemeral volumes get claims with names of their own; it is empty for templates.
 */
export function checkVolumes(
  { volumes = [] }: PodSpec,
  { podName, hasAttributesClasses }: { readonly podName: string; readonly hasAttributesClasses: boolean },
  path: FieldPath,
  errors: Errors,
): Volumes {
  const byName = new Map<string, Volume>();
  if (volumes.length === 0) return byName;
  const at = path.child("volumes");
  for (const [i, volume] of volumes.entries()) {
    const before = errors.length;
    const { name } = volume;
    checkSources(volume, at.index(i), errors);
    if (hasAttributesClasses) checkAttributesClass(volume, at.index(i), errors);
    checkRequiredName(name, dns1123Label, at.index(i).child("name"), errors);
    if (byName.has(name)) errors.push(duplicate(at.index(i).child("name"), name));
    if (errors.length === before) byName.set(name, volume);
  }
  if (podName !== "") checkOwnClaims(volumes, podName, at, errors);
  return byName;
}

/** Checks the class of volume attributes of an ephemeral volume. */
function checkAttributesClass(volume: Volume, path: FieldPath, errors: Errors): void {
  if (firstSource(volume) !== "ephemeral") return;
  const name = volume.ephemeral?.volumeClaimTemplate?.spec.volumeAttributesClassName;
  const at = path.child("ephemeral", "volumeClaimTemplate", "spec", "volumeAttributesClassName");
  checkOptionalName(name, dns1123Subdomain, at, errors);
}

/** Returns the names of a volume's sources, in the order in which they are checked. */
function sourcesOf(volume: Volume): readonly (typeof sourceNames)[number][] {
  const given = Object.keys(volume);
  // Nearly every volume has a name and one source.
  return given.length > 2 || !given.includes("name")
    ? sourceNames.filter((name) => volume[name] !== undefined)
    : (given.filter((name) => name !== "name") as (typeof sourceNames)[number][]); // all others are sources
}

/** Returns the name of the source that is checked; `undefined` if there is none. */
const firstSource = (volume: Volume): string | undefined => sourcesOf(volume)[0];

/** Checks that the image volumes of a pod have a reference. Templates may leave it out. */
export function checkImageReferences(volumes: readonly Volume[] = [], path: FieldPath, errors: Errors): void {
  for (const [i, volume] of volumes.entries()) {
    if (firstSource(volume) === "image")
      checkRequired(volume.image?.reference, path.index(i).child("image", "reference"), errors);
  }
}

/** Fields that have other names in findings, as upstream. */
export const pathNames: Readonly<Record<string, string>> = { cephfs: "cephFS", downwardAPI: "downwarAPI" };

/** Checks that a volume has exactly one source. Further ones are refused without a check of their content. */
function checkSources(volume: Volume, path: FieldPath, errors: Errors): void {
  let isFirst = true;
  for (const name of sourcesOf(volume)) {
    if (isFirst) checkSource(volume, name, path, errors);
    else errors.push(forbidden(path.child(pathNames[name] ?? name), "may not specify more than 1 volume type"));
    isFirst = false;
    if (name === "iscsi" && volume.iscsi !== undefined && hasLongInterface(volume.name, volume.iscsi)) {
      errors.push(invalid(path.child("name"), volume.name, iscsiInterfaceTooLong));
    }
  }
  if (isFirst) errors.push(required(path, "must specify a volume type"));
}

function checkOwnClaims(volumes: readonly Volume[], podName: string, path: FieldPath, errors: Errors): void {
  const own = new Set<string>();
  for (const [i, volume] of volumes.entries()) {
    if (volume.ephemeral === undefined) continue;
    const { name } = volume;
    const claim = `${podName}-${name}`;
    own.add(claim);
    const isSeen = name !== "" && firstSource(volume) === "ephemeral";
    for (const message of isSeen ? dns1123Subdomain(claim) : []) {
      errors.push(invalid(path.index(i).child("name"), name, `PVC name ${goQuote(claim)}: ${message}`));
    }
  }
  if (own.size === 0) return;
  for (const [i, { persistentVolumeClaim: claim }] of volumes.entries()) {
    if (claim === undefined || !own.has(claim.claimName)) continue;
    const at = path.index(i).child("persistentVolumeClaim", "claimName");
    const detail = "must not reference a PVC that gets created for an ephemeral volume";
    errors.push(invalid(at, claim.claimName, detail));
  }
}
