/**
 * Binds claims to volumes that exist, or to simulated ones that it makes, and keeps the phases of volumes. Source:
 * upstream's `pkg/controller/volume/persistentvolume`.
 */
import { ApiError } from "#client/api-error.ts";
import { controller, type Lister, type ReconcileContext, type RunnableController } from "#client/controllers.ts";
import { keyOf } from "#client/informer.ts";
import { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from "#client/kinds.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import { compareQuantities, parseQuantity } from "#meta/quantity.ts";
import { remove, writeStatus } from "./owned.ts";
import { simulationDomain, type SimulationParts } from "./parts.ts";
import { claimNames } from "./pods.ts";

const isPending = ({ status, metadata }: PersistentVolumeClaim): boolean =>
  status.phase !== "Bound" && metadata.deletionTimestamp === undefined;

const pendingClaims = (lister: Lister): readonly string[] =>
  lister.list(PersistentVolumeClaim).filter(isPending).map(keyOf);

export const claimController = (parts: SimulationParts): RunnableController =>
  controller(PersistentVolumeClaim, {
    name: "persistentvolumeclaim",
    watches: [
      [StorageClass, (_, lister) => pendingClaims(lister)],
      [
        PersistentVolume,
        ({ spec: { claimRef } }, lister) => (claimRef === undefined ? pendingClaims(lister) : claimKey(claimRef)),
      ],
      [
        Pod,
        (pod) =>
          pod.spec.nodeName === undefined ? claimNames(pod).map((name) => `${pod.metadata.namespace}/${name}`) : [],
      ],
    ],
    async reconcile(claim, context) {
      if (claim.status.phase === "Bound") return expand(claim, context);
      const volume = volumeFor(claim, context.lister) ?? (await provision(claim, context, parts));
      if (volume !== undefined) await bind(claim, volume, context, parts);
      return undefined;
    },
  });

const claimKey = ({ namespace, name }: NonNullable<PersistentVolume["spec"]["claimRef"]>): string =>
  `${namespace}/${name}`;

/** Whether a volume is meant for a claim: by its reference, whose uid may be absent before both are bound. */
const isFor = ({ spec: { claimRef } }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean =>
  claimRef !== undefined &&
  claimKey(claimRef) === keyOf({ metadata }) &&
  (claimRef.uid === undefined || claimRef.uid === metadata.uid);

/** Returns the volume that a claim names, or the smallest one that has all that it asks for. */
function volumeFor(claim: PersistentVolumeClaim, lister: Lister): PersistentVolume | undefined {
  const { volumeName, accessModes = [], selector, storageClassName = "", volumeMode } = claim.spec;
  const isFree = (volume: PersistentVolume): boolean => volume.spec.claimRef === undefined || isFor(volume, claim);
  if (volumeName !== undefined) {
    const named = lister.find(PersistentVolume, volumeName);
    return named !== undefined && isFree(named) ? named : undefined;
  }
  const volumes = lister.list(PersistentVolume).filter(isFree);
  const matches = selector === undefined ? undefined : compileLabelSelector(selector);
  const fits = ({ metadata, spec }: PersistentVolume): boolean =>
    metadata.deletionTimestamp === undefined &&
    (spec.storageClassName ?? "") === storageClassName &&
    spec.volumeMode === volumeMode &&
    accessModes.every((mode) => spec.accessModes?.includes(mode)) &&
    (matches === undefined || matches.matches(metadata.labels)) &&
    compareSizes(spec.capacity, claim.spec.resources.requests) >= 0;
  return (
    volumes.find((volume) => isFor(volume, claim)) ??
    volumes.filter(fits).toSorted((a, b) => compareSizes(a.spec.capacity, b.spec.capacity))[0]
  );
}

type Resources = Readonly<Record<string, string>> | undefined;

/** Compares the storage of two sets of resources. */
function compareSizes(a: Resources, b: Resources): number {
  const size = (of: Resources) => parseQuantity(of?.["storage"] ?? "0")!; // stored quantities are valid
  return compareQuantities(size(a), size(b));
}

/** Makes a volume for a claim, as its class says. */
async function provision(
  claim: PersistentVolumeClaim,
  context: ReconcileContext<PersistentVolumeClaim>,
  { domain }: SimulationParts,
): Promise<PersistentVolume | undefined> {
  const { metadata, spec } = claim;
  const { storageClassName: className = "", volumeName, selector } = spec;
  if (className === "" || volumeName !== undefined || selector !== undefined) return undefined;
  const found = context.lister.find(StorageClass, className);
  if (found === undefined) {
    context.event(
      "Warning",
      "ProvisioningFailed",
      `storageclass.${domain.rename("storage.k8s.io")} "${className}" not found`,
    );
    return undefined;
  }
  const uses = (pod: Pod): boolean => claimNames(pod).includes(metadata.name);
  const waits = found.volumeBindingMode === "WaitForFirstConsumer";
  if (waits && !context.lister.list(Pod, metadata.namespace).some(uses)) return undefined;
  if (found.provisioner.endsWith("/no-provisioner")) return undefined;
  const volumes = context.client.kind(PersistentVolume);
  const name = `pvc-${metadata.uid}`;
  try {
    return await volumes.create({
      metadata: { name, annotations: { [domain.rename("pv.kubernetes.io/provisioned-by")]: simulationDomain } },
      spec: {
        capacity: { storage: spec.resources.requests?.["storage"] ?? "0" },
        accessModes: spec.accessModes,
        volumeMode: spec.volumeMode,
        storageClassName: className,
        persistentVolumeReclaimPolicy: found.reclaimPolicy ?? "Delete",
        mountOptions: found.mountOptions,
        claimRef: referenceTo(claim),
        csi: { driver: simulationDomain, volumeHandle: name },
      },
    });
  } catch (error) {
    if (!(error instanceof ApiError && error.reason === "AlreadyExists")) throw error;
    return volumes.find(name);
  }
}

const referenceTo = ({ metadata: { name, namespace, uid } }: PersistentVolumeClaim) => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  name,
  namespace,
  uid,
});

