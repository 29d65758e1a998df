/** Connects the custom resource controller to the stored definitions. */
import type { ApiTables } from "#api/definitions.ts";
import {
  CustomResourceController,
  type CustomResourceControllerOptions,
} from "#extensions/custom-resource-controller.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { waitForSync } from "#registry/informer.ts";
import type { Schema } from "#schema/schema.ts";
import { metadataSchema } from "./handler-parts.ts";

type Given = Omit<CustomResourceControllerOptions, "definition" | "builtIn" | "reserved" | "metadata">;

export interface CustomResourcesOptions extends Given {
  readonly tables: ApiTables;
  readonly builtIn: readonly ResourceDefinition[];
}

/** Not started yet: until then only built-in kinds are served. `undefined` where definitions are not served. */
export function customResources(options: CustomResourcesOptions): CustomResourceController | undefined {
  const { domain, tables, builtIn } = options;
  const group = domain.rename("apiextensions.k8s.io");
  const definition = builtIn.find((other) => other.group === group && other.resource === "customresourcedefinitions");
  if (definition === undefined) return undefined;
  const waiting = waitForSync(definition, () => controller);
  const controller: CustomResourceController = new CustomResourceController({
    ...options,
    definition,
    builtIn: builtIn.map((other) => (other === definition ? waiting : other)),
    reserved: tables.kinds,
    get metadata(): Schema {
      return metadataSchema(tables, domain);
    },
  });
  return controller;
}
