/** Endpoints: the addresses behind a service. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { editItems, fillZero, listField, numberField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

const shownMax = 3;

export function endpoints(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [nameColumn, text("Endpoints", "Addresses and ports that are ready.", addressesText), ageColumn],
    strategy: {
      defaults: (object) =>
        editItems(object, "subsets", (subset) =>
          editItems(subset, "ports", (port) => fillZero(port, { protocol: "TCP" })),
        ),
    },
  };
}

function addressesText(object: Unstructured): string {
  const subsets = listField(object, "subsets");
  if (subsets.length === 0) return "<none>";
  const all = subsets.flatMap((subset) => {
    const ips = listField(subset, "addresses").map((address) => textField(address, "ip"));
    const ports = listField(subset, "ports").map((port) => numberField(port, "port"));
    if (ports.length === 0) return ips;
    return ports.flatMap((port) => ips.map((ip) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)));
  });
  return firstOf(all, shownMax, "");
}
