/** Validates network policies. Source: upstream's `pkg/apis/networking/validation`. */
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from "#api/networking/v1.ts";
import { type FieldError, forbidden, goTexts, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { cidr, parseIpRange } from "#meta/ip-range.ts";
import { validateLabelSelector } from "#meta/label-selector.ts";
import { portName, rangeMessage } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";
import { checkName, checkOneOf, checkRange, type Errors } from "../checks.ts";

const protocols = ["TCP", "UDP", "SCTP"];
const policyTypes = ["Ingress", "Egress"];
const portMax = 65535;

const specPath = FieldPath.of("spec");
const typesPath = specPath.child("policyTypes");

export function validateNetworkPolicy({ spec }: NetworkPolicy): FieldError[] {
  const errors: Errors = [...validateLabelSelector(spec.podSelector, specPath.child("podSelector"))];
  for (const [i, { ports = [], from = [] }] of (spec.ingress ?? []).entries()) {
    const path = specPath.child("ingress").index(i);
    ports.forEach((port, k) => checkPort(port, path.child("ports").index(k), errors));
    from.forEach((peer, k) => checkPeer(peer, path.child("from").index(k), errors));
  }
  for (const [i, { ports = [], to = [] }] of (spec.egress ?? []).entries()) {
    const path = specPath.child("egress").index(i);
    ports.forEach((port, k) => checkPort(port, path.child("ports").index(k), errors));
    to.forEach((peer, k) => checkPeer(peer, path.child("to").index(k), errors));
  }
  const { policyTypes: types = [] } = spec;
  if (types.length > policyTypes.length) {
    const shown = goTexts(types, "networking.PolicyType");
    errors.push(invalid(typesPath, shown, "may not specify more than two policyTypes"));
  } else types.forEach((type, i) => checkOneOf(type, policyTypes, typesPath.index(i), errors));
  return errors;
}

function checkPort({ port, endPort, protocol = "" }: NetworkPolicyPort, path: FieldPath, errors: Errors): void {
  checkOneOf(protocol, protocols, path.child("protocol"), errors);
  const wrong = (value: unknown, detail: string): void =>
    void errors.push(invalid(path.child("endPort"), value, detail));
  if (port === undefined) {
    if (endPort !== undefined) wrong(endPort, "may not be specified when `port` is not specified");
    return;
  }
  if (typeof port === "string") {
    if (endPort !== undefined) wrong(endPort, "may not be specified when `port` is non-numeric");
    checkName(port, portName, path.child("port"), errors);
    return;
  }
  checkRange(port, 1, portMax, path.child("port"), errors);
  if (endPort === undefined) return;
  // Upstream: the message shows the first port, not the last one.
  if (endPort < port) wrong(port, "must be greater than or equal to `port`");
  if (endPort < 1 || endPort > portMax) wrong(endPort, rangeMessage(1, portMax));
}

function checkPeer({ podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer, path: FieldPath, errors: Errors) {
  for (const [name, selector] of Object.entries({ podSelector, namespaceSelector })) {
    if (selector !== undefined) addAll(errors, validateLabelSelector(selector, path.child(name)));
  }
  if (ipBlock !== undefined) checkBlock(ipBlock, path.child("ipBlock"), errors);
  const hasSelector = podSelector !== undefined || namespaceSelector !== undefined;
  if (ipBlock !== undefined && hasSelector) {
    errors.push(forbidden(path, "may not specify both ipBlock and another peer"));
  } else if (ipBlock === undefined && !hasSelector) errors.push(required(path, "must specify a peer"));
}

function checkBlock({ cidr: text, except = [] }: IPBlock, path: FieldPath, errors: Errors): void {
  if (text === "") {
    errors.push(required(path.child("cidr")));
    return;
  }
  const range = parseIpRange(text);
  if (range === undefined) {
    checkName(text, cidr, path.child("cidr"), errors);
    return;
  }
  for (const [i, one] of except.entries()) {
    const at = path.child("except").index(i);
    const inner = parseIpRange(one);
    if (inner === undefined) checkName(one, cidr, at, errors);
    else if (!range.strictlyHolds(inner)) errors.push(invalid(at, one, "must be a strict subset of `cidr`"));
  }
}
