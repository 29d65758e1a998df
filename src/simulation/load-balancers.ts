/** Gives services of type LoadBalancer an address of TEST-NET-3 (RFC 5737): 203.0.113.1 to 203.0.113.254. */
import { controller, type RunnableController } from "#client/controllers.ts";
import { Service } from "#client/kinds.ts";
import { writeStatus } from "./owned.ts";

const addresses = Array.from({ length: 254 }, (_, index) => `203.0.113.${index + 1}`);

export function loadBalancerController(): RunnableController {
  /** The addresses by uid that memory may not show yet. */
  const given = new Map<string, string>();
  return controller(Service, {
    name: "loadbalancer",
    async reconcile(service, context) {
      const { metadata, spec, status } = service;
      const present = status.loadBalancer.ingress ?? [];
      const services = context.lister.list(Service);
      const uids = new Set(services.map((one) => one.metadata.uid));
      for (const uid of given.keys()) if (!uids.has(uid)) given.delete(uid);
      if (spec.type !== "LoadBalancer") {
        given.delete(metadata.uid);
        if (present.length > 0) await writeStatus(context, Service, service, { ...status, loadBalancer: {} });
        return;
      }
      // Balancers of a class are those of another controller.
      if (spec.loadBalancerClass !== undefined || present.length > 0) return;
      const used = new Set([
        ...given.values(),
        ...services.flatMap((one) => (one.status.loadBalancer.ingress ?? []).map(({ ip }) => ip)),
      ]);
      const wanted = spec.loadBalancerIP;
      const ip =
        given.get(metadata.uid) ??
        (wanted !== undefined && !used.has(wanted) ? wanted : addresses.find((one) => !used.has(one)));
      if (ip === undefined) {
        context.event("Warning", "SyncLoadBalancerFailed", "the simulation has no address left");
        return;
      }
      given.set(metadata.uid, ip);
      await writeStatus(context, Service, service, { ...status, loadBalancer: { ingress: [{ ip, ipMode: "VIP" }] } });
    },
  });
}
