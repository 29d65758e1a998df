/**
 * The objects that a pod or a volume refers to. Source: upstream's `pkg/api/v1/pod` and `persistentvolume` visitors.
 */
import { allContainers } from "#api/core/containers.ts";
import type { PersistentVolume, PersistentVolumeSpec, Pod, Volume } from "#api/core/v1.ts";

/** The names of objects in the pod's namespace. */
interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  readonly resourceClaims: ReadonlySet<string>;
}

export function podReferences({ metadata, spec, status }: Pod): PodReferences {
  const secrets = new Set<string>();
  const configMaps = new Set<string>();
  const claims = new Set<string>();
  const resourceClaims = new Set<string>();
  const add = (to: Set<string>, name: string | undefined): void => {
    if (name !== undefined && name !== "") to.add(name);
  };
  for (const { name } of spec.imagePullSecrets ?? []) add(secrets, name);
  for (const { env, envFrom } of allContainers(spec)) {
    for (const { valueFrom } of env ?? []) {
      add(secrets, valueFrom?.secretKeyRef?.name);
      add(configMaps, valueFrom?.configMapKeyRef?.name);
    }
    for (const { secretRef, configMapRef } of envFrom ?? []) {
      add(secrets, secretRef?.name);
      add(configMaps, configMapRef?.name);
    }
  }
  for (const volume of spec.volumes ?? []) {
    add(secrets, volume.secret?.secretName);
    add(secrets, volume.azureFile?.secretName);
    add(secrets, volume.csi?.nodePublishSecretRef?.name);
    for (const { name } of secretRefs(volume)) add(secrets, name);
    add(configMaps, volume.configMap?.name);
    add(claims, volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) add(claims, `${metadata.name ?? ""}-${volume.name}`);
    for (const { secret, configMap } of volume.projected?.sources ?? []) {
      add(secrets, secret?.name);
      add(configMaps, configMap?.name);
    }
  }
  const claimNames = new Map((status.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]));
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    add(resourceClaims, resourceClaimName ?? claimNames.get(name));
  }
  return { secrets, configMaps, claims, resourceClaims };
}

/** A reference to a secret, in the namespace of the claim or another one. */
interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

const secretRefs = (volume: Volume | PersistentVolumeSpec): readonly Named[] =>
  [volume.cephfs, volume.cinder, volume.flexVolume, volume.rbd, volume.scaleIO, volume.iscsi, volume.storageos].flatMap(
    (source) => source?.secretRef ?? [],
  );

/** Returns the secrets that a node needs for a bound volume. Secrets without a namespace are in that of the claim. */
export function volumeSecrets({
  spec,
}: PersistentVolume): readonly { readonly namespace: string; readonly name: string }[] {
  const { azureFile, csi, claimRef } = spec;
  const named: readonly Named[] = [
    ...(azureFile === undefined ? [] : [{ name: azureFile.secretName, namespace: azureFile.secretNamespace ?? "" }]),
    ...secretRefs(spec),
    ...[csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef].flatMap((ref) => ref ?? []),
  ];
  return named.flatMap(({ name = "", namespace = "" }) =>
    name === "" ? [] : [{ name, namespace: namespace === "" ? (claimRef?.namespace ?? "") : namespace }],
  );
}
