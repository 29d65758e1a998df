/** The resources of this server and of aggregated ones, for controllers that handle objects of every kind. */
import type { ServedResource, ServedResources } from "#controllers/garbage-collector.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { Discovery } from "#publication/discovery.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Aggregation } from "./aggregation.ts";

/** `onTableChange` adds a listener for changes of the served resources. */
export function servedResources(
  domain: ApiDomain,
  table: () => ResourceTable,
  aggregation: Pick<Aggregation, "versions" | "onChange">,
  onTableChange: (changed: () => void) => void,
): ServedResources {
  const discovery = new Discovery({
    domain,
    definitions: () => table().definitions,
    remote: aggregation.versions,
  });
  return {
    list: () => listResources(discovery),
    onChange(changed) {
      onTableChange(changed);
      aggregation.onChange(changed);
    },
  };
}

function* listResources(discovery: Discovery): Iterable<ServedResource> {
  for (const { name: group, versions } of discovery.groups()) {
    for (const { version, definitions, remote } of versions) {
      for (const { resource, kind, namespaced, verbs } of definitions) {
        yield { group, version, resource, kind, namespaced, verbs, isLocal: true };
      }
      for (const { resource, responseKind, scope, verbs } of remote?.resources ?? []) {
        const namespaced = scope === "Namespaced";
        yield { group, version, resource, kind: responseKind.kind, namespaced, verbs, isLocal: false };
      }
    }
  }
}
