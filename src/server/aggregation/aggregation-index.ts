/** An index of the APIServices that name another server, in step with the store. */
import type { APIService } from "#api/apiregistration/v1.ts";
import { AggregatedApis } from "#extensions/aggregated-apis.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { HandlersByResource } from "../index-handlers.ts";

/** The index of APIServices; it decides where requests go, and is kept in step with the stored objects. */
export class AggregationIndex {
  readonly apis: AggregatedApis;
  /** Called with the name of the APIService after every change. */
  changed: ((name: string) => void) | undefined;

  constructor({ rename }: ApiDomain) {
    this.apis = new AggregatedApis(rename("apiregistration.k8s.io"), (name) => this.changed?.(name));
  }

  get handlers(): HandlersByResource {
    return {
      "apiservices.apiregistration.k8s.io": {
        cleared: () => this.apis.clear(),
        changed: (_namespace, name, object: APIService | undefined) => this.apis.set(name, object),
      },
    };
  }
}
