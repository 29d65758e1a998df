/**
 * An informer of the library in a process of its own, as `test/client-go/cost/` is one of client-go: with the same
 * arguments and the same output.
 */
import { connect, type Kind } from "#client/exports.ts";
import { ConfigMap, Pod } from "#client/kinds.ts";

const [kubeconfig, namespace, resource] = process.argv.slice(2);
const cluster = await connect({ kubeconfig: kubeconfig! });

async function follow(kind: Kind<ConfigMap> | Kind<Pod>): Promise<void> {
  const informer = cluster.informer(kind as Kind<ConfigMap>, { in: namespace }); // only metadata is read
  informer.subscribe(({ type, object }) => {
    if (type === "added" && object.metadata.name === "last") console.log("last");
  });
  await informer.synced;
  console.log("synced", informer.size);
}

await follow(resource === "pods" ? Pod : ConfigMap);
