/**
 * The types of objects that access checks and admission look up, by resource name, so that a look-up returns the right
 * type. Add a line to look up another resource.
 */
import type {
  Endpoints,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
  Service,
  ServiceAccount,
} from "./core/v1.ts";
import type { IngressClass } from "./networking/v1.ts";
import type { RuntimeClass } from "./node/v1.ts";
import type { CSIDriver, StorageClass } from "./storage/v1.ts";
import type { VolumeAttributesClass } from "./storage/v1beta1.ts";

export interface ObjectTypes {
  endpoints: Endpoints;
  namespaces: Namespace;
  nodes: Node;
  persistentvolumeclaims: PersistentVolumeClaim;
  persistentvolumes: PersistentVolume;
  pods: Pod;
  secrets: Secret;
  serviceaccounts: ServiceAccount;
  services: Service;
  "csidrivers.storage.k8s.io": CSIDriver;
  "ingressclasses.networking.k8s.io": IngressClass;
  "runtimeclasses.node.k8s.io": RuntimeClass;
  "storageclasses.storage.k8s.io": StorageClass;
  /** Both served versions have the same fields. */
  "volumeattributesclasses.storage.k8s.io": VolumeAttributesClass;
}

/**
 * Finds the present version of an object, which includes every acknowledged write. `namespace` is empty for cluster
 * scope.
 */
export type FindObject = <Resource extends keyof ObjectTypes>(
  resource: Resource,
  namespace: string,
  name: string,
) => ObjectTypes[Resource] | undefined;
