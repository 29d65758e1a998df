/** The one object that the arguments of an explaining command name. */
import { StartError } from "#std/start-error.ts";
import type { ObjectAddress, OpenCluster } from "../open-cluster.ts";
import { targetsOf } from "../targets.ts";

/** Reads `KIND NAME` or `KIND/NAME`. Rejects with `StartError`. */
export async function oneTarget(
  cluster: OpenCluster,
  command: string,
  rest: readonly string[],
): Promise<ObjectAddress> {
  const [target, ...others] = await targetsOf(cluster, command, rest);
  const [name, ...more] = target?.names ?? [];
  if (target === undefined || name === undefined || others.length > 0 || more.length > 0) {
    throw new StartError(`${command} takes one object: binnacle ${command} KIND NAME`);
  }
  return cluster.address(target.resource, name);
}
