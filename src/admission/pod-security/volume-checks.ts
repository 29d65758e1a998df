/** Checks of the types of volumes. */
import type { Volume } from "#api/core/v1.ts";
import { type StandardCheck, printNames, plural, quoteTexts, sortTexts } from "./check.ts";

export const hostPathVolumes: StandardCheck = ({ spec }) => {
  const volumes = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return volumes.length === 0 ? undefined : { reason: "hostPath volumes", detail: printNames("volume", volumes) };
};

const allowedTypes: ReadonlySet<string> = new Set(
  "configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret".split(" "),
);

export const restrictedVolumes: StandardCheck = ({ spec }) => {
  const names: string[] = [];
  const types = new Set<string>();
  for (const volume of spec.volumes ?? []) {
    const type = typeOf(volume);
    if (type === undefined || allowedTypes.has(type)) continue;
    names.push(volume.name);
    types.add(type);
  }
  if (names.length === 0) return undefined;
  const verb = names.length === 1 ? "uses" : "use";
  const list = `${plural("restricted volume type", types.size)} ${quoteTexts(sortTexts(types))}`;
  return { reason: "restricted volume types", detail: `${printNames("volume", names)} ${verb} ${list}` };
};

/**
 * Returns the source of a volume. An allowed source counts before others. Upstream: the source that was added last has
 * no name.
 */
function typeOf(volume: Volume): string | undefined {
  const types = Object.keys(volume).filter((key) => key !== "name");
  const type = types.find((key) => allowedTypes.has(key)) ?? types[0];
  return type === "image" ? "unknown" : type;
}
