/** Removes definitions that tests have made on a server that goes on after them. */
import { ApiError } from "#client/api-error.ts";
import type { Cluster } from "#client/cluster.ts";
import type { StoredObject } from "#client/kind.ts";
import { CustomResourceDefinition } from "#client/kinds.ts";

/** Removes a definition with all its objects, whatever finalizers a program left on them. */
export async function removeDefinition(cluster: Cluster, name: string): Promise<void> {
  const definitions = cluster.kind(CustomResourceDefinition);
  const definition = await definitions.find(name);
  if (definition === undefined) return;
  const { group, names, versions } = definition.spec;
  const [version = { name: "" }] = versions ?? [];
  const objects = cluster.kind<StoredObject>({
    group,
    version: version.name,
    kind: names.kind,
    resource: names.plural,
    namespaced: true,
  });
  await definitions.delete(name);
  try {
    for await (const { metadata } of objects.list()) {
      if (metadata.finalizers === undefined) continue;
      await objects.patch(metadata.name, { merge: { metadata: { finalizers: null } } }, { in: metadata.namespace });
    }
  } catch (error) {
    // An object, or the definition with all of them, may be gone by now.
    if (!(error instanceof ApiError && error.code === 404)) throw error;
  }
  await definitions.until(name, (one) => one === undefined, { timeout: "1m" });
}
