/** LimitRange: bounds and defaults for what the pods and claims of a namespace ask for. Applying it is admission's. */
import {
  editField,
  editItems,
  fillAbsent,
  type Json,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function limitRanges(): KindBehaviour {
  return {
    unenforced: { warning: "this server stores limit ranges, but does not enforce them yet" },
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => editItems(spec, "limits", defaultItem)),
    },
  };
}

/** Limits default to the maximum, requests to the limits and then to the minimum. Containers only. */
function defaultItem(item: Json): Json {
  if (textField(item, "type") !== "Container") return item;
  const part = (name: string): Json => objectField(item, name) ?? noFields;
  const limits = fillAbsent(part("default"), part("max"));
  const requests = fillAbsent(fillAbsent(part("defaultRequest"), limits), part("min"));
  return withField(withField(item, "default", limits), "defaultRequest", requests);
}
