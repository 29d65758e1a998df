/** EndpointSlice: a part of the addresses behind a service. */
import type { EndpointSlice } from "#api/discovery/v1.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { editItems, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const shownMax = 3;

export function endpointSlices(): KindBehaviour<EndpointSlice> {
  return {
    columns: [
      nameColumn,
      text("AddressType", "Family of the addresses.", (object) => object.addressType),
      text("Ports", "Ports of every address.", portsText),
      text("Endpoints", "Addresses.", ({ endpoints }) => {
        const all = (endpoints ?? []).flatMap(({ addresses }) => addresses ?? []);
        return firstOf(all, shownMax, "<unset>");
      }),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editItems(object, "ports", (port) => fillAbsent(port, { name: "", protocol: "TCP" })),
      validateUpdate: (object, old) => validateImmutable(object, old, ["addressType"]),
    },
  };
}

/** Upstream: no blank before the plus. */
function portsText(object: EndpointSlice): string {
  const ports = (object.ports ?? []).map(({ port, name }) => (port === undefined ? name || "*" : String(port)));
  if (ports.length === 0) return "<unset>";
  const more = ports.length - shownMax;
  return ports.slice(0, shownMax).join(",") + (more > 0 ? `+ ${more} more...` : "");
}
