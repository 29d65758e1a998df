/** The one object that the arguments of a command name. */
import { StartError } from "#std/start-error.ts";
import type { ObjectAddress, OpenCluster } from "../open-cluster.ts";
import { targetsOf } from "../targets.ts";

/** Throws `StartError` unless the arguments are `KIND NAME` or `KIND/NAME`. It asks no server. */
export function checkOneTarget(command: string, [first = "", ...more]: readonly string[]): void {
  const count = first.includes("/") ? first.split("/").length + more.length : 1 + more.length;
  if (first === "" || count !== 2 || first.includes(",")) {
    throw new StartError(`${command} takes a kind and a name: binnacle ${command} KIND NAME`);
  }
}

/** Returns the object that checked arguments name. Rejects with `StartError` for a kind that the server does not have. */
export async function oneTarget(
  cluster: OpenCluster,
  command: string,
  rest: readonly string[],
): Promise<ObjectAddress> {
  const [target] = await targetsOf(cluster, command, rest);
  const { resource, names } = target!; // the arguments were checked
  return cluster.address(resource, names[0]!);
}
