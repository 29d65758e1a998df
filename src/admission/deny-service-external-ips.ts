/**
 * DenyServiceExternalIPs: services may not get new external addresses, by which they could take the traffic of others
 * (CVE-2020-8554). Source of rules and texts: the answers of kube-apiserver.
 */
import type { Service } from "#api/core/v1.ts";
import { type AdmissionPlugin, refusal } from "./plugin.ts";

export const denyServiceExternalIps: AdmissionPlugin = {
  name: "DenyServiceExternalIPs",
  operations: ["CREATE", "UPDATE"],
  validate(attributes) {
    const { resource, subresource } = attributes;
    if (resource.resource !== "services" || resource.group !== "" || subresource !== "") return;
    const wanted = addressesOf(attributes.object as Service); // of the resource
    if (wanted.length === 0) return;
    const before = new Set(addressesOf(attributes.oldObject as Service | undefined)); // of the resource
    if (wanted.every((address) => before.has(address))) return;
    throw refusal(attributes, "Use of external IPs is denied by admission control");
  },
};

const addressesOf = (service: Service | undefined): readonly string[] => service?.spec.externalIPs ?? [];
