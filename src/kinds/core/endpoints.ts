/** Endpoints: the addresses behind a service. */
import type { Endpoints } from "#api/core/v1.ts";
import { ageColumn, firstOf, nameColumn, text } from "../cells.ts";
import { editItems, fillZero } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

const shownMax = 3;

export function endpoints(): KindBehaviour<Endpoints> {
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

function addressesText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return "<none>";
  const all = subsets.flatMap(({ addresses = [], ports = [] }) => {
    const ips = addresses.map(({ ip }) => ip);
    if (ports.length === 0) return ips;
    return ports.flatMap(({ port }) => ips.map((ip) => (ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`)));
  });
  return firstOf(all, shownMax, "");
}
