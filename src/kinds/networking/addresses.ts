/** IPAddress and ServiceCIDR: the addresses of services as objects. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text } from "../cells.ts";
import { objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function ipAddresses(): KindBehaviour {
  return { columns: [nameColumn, text("ParentRef", "Object that has the address.", parentText)] };
}

export function serviceCidrs(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("CIDRs", "Ranges that addresses are taken from.", (object) => {
        const ranges = objectField(object, "spec")?.["cidrs"];
        return Array.isArray(ranges) ? ranges.join(",") : "";
      }),
      ageColumn,
    ],
  };
}

function parentText(object: Unstructured): string {
  const parent = inside(object, "spec", "parentRef");
  if (parent === undefined) return "<none>";
  const group = textField(parent, "group");
  const resource = `${textField(parent, "resource")}${group === "" ? "" : `.${group}`}`.toLowerCase();
  const namespace = textField(parent, "namespace");
  return [resource, ...(namespace === "" ? [] : [namespace]), textField(parent, "name")].join("/");
}
