/** Ingress: HTTP routes from outside to services. */
import type { Ingress } from "#api/networking/v1.ts";
import { ageColumn, nameColumn, orNone, text } from "../cells.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { balancerText } from "../core/service.ts";
import {
  ingressWarnings,
  validateIngress,
  validateIngressCreate,
  validateIngressStatus,
} from "./ingress-validation.ts";

const hostsMax = 3;

export function ingresses({ domain }: KindEnvironment): KindBehaviour<Ingress> {
  return {
    columns: [
      nameColumn,
      text("Class", "Who implements the routes.", ({ spec }) => orNone(spec.ingressClassName)),
      text("Hosts", "Host names of the routes.", hostsText),
      text("Address", "Where the routes are reached.", ({ status }) => balancerText(status.loadBalancer)),
      text("Ports", "Ports of the routes.", ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80")),
      ageColumn,
    ],
    strategy: {
      validate: (object) => validateIngressCreate(object, domain),
      validateUpdate: validateIngress,
      subresources: { status: { validateUpdate: validateIngressStatus } },
      warningsOnCreate: (object) => ingressWarnings(object, domain),
    },
  };
}

function hostsText({ spec: { rules = [] } }: Ingress): string {
  const hosts = rules.map(({ host = "" }) => host).filter((host) => host !== "");
  if (hosts.length === 0) return "*";
  const shown = hosts.slice(0, hostsMax).join(",");
  return hosts.length > hostsMax ? `${shown} + ${rules.length - hostsMax} more...` : shown;
}
