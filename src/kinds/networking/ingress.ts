/** Ingress: HTTP routes from outside to services. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, orNone, text } from "../cells.ts";
import { type Json, listField, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { balancerText } from "../core/service.ts";

const hostsMax = 3;

export function ingresses(): KindBehaviour {
  const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Class", "Who implements the routes.", (object) => orNone(specOf(object)["ingressClassName"])),
      text("Hosts", "Host names of the routes.", (object) => hostsText(listField(specOf(object), "rules"))),
      text("Address", "Where the routes are reached.", (object) =>
        balancerText(inside(object, "status", "loadBalancer") ?? noFields),
      ),
      text("Ports", "Ports of the routes.", (object) =>
        listField(specOf(object), "tls").length > 0 ? "80, 443" : "80",
      ),
      ageColumn,
    ],
  };
}

function hostsText(rules: readonly Json[]): string {
  const hosts = rules.map((rule) => textField(rule, "host")).filter((host) => host !== "");
  if (hosts.length === 0) return "*";
  const shown = hosts.slice(0, hostsMax).join(",");
  return hosts.length > hostsMax ? `${shown} + ${rules.length - hostsMax} more...` : shown;
}
