/**
 * Binds claims to volumes that exist, or to simulated ones that it makes, and keeps the phases of volumes. Source:
 * upstream's `pkg/controller/volume/persistentvolume`.
 */
import { controller, keyOf, type Lister, type ReconcileContext, referenceTo } from "#client/controllers.ts";
import { type ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "#client/kinds.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { simulationDomain, type SimulationParts } from "./parts.ts";
import { claimNames } from "./scheduler.ts";

const isPending = ({ status }: PersistentVolumeClaim): boolean => status.phase !== "Bound";
const pendingClaims = (lister: Lister) => lister.list(PersistentVolumeClaim).filter(isPending).map(keyOf);

type Context = ReconcileContext<PersistentVolumeClaim>;

export const claimController = ({ domain }: SimulationParts) =>
  controller(PersistentVolumeClaim, {
    watches: [
      [StorageClass, (_, lister) => pendingClaims(lister)],
      [PersistentVolume, ({ spec: { claimRef } }, lister) => (claimRef ? keyOfClaim(claimRef) : pendingClaims(lister))],
      [Pod, (pod) => claimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`)],
    ],
    async reconcile(claim, context) {
      if (!isPending(claim)) return;
      const volume = volumeFor(claim, context.lister) ?? (await provision(claim, context, domain));
      if (volume !== undefined) await bind(claim, volume, context, domain);
    },
  });

const keyOfClaim = ({ namespace, name }: ObjectReference): string => `${namespace}/${name}`;

/** Whether a volume is meant for a claim: by its reference, whose uid may be absent before both are bound. */
const isFor = ({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  keyOfClaim(claimRef) === keyOf({ metadata }) &&
  (claimRef.uid ?? metadata.uid) === metadata.uid;

/** Returns the volume that a claim names, or the smallest one that has all that it asks for. */
function volumeFor(claim: PersistentVolumeClaim, lister: Lister): PersistentVolume | undefined {
  const { volumeName, accessModes = [], selector = {}, storageClassName = "", volumeMode, resources } = claim.spec;
  const isFree = (volume: PersistentVolume): boolean => volume.spec.claimRef === undefined || isFor(volume, claim);
  const volumes = lister.list(PersistentVolume).filter(isFree);
  if (volumeName !== undefined) return volumes.find(({ metadata }) => metadata.name === volumeName);
  const selected = compileLabelSelector(selector);
  const fits = ({ metadata, spec }: PersistentVolume): boolean =>
    metadata.deletionTimestamp === undefined &&
    (spec.storageClassName ?? "") === storageClassName &&
    spec.volumeMode === volumeMode &&
    accessModes.every((mode) => spec.accessModes?.includes(mode)) &&
    selected?.matches(metadata.labels) === true &&
    compareQuantities(sizeOf(spec.capacity), sizeOf(resources.requests)) >= 0;
  const fitting = volumes.filter(fits).map((volume) => ({ volume, size: sizeOf(volume.spec.capacity) }));
  const [smallest] = fitting.toSorted((a, b) => compareQuantities(a.size, b.size));
  return volumes.find((volume) => isFor(volume, claim)) ?? smallest?.volume;
}

/** Returns the storage in resources, which is valid where it is stored. */
const sizeOf = (resources?: Readonly<Record<string, string>>) => parseQuantity(resources?.["storage"] ?? "0")!;

/** Makes a volume for a claim, as its class says. */
async function provision(claim: PersistentVolumeClaim, { lister, event, create }: Context, { rename }: ApiDomain) {
  const { metadata, spec } = claim;
  const { storageClassName: className = "", volumeName, selector, resources, accessModes, volumeMode } = spec;
  if (className === "" || volumeName !== undefined || selector !== undefined) return undefined;
  const storageClass = lister.find(StorageClass, className);
  const absent = `storageclass.${rename("storage.k8s.io")} "${className}" not found`;
  if (storageClass === undefined) return event("Warning", "ProvisioningFailed", absent);
  const { provisioner, volumeBindingMode, reclaimPolicy = "Delete", mountOptions } = storageClass;
  const isUsed = lister.list(Pod, metadata.namespace).some((pod) => claimNames(pod).includes(metadata.name));
  if ((volumeBindingMode === "WaitForFirstConsumer" && !isUsed) || provisioner.endsWith("/no-provisioner"))
    return undefined;
  const name = `pvc-${metadata.uid}`;
  const annotations = { [rename("pv.kubernetes.io/provisioned-by")]: simulationDomain };
  const volume = {
    capacity: { storage: resources.requests?.["storage"] ?? "0" },
    accessModes,
    volumeMode,
    storageClassName: className,
    persistentVolumeReclaimPolicy: reclaimPolicy,
    mountOptions,
    claimRef: referenceTo(claim),
    csi: { driver: simulationDomain, volumeHandle: name },
  };
  return create(PersistentVolume, { metadata: { name, annotations }, spec: volume }, { owned: false });
}

/** Binds both, first the volume, of which only one claim can become the owner. */
async function bind(claim: PersistentVolumeClaim, volume: PersistentVolume, context: Context, { rename }: ApiDomain) {
  const { client, written, replaceStatus } = context;
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
    const claimRef = { ...volume.spec.claimRef, ...referenceTo(claim) };
    await client.kind(PersistentVolume).replace({ ...volume, spec: { ...volume.spec, claimRef } });
  }
  const byController = claim.spec.volumeName === undefined;
  const annotations = {
    ...claim.metadata.annotations,
    [rename("pv.kubernetes.io/bind-completed")]: "yes",
    ...(byController ? { [rename("pv.kubernetes.io/bound-by-controller")]: "yes" } : {}),
  };
  const metadata = { ...claim.metadata, annotations };
  const spec = { ...claim.spec, volumeName: volume.metadata.name };
  const bound = await client.kind(PersistentVolumeClaim).replace({ ...claim, metadata, spec });
  written(bound);
  const { accessModes, capacity } = volume.spec;
  await replaceStatus({ ...bound.status, phase: "Bound", accessModes, capacity });
}

export const volumeController = () =>
  controller(PersistentVolume, {
    watches: [[PersistentVolumeClaim, ({ spec: { volumeName } }) => volumeName]],
    async reconcile(volume, { lister, replaceStatus, remove }) {
      const { claimRef, csi, persistentVolumeReclaimPolicy: policy } = volume.spec;
      const claim = claimRef && lister.find(PersistentVolumeClaim, keyOfClaim(claimRef));
      const isOwner = claim?.metadata.uid === claimRef?.uid;
      const isReleased = claimRef?.uid !== undefined && !isOwner;
      const isBound = isOwner && claim?.spec.volumeName === volume.metadata.name;
      await replaceStatus({ ...volume.status, phase: isReleased ? "Released" : isBound ? "Bound" : "Available" });
      // A volume that is still called bound is protected from its deletion.
      if (isReleased && policy === "Delete" && csi?.driver === simulationDomain) await remove(PersistentVolume, volume);
    },
  });
