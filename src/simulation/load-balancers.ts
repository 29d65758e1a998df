/** Gives services of type LoadBalancer an address of TEST-NET-3 (RFC 5737): 203.0.113.1 to 203.0.113.254. */
import { controller } from "#client/controllers.ts";
import { Service } from "#client/kinds.ts";
import { KeyedAddresses } from "#meta/keyed-addresses.ts";
import { followAddresses } from "./addresses.ts";

export function loadBalancerController() {
  const addressOf = ({ status }: Service): string | undefined => status.loadBalancer.ingress?.[0]?.ip;
  const addresses = new KeyedAddresses("203.0.113.0/24");
  return controller(Service, {
    name: "loadbalancer",
    predicates: [followAddresses(addresses, addressOf)],
    async reconcile(service, { replaceStatus, event }) {
      const { type, loadBalancerClass } = service.spec;
      const present = addressOf(service);
      if (type !== "LoadBalancer" && present !== undefined)
        return void (await replaceStatus({ ...service.status, loadBalancer: {} }));
      // Balancers of a class are those of another controller.
      if (type !== "LoadBalancer" || loadBalancerClass !== undefined || present !== undefined) return;
      const ip = addresses.give(service.metadata.uid);
      if (ip === undefined) event("Warning", "SyncLoadBalancerFailed", "the simulation has no address left");
      else await replaceStatus({ ...service.status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } });
    },
  });
}
