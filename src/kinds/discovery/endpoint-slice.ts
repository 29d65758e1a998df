/** EndpointSlice: a part of the addresses behind a service. */
import type { EndpointSlice } from "#api/discovery/v1.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { editItems, fillAbsent, withField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateEndpointSlice, validateEndpointSliceUpdate } from "./endpoint-slice-validation.ts";

const shownMax = 3;

export function endpointSlices(): KindBehaviour<EndpointSlice> {
  return {
    generationMetadata: ["labels"],
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
      prepareForCreate: withoutTopology,
      prepareForUpdate: withoutTopology,
      defaults: (object) => editItems(object, "ports", (port) => fillAbsent(port, { name: "", protocol: "TCP" })),
      validate: validateEndpointSlice,
      validateUpdate: validateEndpointSliceUpdate,
      warningsOnCreate: ({ addressType }) =>
        addressType === "FQDN" ? ["spec.addressType: FQDN endpoints are deprecated"] : [],
    },
  };
}

/** Returns the object without the field of v1beta1, which cannot be written in v1. */
const withoutTopology = (object: EndpointSlice): EndpointSlice =>
  editItems(object, "endpoints", (endpoint) => withField(endpoint, "deprecatedTopology", undefined));

/** Returns the ports as text. Upstream: there is no blank before the plus. */
function portsText(object: EndpointSlice): string {
  const ports = (object.ports ?? []).map(({ port, name }) => (port === undefined ? name || "*" : String(port)));
  if (ports.length === 0) return "<unset>";
  const more = ports.length - shownMax;
  return ports.slice(0, shownMax).join(",") + (more > 0 ? `+ ${more} more...` : "");
}