/** Binds both, first the volume, of which only one claim can become the owner. */
async function bind(
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
  context: ReconcileContext<PersistentVolumeClaim>,
  { domain }: SimulationParts,
): Promise<void> {
  const { client } = context;
  if (volume.spec.claimRef?.uid !== claim.metadata.uid) {
    const claimRef = { ...volume.spec.claimRef, ...referenceTo(claim) };
    await client.kind(PersistentVolume).replace({ ...volume, spec: { ...volume.spec, claimRef } });
  }
  const annotations = {
    ...claim.metadata.annotations,
    [domain.rename("pv.kubernetes.io/bind-completed")]: "yes",
    ...(claim.spec.volumeName === undefined ? { [domain.rename("pv.kubernetes.io/bound-by-controller")]: "yes" } : {}),
  };
  const metadata = { ...claim.metadata, annotations };
  const bound = await client
    .kind(PersistentVolumeClaim)
    .replace({ ...claim, metadata, spec: { ...claim.spec, volumeName: volume.metadata.name } });
  const { accessModes, capacity } = volume.spec;
  await writeStatus(context, PersistentVolumeClaim, bound, { ...bound.status, phase: "Bound", accessModes, capacity });
}

/** Lets a bound claim grow, where its class allows it. */
async function expand(claim: PersistentVolumeClaim, context: ReconcileContext<PersistentVolumeClaim>): Promise<void> {
  const { spec, status } = claim;
  if (compareSizes(spec.resources.requests, status.capacity) <= 0) return;
  const volume = context.lister.find(PersistentVolume, spec.volumeName ?? "");
  if (volume?.spec.csi?.driver !== simulationDomain) return;
  const capacity = { ...status.capacity, storage: spec.resources.requests?.["storage"] ?? "0" };
  await context.client.kind(PersistentVolume).replace({ ...volume, spec: { ...volume.spec, capacity } });
  await writeStatus(context, PersistentVolumeClaim, claim, { ...status, capacity });
}

export const volumeController = (): RunnableController =>
  controller(PersistentVolume, {
    name: "persistentvolume",
    watches: [[PersistentVolumeClaim, ({ spec: { volumeName } }) => volumeName]],
    async reconcile(volume, context) {
      const { claimRef, csi, persistentVolumeReclaimPolicy: policy } = volume.spec;
      const claim = claimRef && context.lister.find(PersistentVolumeClaim, claimKey(claimRef));
      const isOwner = claim !== undefined && claim.metadata.uid === claimRef?.uid;
      const isReleased = claimRef?.uid !== undefined && !isOwner;
      const phase = isReleased
        ? "Released"
        : isOwner && claim.spec.volumeName === volume.metadata.name
          ? "Bound"
          : "Available";
      await writeStatus(context, PersistentVolume, volume, { ...volume.status, phase });
      // A volume that is still called bound is protected from its deletion.
      if (isReleased && policy === "Delete" && csi?.driver === simulationDomain) {
        await remove(context, PersistentVolume, volume);
      }
    },
  });
