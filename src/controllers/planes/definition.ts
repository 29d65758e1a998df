/** The kind Plane: its group, version, and custom resource definition. */
import type { ApiDomain } from "#meta/api-domain.ts";

export const planeVersion = "v1alpha1";
export const planeGroup = (domain: ApiDomain): string => domain.rename("planes.k8s.io");

/** The name of a plane is a label of a host name, and the name of a folder. */
const nameRule = "self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') && size(self.metadata.name) <= 63";

/** The minimum of a quota: the objects with which every plane begins have a quarter of it. */
const quotaBytesMin = 1024 * 1024;

const text = { type: "string" };
const bytes = { type: "integer", format: "int64" };

const specSchema = {
  type: "object",
  description: "What is asked of the plane.",
  properties: {
    quota: {
      type: "object",
      description: "The bounds of what the plane stores.",
      properties: {
        bytes: {
          ...bytes,
          minimum: quotaBytesMin,
          description:
            "The bytes that all objects may have. Writes that would exceed them are refused; deletions go on.",
        },
      },
    },
  },
};

const conditionsSchema = {
  type: "array",
  description: "Ready: whether the plane serves requests.",
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": ["type"],
  items: {
    type: "object",
    required: ["type", "status"],
    properties: {
      type: text,
      status: text,
      reason: text,
      message: text,
      lastTransitionTime: { ...text, format: "date-time" },
      observedGeneration: { type: "integer", format: "int64" },
    },
  },
};

const statusSchema = {
  type: "object",
  description: "What the server says about the plane.",
  properties: {
    url: { ...text, description: "The URL by which clients reach the plane." },
    kubeconfigSecret: {
      type: "object",
      description: "The Secret with the kubeconfig of the plane's administrator.",
      properties: { namespace: text, name: text },
    },
    used: {
      type: "object",
      description: "What a plane with a quota stores, told from time to time.",
      properties: { bytes },
    },
    conditions: conditionsSchema,
  },
};

export function planeDefinition(domain: ApiDomain) {
  const group = planeGroup(domain);
  return {
    apiVersion: domain.rename("apiextensions.k8s.io/v1"),
    kind: "CustomResourceDefinition",
    metadata: {
      name: `planes.${group}`,
      annotations: { [domain.rename("api-approved.kubernetes.io")]: "unapproved, served with --planes" },
    },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "planes", singular: "plane", kind: "Plane", listKind: "PlaneList" },
      versions: [
        {
          name: planeVersion,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [
            { name: "Ready", type: "string", jsonPath: ".status.conditions[?(@.type=='Ready')].status" },
            { name: "URL", type: "string", jsonPath: ".status.url" },
            { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
          ],
          schema: {
            openAPIV3Schema: {
              type: "object",
              description: "A control plane beside that of the server, with users, permissions and objects of its own.",
              "x-kubernetes-validations": [{ rule: nameRule, message: "the name must be a DNS label" }],
              properties: {
                spec: specSchema,
                status: statusSchema,
              },
            },
          },
        },
      ],
    },
  };
}
