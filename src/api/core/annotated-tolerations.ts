/** Tolerations in an annotation, as a JSON text. Pods and namespaces have such annotations. */
import { isObject } from "#std/is-object.ts";
import type { Toleration } from "./v1.ts";

const textFields = ["key", "operator", "value", "effect"] as const;

/** Returns the tolerations in a JSON text; `undefined` for other texts. */
export function parseTolerations(text: string): readonly Toleration[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const items = value ?? [];
  if (!Array.isArray(items)) return undefined;
  const tolerations = items.map(tolerationOf);
  return tolerations.every((toleration) => toleration !== undefined) ? tolerations : undefined;
}

/** Returns the toleration in a JSON value. Upstream: the case of names does not matter, and other members are ignored. */
function tolerationOf(value: unknown): Toleration | undefined {
  if (value === null) return {};
  if (!isObject(value)) return undefined;
  const members = new Map(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member ?? undefined]));
  const seconds = members.get("tolerationseconds");
  if (seconds !== undefined && (!Number.isInteger(seconds) || Math.abs(Number(seconds)) >= 2 ** 63)) return undefined;
  if (textFields.some((name) => !["string", "undefined"].includes(typeof members.get(name)))) return undefined;
  const texts = Object.fromEntries(
    textFields.flatMap((name) => (members.get(name) ? [[name, members.get(name)]] : [])),
  );
  return seconds === undefined ? texts : { ...texts, tolerationSeconds: Number(seconds) };
}
