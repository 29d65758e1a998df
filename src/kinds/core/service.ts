/** Service: a name for a set of pods. `kinds/service-allocator.ts` allocates addresses and node ports. */
import type { LoadBalancerIngress, Service, ServiceSpec, SessionAffinityConfig } from "#api/core/v1.ts";
import { ageColumn, labelsText, nameColumn, orNone, text, wideText } from "../cells.ts";
import { editField, editItems, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { isExternal, needsClusterIp, withFirstAddress, withoutOldType, withoutUnused } from "./service-fields.ts";
import {
  serviceWarnings,
  validateService,
  validateServiceStatus,
  validateServiceUpdate,
} from "./service-validation.ts";

const stickySeconds = 10800;
const addressWidth = 16;

export function services({ domain }: KindEnvironment): KindBehaviour<Service> {
  return {
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Type", "How the service is reached.", ({ spec }) => spec.type ?? ""),
      text("Cluster-IP", "First address inside the cluster.", ({ spec }) => orNone(spec.clusterIPs?.[0])),
      text("External-IP", "Addresses outside the cluster.", externalText),
      text("Port(s)", "Ports, with node ports where there are some.", portsText),
      ageColumn,
      wideText("Selector", "Labels of the pods behind the service.", ({ spec }) => labelsText(spec.selector)),
    ],
    strategy: {
      defaults: (object) => defaultIngress(editField(object, "spec", defaultSpec)),
      // A client that sends a dropped field owns it nevertheless.
      prepareForCreate: withoutUnused,
      prepareForUpdate: (object, old) => withoutUnused(withoutOldType(object, old)),
      validate: (object) => validateService(object, domain),
      validateUpdate: (object, old) => validateServiceUpdate(object, old, domain),
      complete: (object) => editField(object, "spec", withFirstAddress),
      subresources: { status: { validateUpdate: validateServiceStatus } },
      warningsOnCreate: (object) => serviceWarnings(object, domain),
      warningsOnUpdate: (object) => serviceWarnings(object, domain),
      fields: ({ spec }) => ({ "spec.clusterIP": spec.clusterIP ?? "", "spec.type": spec.type ?? "" }),
    },
  };
}

function defaultSpec(spec: ServiceSpec): ServiceSpec {
  let next = fillZero(spec, { sessionAffinity: "None", type: "ClusterIP" });
  next = withField(next, "sessionAffinityConfig", affinityConfig(next));
  next = editItems(next, "ports", (port) => fillZero(port, { protocol: "TCP", targetPort: port.port }));
  if (isExternal(next)) next = fillZero(next, { externalTrafficPolicy: "Cluster" });
  if (needsClusterIp(next)) next = fillAbsent(next, { internalTrafficPolicy: "Cluster" });
  return next.type === "LoadBalancer" ? fillAbsent(next, { allocateLoadBalancerNodePorts: true }) : next;
}

function affinityConfig(spec: ServiceSpec): SessionAffinityConfig | undefined {
  const { sessionAffinity, sessionAffinityConfig: config } = spec;
  if (sessionAffinity === "None") return undefined;
  if (sessionAffinity !== "ClientIP" || config?.clientIP?.timeoutSeconds !== undefined) return config;
  return { clientIP: { timeoutSeconds: stickySeconds } };
}

function defaultIngress(object: Service): Service {
  if (object.spec.type !== "LoadBalancer") return object;
  return editField(object, "status", (status) =>
    editField(status, "loadBalancer", (balancer) =>
      editItems(balancer, "ingress", (ingress) => (ingress.ip ? fillAbsent(ingress, { ipMode: "VIP" }) : ingress)),
    ),
  );
}

function externalText({ spec, status }: Service): string {
  const externals = (spec.externalIPs ?? []).join(",");
  switch (spec.type) {
    case "ClusterIP":
    case "NodePort":
      return externals === "" ? "<none>" : externals;
    case "LoadBalancer": {
      const all = [balancerText(status.loadBalancer), externals].filter((part) => part !== "");
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    case "ExternalName":
      return spec.externalName ?? "";
    default:
      return "<unknown>";
  }
}

/** Returns the addresses of the load balancer of a service or ingress, cut to the width of a column. */
export function balancerText({
  ingress = [],
}: {
  readonly ingress?: readonly Pick<LoadBalancerIngress, "ip" | "hostname">[];
}): string {
  const names = ingress.map(({ ip, hostname }) => ip || hostname || "").filter((name) => name !== "");
  const all = [...new Set(names)].sort().join(",");
  return all.length > addressWidth ? `${all.slice(0, addressWidth - 3)}...` : all;
}

function portsText({ spec: { ports = [] } }: Service): string {
  const all = ports.map(
    ({ port, nodePort = 0, protocol = "" }) => `${port}${nodePort > 0 ? `:${nodePort}` : ""}/${protocol}`,
  );
  return all.length === 0 ? "<none>" : all.join(",");
}
