/** Types of group apiextensions.k8s.io, version v1, as far as code of ours reads them. Plain read-only JSON data. */
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { JsonSchemaProps } from "#schema/structural.ts";

export interface CustomResourceDefinition {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec: CustomResourceDefinitionSpec;
  readonly status?: CustomResourceDefinitionStatus;
  readonly [field: string]: unknown;
}

export interface CustomResourceDefinitionSpec {
  readonly group: string;
  readonly names: CustomResourceDefinitionNames;
  readonly scope: string;
  /** Null in what a client sent without any; such a definition is refused. */
  readonly versions: readonly CustomResourceDefinitionVersion[] | null;
  readonly conversion?: CustomResourceConversion;
  readonly preserveUnknownFields?: boolean;
}

export interface CustomResourceDefinitionNames {
  readonly plural: string;
  readonly singular?: string;
  readonly shortNames?: readonly string[];
  readonly kind: string;
  readonly listKind?: string;
  readonly categories?: readonly string[];
}

export interface CustomResourceDefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated?: boolean;
  readonly deprecationWarning?: string;
  readonly schema?: { readonly openAPIV3Schema?: JsonSchemaProps };
  readonly subresources?: CustomResourceSubresources;
  readonly additionalPrinterColumns?: readonly CustomResourceColumnDefinition[];
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
}

export interface CustomResourceSubresources {
  readonly status?: object;
  readonly scale?: CustomResourceSubresourceScale;
}

export interface CustomResourceSubresourceScale {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface CustomResourceColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

export interface CustomResourceConversion {
  readonly strategy: string;
  readonly webhook?: {
    readonly clientConfig?: {
      readonly url?: string;
      readonly service?: {
        readonly namespace: string;
        readonly name: string;
        readonly path?: string;
        readonly port?: number;
      };
      readonly caBundle?: string;
    };
    readonly conversionReviewVersions?: readonly string[] | null;
  };
}

export interface CustomResourceDefinitionStatus {
  readonly conditions?: readonly CustomResourceDefinitionCondition[] | null;
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly storedVersions?: readonly string[] | null;
}

export interface CustomResourceDefinitionCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly lastTransitionTime?: string | null;
  readonly reason?: string;
  readonly message?: string;
}
