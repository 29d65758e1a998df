/** Which other objects a pod names, and a volume. Source: upstream's `pkg/api/v1/pod` and `persistentvolume` visitors. */
import type { Unstructured } from "#meta/object-meta.ts";

interface Named {
  readonly name?: string;
  readonly namespace?: string;
}

type List<T> = readonly T[] | null | undefined;

interface Sourced {
  readonly azureFile?: { readonly secretName?: string; readonly secretNamespace?: string };
  readonly cephfs?: { readonly secretRef?: Named };
  readonly cinder?: { readonly secretRef?: Named };
  readonly flexVolume?: { readonly secretRef?: Named };
  readonly rbd?: { readonly secretRef?: Named };
  readonly scaleIO?: { readonly secretRef?: Named };
  readonly iscsi?: { readonly secretRef?: Named };
  readonly storageos?: { readonly secretRef?: Named };
}

export interface PodVolume extends Sourced {
  readonly name?: string;
  readonly secret?: { readonly secretName?: string };
  readonly configMap?: Named;
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly ephemeral?: object;
  readonly csi?: { readonly driver?: string; readonly nodePublishSecretRef?: Named };
  readonly projected?: {
    readonly sources?: List<{
      readonly secret?: Named;
      readonly configMap?: Named;
      readonly clusterTrustBundle?: object;
      readonly serviceAccountToken?: { readonly audience?: string };
    }>;
  };
}

interface Container {
  readonly env?: List<{ readonly valueFrom?: { readonly secretKeyRef?: Named; readonly configMapKeyRef?: Named } }>;
  readonly envFrom?: List<{ readonly secretRef?: Named; readonly configMapRef?: Named }>;
}

export interface Pod extends Unstructured {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly imagePullSecrets?: List<Named>;
    readonly initContainers?: List<Container>;
    readonly containers?: List<Container>;
    readonly ephemeralContainers?: List<Container>;
    readonly volumes?: List<PodVolume>;
    readonly resourceClaims?: List<{ readonly name?: string; readonly resourceClaimName?: string }>;
  };
  readonly status?: {
    readonly resourceClaimStatuses?: List<{ readonly name?: string; readonly resourceClaimName?: string }>;
  };
}

/** Names in the pod's namespace. */
export interface PodReferences {
  readonly secrets: ReadonlySet<string>;
  readonly configMaps: ReadonlySet<string>;
  readonly claims: ReadonlySet<string>;
  readonly resourceClaims: ReadonlySet<string>;
}

export function podReferences({ metadata, spec = {}, status = {} }: Pod): PodReferences {
  const secrets = new Set<string>();
  const configMaps = new Set<string>();
  const claims = new Set<string>();
  const resourceClaims = new Set<string>();
  const add = (to: Set<string>, name: string | undefined): void => {
    if (name !== undefined && name !== "") to.add(name);
  };
  for (const { name } of spec.imagePullSecrets ?? []) add(secrets, name);
  for (const list of [spec.initContainers, spec.containers, spec.ephemeralContainers]) {
    for (const { env, envFrom } of list ?? []) {
      for (const { valueFrom } of env ?? []) {
        add(secrets, valueFrom?.secretKeyRef?.name);
        add(configMaps, valueFrom?.configMapKeyRef?.name);
      }
      for (const { secretRef, configMapRef } of envFrom ?? []) {
        add(secrets, secretRef?.name);
        add(configMaps, configMapRef?.name);
      }
    }
  }
  for (const volume of spec.volumes ?? []) {
    add(secrets, volume.secret?.secretName);
    add(secrets, volume.azureFile?.secretName);
    add(secrets, volume.csi?.nodePublishSecretRef?.name);
    for (const { name } of secretRefs(volume)) add(secrets, name);
    add(configMaps, volume.configMap?.name);
    add(claims, volume.persistentVolumeClaim?.claimName);
    if (volume.ephemeral !== undefined) add(claims, `${metadata.name ?? ""}-${volume.name ?? ""}`);
    for (const { secret, configMap } of volume.projected?.sources ?? []) {
      add(secrets, secret?.name);
      add(configMaps, configMap?.name);
    }
  }
  const made = new Map((status.resourceClaimStatuses ?? []).map((one) => [one.name, one.resourceClaimName]));
  for (const { name, resourceClaimName } of spec.resourceClaims ?? []) {
    add(resourceClaims, resourceClaimName ?? made.get(name));
  }
  return { secrets, configMaps, claims, resourceClaims };
}

const secretRefs = (volume: Sourced): readonly Named[] =>
  [volume.cephfs, volume.cinder, volume.flexVolume, volume.rbd, volume.scaleIO, volume.iscsi, volume.storageos].flatMap(
    (source) => source?.secretRef ?? [],
  );

export interface Volume extends Unstructured {
  readonly spec?: Sourced & {
    readonly claimRef?: Named;
    readonly csi?: {
      readonly driver?: string;
      readonly nodePublishSecretRef?: Named;
      readonly nodeStageSecretRef?: Named;
      readonly nodeExpandSecretRef?: Named;
    };
  };
}

/** Secrets that a node needs for a bound volume. Those without a namespace are in the claim's. */
export function volumeSecrets({ spec = {} }: Volume): readonly { readonly namespace: string; readonly name: string }[] {
  const { azureFile, csi, claimRef } = spec;
  const named: readonly Named[] = [
    ...(azureFile === undefined ? [] : [withNamespace(azureFile.secretName, azureFile.secretNamespace)]),
    ...secretRefs(spec),
    ...[csi?.nodePublishSecretRef, csi?.nodeStageSecretRef, csi?.nodeExpandSecretRef].flatMap((ref) => ref ?? []),
  ];
  return named.flatMap(({ name = "", namespace = "" }) =>
    name === "" ? [] : [{ name, namespace: namespace === "" ? (claimRef?.namespace ?? "") : namespace }],
  );
}

const withNamespace = (name = "", namespace = ""): Named => ({ name, namespace });
