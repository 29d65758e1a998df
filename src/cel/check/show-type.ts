/** Prints types for errors of the checker. */
import type { CelType } from "../types.ts";

/** The length in characters after which texts are cut: types can be much larger than their expression. */
const lengthMax = 10_000;

/**
 * Returns the text of a type, such as `list(timestamp)`, `map(string, dyn)` or `type(null)`. It differs from
 * `typeName`, which names types as values.
 */
export function showType(type: CelType): string {
  const shown = new Text();
  write(type, shown);
  return shown.text;
}

/** Returns the text of the arguments of a call: `(int, string)`, or `int.(string)` for the call of a member. */
export function showArguments(types: readonly CelType[], hasTarget: boolean): string {
  const shown = types.map(showType);
  return hasTarget ? `${shown[0]}.(${shown.slice(1).join(", ")})` : `(${shown.join(", ")})`;
}

class Text {
  text = "";
  add(more: string): void {
    this.text += more;
  }
  get isFull(): boolean {
    return this.text.length > lengthMax;
  }
}

function write(type: CelType, into: Text): void {
  if (into.isFull) return;
  switch (type.kind) {
    case "error":
      return into.add("!error!");
    case "null_type":
      return into.add("null");
    case "list":
      return writeParts("list", [type.element], into);
    case "map":
      return writeParts("map", [type.key, type.value], into);
    case "type":
      return writeParts("type", type.of === undefined ? [] : [type.of], into);
    case "opaque":
      return writeParts(type.name, type.parameters, into);
    case "parameter":
    case "object":
      return into.add(type.name);
    default:
      return into.add(type.kind);
  }
}

function writeParts(name: string, parts: readonly CelType[], into: Text): void {
  into.add(name);
  if (parts.length === 0) return;
  parts.forEach((part, at) => {
    into.add(at === 0 ? "(" : ", ");
    write(part, into);
  });
  into.add(")");
}
