/** The objects that the arguments of a command name: `KIND NAME…`, `KIND/NAME…`, or all objects of kinds or categories. */
import { StartError } from "#std/start-error.ts";
import { type DiscoveredResource, resourceNamed, resourcesOfCategory } from "./discovery.ts";
import type { OpenCluster } from "./open-cluster.ts";

/** Objects of one kind: those of the names, or without names all of them. */
export interface KindTarget {
  readonly resource: DiscoveredResource;
  readonly names: readonly string[];
}

/** Reads the arguments. Rejects with `StartError`. */
export async function targetsOf(
  cluster: OpenCluster,
  command: string,
  rest: readonly string[],
): Promise<readonly KindTarget[]> {
  const [first = "", ...names] = rest;
  if (first === "") {
    throw new StartError(
      `name a kind: binnacle ${command} KIND [NAME]; binnacle api-resources lists the kinds of the server`,
    );
  }
  if (rest.some((word) => word.includes("/"))) {
    const targets: KindTarget[] = [];
    for (const word of rest) {
      const [kind = "", name = "", ...more] = word.split("/");
      if (kind === "" || name === "" || more.length > 0) {
        throw new StartError(`${JSON.stringify(word)} is not KIND/NAME, as the other arguments are`);
      }
      targets.push({ resource: await cluster.resource(kind), names: [name] });
    }
    return targets;
  }
  const words = first.split(",").filter((word) => word !== "");
  if (words.length > 1 && names.length > 0) {
    throw new StartError("names belong to one kind: write KIND/NAME for objects of several kinds");
  }
  const discovered = await cluster.discovered();
  return words.flatMap((word) => {
    const members = resourcesOfCategory(discovered, word);
    if (members.length > 0 && names.length > 0) {
      throw new StartError(`${word} stands for several kinds, which have no names in common: write KIND/NAME`);
    }
    return (members.length > 0 ? members : [resourceNamed(discovered, word)]).map((resource) => ({ resource, names }));
  });
}
