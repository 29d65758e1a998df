/** IPAddress and ServiceCIDR: service addresses as objects. */
import type { IPAddress, ServiceCIDR } from "#api/networking/v1beta1.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";

export function ipAddresses(): KindBehaviour<IPAddress> {
  return { columns: [nameColumn, text("ParentRef", "Object that has the address.", parentText)] };
}

export function serviceCidrs(): KindBehaviour<ServiceCIDR> {
  return {
    columns: [
      nameColumn,
      text("CIDRs", "Ranges that addresses are taken from.", ({ spec }) => spec.cidrs?.join(",") ?? ""),
      ageColumn,
    ],
  };
}

function parentText({ spec: { parentRef } }: IPAddress): string {
  if (parentRef === undefined) return "<none>";
  const { group = "", resource = "", namespace = "", name = "" } = parentRef;
  const type = `${resource}${group === "" ? "" : `.${group}`}`.toLowerCase();
  return [type, ...(namespace === "" ? [] : [namespace]), name].join("/");
}
