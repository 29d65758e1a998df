/** NetworkPolicy: allowed traffic of pods. */
import type { NetworkPolicy, NetworkPolicyPort, NetworkPolicySpec } from "#api/networking/v1.ts";
import { type FieldError, invalid, notSupported } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField, editItems, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function networkPolicies(): KindBehaviour<NetworkPolicy> {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Pod-Selector", "Labels of the pods that the policy is for.", ({ spec }) =>
        formatLabelSelector(spec.podSelector),
      ),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: validatePorts,
      validateUpdate: validatePorts,
    },
  };
}

function defaultSpec(spec: NetworkPolicySpec): NetworkPolicySpec {
  const withProtocol = (port: NetworkPolicyPort): NetworkPolicyPort => fillAbsent(port, { protocol: "TCP" });
  let next = editItems(spec, "ingress", (rule) => editItems(rule, "ports", withProtocol));
  next = editItems(next, "egress", (rule) => editItems(rule, "ports", withProtocol));
  const { policyTypes = [], egress = [] } = next;
  if (policyTypes.length > 0) return next;
  return withField(next, "policyTypes", egress.length > 0 ? ["Ingress", "Egress"] : ["Ingress"]);
}

const protocols = ["TCP", "UDP", "SCTP"];
const portMax = 65535;

const specPath = FieldPath.of("spec");

function validatePorts({ spec }: NetworkPolicy): FieldError[] {
  return (["ingress", "egress"] as const).flatMap((direction) =>
    (spec[direction] ?? []).flatMap(({ ports = [] }, i) =>
      ports.flatMap((port, k) => validatePort(port, specPath.child(direction).index(i).child("ports").index(k))),
    ),
  );
}

function validatePort({ port, endPort, protocol = "" }: NetworkPolicyPort, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (!protocols.includes(protocol)) errors.push(notSupported(path.child("protocol"), protocol, protocols));
  const wrong = (value: unknown, detail: string): void =>
    void errors.push(invalid(path.child("endPort"), value, detail));
  const range = `must be between 1 and ${portMax}, inclusive`;
  if (typeof port === "number" && (port < 1 || port > portMax)) errors.push(invalid(path.child("port"), port, range));
  if (endPort === undefined) return errors;
  if (typeof port === "string") wrong(endPort, "may not be specified when `port` is non-numeric");
  else if (port === undefined) wrong(endPort, "may not be specified when `port` is not specified");
  else {
    // Upstream: shows the port, not the end.
    if (endPort < port) wrong(port, "must be greater than or equal to `port`");
    if (endPort < 1 || endPort > portMax) wrong(endPort, range);
  }
  return errors;
}
