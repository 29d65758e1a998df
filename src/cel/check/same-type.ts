/** Compares types for equality. */
import type { CelType } from "../types.ts";

/** Whether two types are equal, part by part. Type parameters are equal if their names are. */
export function isSame(one: CelType, other: CelType): boolean {
  if (one === other) return true;
  if (one.kind !== other.kind) return false;
  switch (one.kind) {
    case "list":
      return other.kind === "list" && isSame(one.element, other.element);
    case "map":
      return other.kind === "map" && isSame(one.key, other.key) && isSame(one.value, other.value);
    case "type":
      return other.kind === "type" && (one.of && other.of ? isSame(one.of, other.of) : one.of === other.of);
    case "opaque":
      return (
        other.kind === "opaque" &&
        one.name === other.name &&
        one.parameters.length === other.parameters.length &&
        one.parameters.every((part, at) => isSame(part, other.parameters[at]!))
      );
    case "object":
    case "parameter":
      return "name" in other && one.name === other.name;
    default:
      return true;
  }
}
