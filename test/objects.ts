/** Minimal valid objects for tests, with Kubernetes' names. */

export type ObjectBody = Readonly<Record<string, unknown>>;

/** The fields of an object. */
type Fields = object;

export const claim = (name: string, spec: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name, ...metadata },
  spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } }, ...spec },
});

export const claimTemplate = (name: string, spec?: Fields, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "resource.k8s.io/v1beta1",
  kind: "ResourceClaimTemplate",
  metadata: { name, ...metadata },
  spec: spec ?? { spec: { devices: { requests: [{ name: "d", deviceClassName: "x" }] } } },
});

export const attributesClass = (name: string, fields: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "storage.k8s.io/v1beta1",
  kind: "VolumeAttributesClass",
  metadata: { name, ...metadata },
  driverName: "d.example.com",
  parameters: { iops: "100" },
  ...fields,
});

export const configMap = (name: string, data: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

export const secret = (name: string, stringData: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, ...metadata },
  stringData,
});

export const pod = (name: string, spec: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { containers: [{ name: "c", image: "i" }], ...spec },
});

export const namespace = (name: string, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, ...metadata },
});

export const lease = (name: string, spec: Fields = {}, metadata: Fields = {}): ObjectBody => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name, ...metadata },
  spec,
});

/** The collections of one namespace. */
export interface NamespacePaths {
  readonly ns: string;
  readonly claims: string;
  readonly templates: string;
  readonly configMaps: string;
  readonly secrets: string;
  readonly serviceAccounts: string;
  readonly leases: string;
  readonly events: string;
  readonly newEvents: string;
}

export function namespacePaths(ns: string): NamespacePaths {
  const core = `/api/v1/namespaces/${ns}`;
  const group = (name: string): string => `/apis/${name}/namespaces/${ns}`;
  return {
    ns,
    claims: `${core}/persistentvolumeclaims`,
    templates: `${group("resource.k8s.io/v1beta1")}/resourceclaimtemplates`,
    configMaps: `${core}/configmaps`,
    secrets: `${core}/secrets`,
    serviceAccounts: `${core}/serviceaccounts`,
    leases: `${group("coordination.k8s.io/v1")}/leases`,
    events: `${core}/events`,
    newEvents: `${group("events.k8s.io/v1")}/events`,
  };
}

export const attributesClasses = "/apis/storage.k8s.io/v1beta1/volumeattributesclasses";
export const namespaces = "/api/v1/namespaces";
