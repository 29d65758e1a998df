/** LimitRange: limits and defaults for resources of pods and claims in a namespace. Admission enforces it. */
import type { LimitRange, LimitRangeItem } from "#api/core/v1.ts";
import { editField, editItems, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function limitRanges(): KindBehaviour<LimitRange> {
  return {
    unenforced: { warning: "this server stores limit ranges, but does not enforce them yet" },
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editItems(spec, "limits", defaultItem)),
    },
  };
}

/** Limits default to the maximum, requests to the limits and then to the minimum. Containers only. */
function defaultItem(item: LimitRangeItem): LimitRangeItem {
  if (item.type !== "Container") return item;
  const limits = fillAbsent(item.default ?? {}, item.max ?? {});
  const requests = fillAbsent(fillAbsent(item.defaultRequest ?? {}, limits), item.min ?? {});
  return { ...item, default: limits, defaultRequest: requests };
}
