/** Service: a name for a set of pods. Addresses and node ports come from `kinds/service-allocator.ts`. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, labelsText, nameColumn, orNone, text, wideText } from "../cells.ts";
import {
  editField,
  editItems,
  fillAbsent,
  fillZero,
  isAbsent,
  isZero,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { specOf, withoutOldType } from "./service-fields.ts";
import {
  serviceWarnings,
  validateService,
  validateServiceStatus,
  validateServiceUpdate,
} from "./service-validation.ts";

const stickySeconds = 10800;
const addressWidth = 16;

export function services({ domain }: KindEnvironment): KindBehaviour {
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns: [
      nameColumn,
      text("Type", "How the service is reached.", (object) => textField(specOf(object), "type")),
      text("Cluster-IP", "First address inside the cluster.", (object) => {
        const [first] = (specOf(object)["clusterIPs"] ?? []) as readonly string[]; // the schema says so
        return orNone(first);
      }),
      text("External-IP", "Addresses outside the cluster.", externalText),
      text("Port(s)", "Ports, with node ports where there are some.", portsText),
      ageColumn,
      wideText("Selector", "Labels of the pods behind the service.", (object) =>
        labelsText(objectField(specOf(object), "selector")),
      ),
    ],
    strategy: {
      defaults: (object) => defaultIngress(editField(object, "spec", defaultSpec)),
      prepareForUpdate: withoutOldType,
      validate: (object) => validateService(object, domain),
      validateUpdate: (object, old) => validateServiceUpdate(object, old, domain),
      subresources: { status: { validateUpdate: validateServiceStatus } },
      warningsOnCreate: (object) => serviceWarnings(object, domain),
      warningsOnUpdate: (object) => serviceWarnings(object, domain),
      fields: (object) => ({
        "spec.clusterIP": textField(specOf(object), "clusterIP"),
        "spec.type": textField(specOf(object), "type"),
      }),
    },
  };
}

function defaultSpec(spec: Json): Json {
  let next = fillZero(spec, { sessionAffinity: "None", type: "ClusterIP" });
  next = withField(next, "sessionAffinityConfig", affinityConfig(next));
  next = editItems(next, "ports", (port) => {
    const typed = fillZero(port, { protocol: "TCP" });
    return isZero(typed["targetPort"]) ? withField(typed, "targetPort", typed["port"]) : typed;
  });
  const type = textField(next, "type");
  const isOutside = type === "NodePort" || type === "LoadBalancer";
  const externals = next["externalIPs"];
  const hasExternals = type === "ClusterIP" && Array.isArray(externals) && externals.length > 0;
  if (isOutside || hasExternals) next = fillZero(next, { externalTrafficPolicy: "Cluster" });
  if (isOutside || type === "ClusterIP") next = fillAbsent(next, { internalTrafficPolicy: "Cluster" });
  // Upstream: once given to all types by default, and still sent by clients that read it then.
  if (type === "ExternalName") next = withField(next, "internalTrafficPolicy", undefined);
  return type === "LoadBalancer" ? fillAbsent(next, { allocateLoadBalancerNodePorts: true }) : next;
}

function affinityConfig(spec: Json): Json | undefined {
  const config = objectField(spec, "sessionAffinityConfig");
  if (textField(spec, "sessionAffinity") !== "ClientIP") {
    return textField(spec, "sessionAffinity") === "None" ? undefined : config;
  }
  const clientIp = config === undefined ? undefined : objectField(config, "clientIP");
  if (clientIp !== undefined && !isAbsent(clientIp["timeoutSeconds"])) return config;
  return { clientIP: { timeoutSeconds: stickySeconds } };
}

function defaultIngress(object: Unstructured): Unstructured {
  if (textField(specOf(object), "type") !== "LoadBalancer") return object;
  return editField(object, "status", (status) =>
    editField(status, "loadBalancer", (balancer) =>
      editItems(balancer, "ingress", (ingress) =>
        textField(ingress, "ip") === "" ? ingress : fillAbsent(ingress, { ipMode: "VIP" }),
      ),
    ),
  );
}

function externalText(object: Unstructured): string {
  const spec = specOf(object);
  const externals = ((spec["externalIPs"] ?? []) as readonly string[]).join(","); // the schema says so
  switch (textField(spec, "type")) {
    case "ClusterIP":
    case "NodePort":
      return externals === "" ? "<none>" : externals;
    case "LoadBalancer": {
      const all = [balancerText(objectField(object, "status") ?? noFields), externals].filter((part) => part !== "");
      return all.length === 0 ? "<pending>" : all.join(",");
    }
    case "ExternalName":
      return textField(spec, "externalName");
    default:
      return "<unknown>";
  }
}

/** Addresses of a load balancer, cut to a column's width. */
export function balancerText(status: Json): string {
  const ingress = listField(objectField(status, "loadBalancer") ?? noFields, "ingress");
  const names = ingress.map((one) => textField(one, "ip") || textField(one, "hostname")).filter((name) => name !== "");
  const all = [...new Set(names)].sort().join(",");
  return all.length > addressWidth ? `${all.slice(0, addressWidth - 3)}...` : all;
}

function portsText(object: Unstructured): string {
  const ports = listField(specOf(object), "ports").map((port) => {
    const node = numberField(port, "nodePort");
    return `${numberField(port, "port")}${node > 0 ? `:${node}` : ""}/${textField(port, "protocol")}`;
  });
  return ports.length === 0 ? "<none>" : ports.join(",");
}
