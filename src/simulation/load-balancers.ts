/** Gives services of type LoadBalancer an address of TEST-NET-3 (RFC 5737): 203.0.113.1 to 203.0.113.254. */
import { controller } from "#client/controllers.ts";
import { Service } from "#client/kinds.ts";
import { addressPool } from "./addresses.ts";

export function loadBalancerController() {
  const addressOf = ({ status }: Service): string | undefined => status.loadBalancer.ingress?.[0]?.ip;
  const addressFor = addressPool(254, (index) => `203.0.113.${index + 1}`, addressOf);
  return controller(Service, {
    name: "loadbalancer",
    async reconcile(service, { lister, replaceStatus, event }) {
      const { type, loadBalancerClass } = service.spec;
      const present = addressOf(service);
      if (type !== "LoadBalancer" && present !== undefined)
        return void (await replaceStatus({ ...service.status, loadBalancer: {} }));
      // Balancers of a class are those of another controller.
      if (type !== "LoadBalancer" || loadBalancerClass !== undefined || present !== undefined) return;
      const ip = addressFor(service, lister.list(Service));
      if (ip === undefined) event("Warning", "SyncLoadBalancerFailed", "the simulation has no address left");
      else await replaceStatus({ ...service.status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } });
    },
  });
}
