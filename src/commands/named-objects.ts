/** The single objects that arguments and selectors of a command name. */
import type { Unstructured } from "#meta/object-meta.ts";
import { shellWord } from "#meta/printed-command.ts";
import { StartError } from "#std/start-error.ts";
import { collectionPath } from "./discovery.ts";
import type { ObjectAddress, OpenCluster } from "./open-cluster.ts";
import { targetsOf } from "./targets.ts";

interface Choice {
  readonly selector?: string | undefined;
  readonly all?: boolean | undefined;
}

/** Returns the objects of the names, or those of the labels, or all of the kinds. Rejects with `StartError`. */
export async function namedObjects(
  cluster: OpenCluster,
  command: string,
  rest: readonly string[],
  { selector, all = false }: Choice,
): Promise<readonly ObjectAddress[]> {
  const addresses: ObjectAddress[] = [];
  for (const { resource, names } of await targetsOf(cluster, command, rest)) {
    if (names.length > 0 && (selector !== undefined || all)) {
      throw new StartError("a name says which object is meant: leave out -l and --all");
    }
    if (names.length === 0 && selector === undefined && !all) {
      throw new StartError(
        `say which objects: binnacle ${command} ${shellWord(resource.resource)} NAME, -l LABELS, or --all`,
      );
    }
    for (const name of names) addresses.push(cluster.address(resource, name));
    if (names.length > 0) continue;
    const query = selector === undefined ? "" : `?labelSelector=${encodeURIComponent(selector)}`;
    const { items } = await cluster.call<{ readonly items: readonly Unstructured[] }>({
      method: "GET",
      path: collectionPath(resource, cluster.namespace) + query,
    });
    for (const { metadata } of items)
      addresses.push(cluster.address(resource, metadata.name ?? "", metadata.namespace));
  }
  return addresses;
}
