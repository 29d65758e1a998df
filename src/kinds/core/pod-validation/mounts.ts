/** Validates volume mounts and volume devices of containers. */
import type { Container, Volume, VolumeDevice, VolumeMount } from "#api/core/v1.ts";
import { forbidden, invalid, notFound, notSupported, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { checkDescending, checkOneOf, type Errors, hasBackstep } from "../../checks.ts";

/** The valid volumes of a pod by name. */
export type Volumes = ReadonlyMap<string, Volume>;

type Users = Pick<Container, "volumeMounts" | "volumeDevices" | "securityContext">;

const propagations = ["Bidirectional", "HostToContainer", "None"];
const recursions = ["Disabled", "Enabled", "IfPossible"];

export function checkMounts(container: Users, volumes: Volumes, path: FieldPath, errors: Errors): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  if (volumeMounts.length === 0) return;
  const devices = volumeDevices.length === 0 ? none : devicesOf(volumeDevices);
  const seen = new Set<string>();
  for (const [i, mount] of volumeMounts.entries()) {
    const { name, mountPath, subPath = "", subPathExpr = "" } = mount;
    const at = path.index(i);
    if (name === "") errors.push(required(at.child("name")));
    const volume = volumes.get(name);
    if (volume === undefined) errors.push(notFound(at.child("name"), name));
    if (mountPath === "") errors.push(required(at.child("mountPath")));
    if (seen.has(mountPath)) errors.push(invalid(at.child("mountPath"), mountPath, "must be unique"));
    seen.add(mountPath);
    if (devices.names.has(name))
      errors.push(invalid(at.child("name"), name, "must not already exist in volumeDevices"));
    if (devices.paths.has(mountPath)) {
      errors.push(invalid(at.child("mountPath"), mountPath, "must not already exist as a path in volumeDevices"));
    }
    if (volume?.image !== undefined) {
      for (const [field, value] of Object.entries({ subPath, subPathExpr })) {
        if (value !== "") errors.push(invalid(at.child(field), value, "not allowed in image volume sources"));
      }
    }
    // Upstream: the following findings have the path of the list.
    if (subPath !== "") checkDescending(subPath, path.child("subPath"), errors);
    if (subPathExpr !== "") {
      if (subPath !== "") {
        const detail = "subPathExpr and subPath are mutually exclusive";
        errors.push(invalid(at.child("subPathExpr"), subPathExpr, detail));
      }
      checkDescending(subPathExpr, path.child("subPathExpr"), errors);
    }
    checkPropagation(mount, container.securityContext?.privileged === true, path, errors);
    checkRecursion(mount, path, errors);
  }
}

/** The devices that a container has. */
interface Devices {
  readonly names: ReadonlySet<string>;
  readonly paths: ReadonlySet<string>;
}

const none: Devices = { names: new Set(), paths: new Set() };

function devicesOf(devices: readonly VolumeDevice[]): Devices {
  // Upstream: if several devices have the same name, the last one counts.
  const byName = new Map(devices.map(({ name, devicePath }) => [name, devicePath]));
  return { names: new Set(byName.keys()), paths: new Set(byName.values()) };
}

function checkPropagation(mount: VolumeMount, isPrivileged: boolean, mounts: FieldPath, errors: Errors): void {
  const { mountPropagation } = mount;
  if (mountPropagation === undefined) return;
  const path = mounts.child("mountPropagation");
  checkOneOf(mountPropagation, propagations, path, errors);
  if (mountPropagation === "Bidirectional" && !isPrivileged) {
    const detail = "Bidirectional mount propagation is available only to privileged containers";
    errors.push(forbidden(path, detail));
  }
}

function checkRecursion(mount: VolumeMount, mounts: FieldPath, errors: Errors): void {
  const { recursiveReadOnly: value, mountPropagation, readOnly } = mount;
  if (value === undefined || value === "Disabled") return;
  const path = mounts.child("recursiveReadOnly");
  if (!recursions.includes(value)) {
    errors.push(notSupported(path, value, recursions));
    return;
  }
  if (readOnly !== true) errors.push(forbidden(path, "may only be specified when readOnly is true"));
  if (mountPropagation !== undefined && mountPropagation !== "None") {
    const detail = "may only be specified when mountPropagation is None or not specified";
    errors.push(forbidden(path, detail));
  }
}

export function checkDevices(container: Users, volumes: Volumes, path: FieldPath, errors: Errors): void {
  const { volumeMounts = [], volumeDevices = [] } = container;
  if (volumeDevices.length === 0) return;
  const mounts = new Map(volumeMounts.map(({ name, mountPath }) => [name, mountPath]));
  const mountPaths = new Set(mounts.values());
  const names = new Set<string>();
  const paths = new Set<string>();
  for (const [i, device] of volumeDevices.entries()) {
    const { name, devicePath } = device;
    const nameAt = path.index(i).child("name");
    const pathAt = path.index(i).child("devicePath");
    if (name === "") errors.push(required(nameAt));
    if (names.has(name)) errors.push(invalid(nameAt, name, "must be unique"));
    if (name !== "") names.add(name);
    checkBlock(device, volumes, nameAt, errors);
    if (devicePath === "") errors.push(required(pathAt));
    if (paths.has(devicePath)) errors.push(invalid(pathAt, devicePath, "must be unique"));
    if (hasBackstep(devicePath)) {
      errors.push(invalid(pathAt, devicePath, "can not contain backsteps ('..')"));
    } else paths.add(devicePath);
    if (mounts.has(name)) errors.push(invalid(nameAt, name, "must not already exist in volumeMounts"));
    if (mountPaths.has(devicePath)) {
      errors.push(invalid(pathAt, devicePath, "must not already exist as a path in volumeMounts"));
    }
  }
}

function checkBlock({ name }: VolumeDevice, volumes: Volumes, path: FieldPath, errors: Errors): void {
  const volume = volumes.get(name);
  if (volume === undefined) errors.push(notFound(path, name));
  else if (volume.persistentVolumeClaim === undefined && volume.ephemeral === undefined) {
    const detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode";
    errors.push(invalid(path, name, detail));
  }
}
