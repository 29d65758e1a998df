/**
 * Descriptions of the metadata fields, as a 1.32 server publishes them. Clients show them (`kubectl explain`, table
 * columns), and recorded answers about custom kinds hold them, so they are exact, with the domain applied.
 */
import type { ApiDomain } from "./api-domain.ts";

const conventions = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

const texts = {
  apiVersion: `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`,
  kind: `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`,
  metadata: `Standard object's metadata. More info: ${conventions}#metadata`,
  listMetadata: `Standard list metadata. More info: ${conventions}#types-kinds`,
  embeddedApiVersion: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
  embeddedKind: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
  items: `More info: ${conventions}`,
  name: "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
  creationTimestamp: `CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: ${conventions}#metadata`,
} as const;

/** Returns the description of a field, with the names of the domain. */
export const fieldText = (domain: ApiDomain, field: keyof typeof texts): string => domain.rename(texts[field]);
