/** NetworkPolicy: which traffic pods take part in. */
import { type FieldError, invalid, notSupported } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, selectorText, text } from "../cells.ts";
import {
  editField,
  editItems,
  fillAbsent,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function networkPolicies(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Pod-Selector", "Labels of the pods that the policy is for.", (object) =>
        selectorText(inside(object, "spec", "podSelector")),
      ),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: validatePorts,
      validateUpdate: (object) => validatePorts(object),
    },
  };
}

function defaultSpec(spec: Json): Json {
  const ports = (rule: Json): Json => editItems(rule, "ports", (port) => fillAbsent(port, { protocol: "TCP" }));
  const next = editItems(editItems(spec, "ingress", ports), "egress", ports);
  const types = next["policyTypes"];
  if (Array.isArray(types) && types.length > 0) return next;
  const hasEgress = listField(next, "egress").length > 0;
  return withField(next, "policyTypes", hasEgress ? ["Ingress", "Egress"] : ["Ingress"]);
}

const protocols = ["TCP", "UDP", "SCTP"];
const portMax = 65535;

function validatePorts(object: Unstructured): FieldError[] {
  const spec = objectField(object, "spec") ?? noFields;
  return ["ingress", "egress"].flatMap((direction) =>
    listField(spec, direction).flatMap((rule, i) =>
      listField(rule, "ports").flatMap((port, k) => validatePort(port, `spec.${direction}[${i}].ports[${k}]`)),
    ),
  );
}

function validatePort({ port, endPort, ...rest }: Json, field: string): FieldError[] {
  const errors: FieldError[] = [];
  const protocol = textField(rest, "protocol");
  if (!protocols.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, protocols));
  const wrong = (value: unknown, detail: string): void => void errors.push(invalid(`${field}.endPort`, value, detail));
  const range = `must be between 1 and ${portMax}, inclusive`;
  if (typeof port === "number" && (port < 1 || port > portMax)) {
    errors.push(invalid(`${field}.port`, port, range));
  }
  if (typeof endPort !== "number") return errors;
  if (typeof port === "string") wrong(endPort, "may not be specified when `port` is non-numeric");
  else if (typeof port !== "number") wrong(endPort, "may not be specified when `port` is not specified");
  else {
    // Upstream: shows the port, not the end.
    if (endPort < port) wrong(port, "must be greater than or equal to `port`");
    if (endPort < 1 || endPort > portMax) wrong(endPort, range);
  }
  return errors;
}
