/** EndpointSlice: a part of the addresses behind a service. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { editItems, fillAbsent, listField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateKept } from "../kept.ts";

const shownMax = 3;

export function endpointSlices(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("AddressType", "Family of the addresses.", (object) => textField(object, "addressType")),
      text("Ports", "Ports of every address.", portsText),
      text("Endpoints", "Addresses.", (object) => {
        const all = listField(object, "endpoints").flatMap((one) => (one["addresses"] ?? []) as readonly string[]); // the schema says so
        return firstOf(all, shownMax, "<unset>");
      }),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editItems(object, "ports", (port) => fillAbsent(port, { name: "", protocol: "TCP" })),
      validateUpdate: (object, old) => validateKept(object, old, ["addressType"]),
    },
  };
}

/** Upstream: no blank before the plus. */
function portsText(object: Unstructured): string {
  const ports = listField(object, "ports").map((port) => {
    if (typeof port["port"] === "number") return String(port["port"]);
    return textField(port, "name") || "*";
  });
  if (ports.length === 0) return "<unset>";
  const more = ports.length - shownMax;
  return ports.slice(0, shownMax).join(",") + (more > 0 ? `+ ${more} more...` : "");
}
