/** An index of the APIServices that name another server, in step with the store. */
import type { APIService } from "#api/apiregistration/v1.ts";
import { AggregatedApis } from "#extensions/aggregated-apis.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { ObjectHandlers } from "#registry/informer.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";

/** The index of APIServices; it decides where requests go, and is kept in step with the stored objects. */
export class AggregationIndex {
  readonly #group: string;
  readonly apis: AggregatedApis;
  /** Called with the name of the APIService after every change. */
  changed: ((name: string) => void) | undefined;

  constructor({ rename }: ApiDomain) {
    this.#group = rename("apiregistration.k8s.io");
    this.apis = new AggregatedApis(this.#group, (name) => this.changed?.(name));
  }

  /** Returns the handlers for APIServices; `undefined` for all other resources. */
  handlers({ group, resource }: ResourceDefinition): ObjectHandlers<ApiObject> | undefined {
    if (group !== this.#group || resource !== "apiservices") return undefined;
    return {
      cleared: () => this.apis.clear(),
      changed: (_namespace, name, object: APIService | undefined) => this.apis.set(name, object),
    };
  }
}
