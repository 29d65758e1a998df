/** Quantities by resource name, as quotas and pods have them, and arithmetic with them. */
import { addQuantities, formatQuantity, parseQuantity, type Quantity, subtractQuantities } from "#meta/quantity.ts";

export type Quantities = ReadonlyMap<string, Quantity>;

/** Returns a number of things as a quantity. */
export const count = (value: number): Quantity => ({ unscaled: BigInt(value), exponent: 0, format: "decimalSI" });

export const one: Quantity = count(1);
export const zero: Quantity = count(0);

/** Reads the quantities in a field of an object. A text that is no quantity, which validation refuses, is left out. */
export function quantitiesOf(texts: Readonly<Record<string, string>> | undefined | null): Map<string, Quantity> {
  const quantities = new Map<string, Quantity>();
  for (const [name, text] of Object.entries(texts ?? {})) {
    const quantity = parseQuantity(text);
    if (quantity !== undefined) quantities.set(name, quantity);
  }
  return quantities;
}

/** Adds quantities to `sum` in place. */
export function addTo(sum: Map<string, Quantity>, more: Quantities): void {
  for (const [name, quantity] of more) {
    const before = sum.get(name);
    sum.set(name, before === undefined ? quantity : addQuantities(before, quantity));
  }
}

/** Multiplies every quantity by a whole number. */
export const times = (quantities: Quantities, factor: number): Quantities =>
  new Map([...quantities].map(([name, one]) => [name, { ...one, unscaled: one.unscaled * BigInt(factor) }]));

/** Subtracts quantities; a name that only `less` has counts as zero in `from`. */
export function difference(from: Quantities, less: Quantities): Map<string, Quantity> {
  const result = new Map(from);
  for (const [name, quantity] of less) result.set(name, subtractQuantities(from.get(name) ?? zero, quantity));
  return result;
}

/** Returns the quantities for whose names `keep` holds. */
export function pickQuantities(
  quantities: Quantities,
  keep: (name: string, quantity: Quantity) => boolean,
): Map<string, Quantity> {
  const result = new Map<string, Quantity>();
  for (const [name, quantity] of quantities) if (keep(name, quantity)) result.set(name, quantity);
  return result;
}

/** Leaves out the quantities for which `isDropped` holds; returns the same object when there are none. */
export function without(quantities: Quantities, isDropped: (quantity: Quantity) => boolean): Quantities {
  for (const quantity of quantities.values()) {
    if (isDropped(quantity)) return pickQuantities(quantities, (_name, one) => !isDropped(one));
  }
  return quantities;
}

/** The quantities as objects contain them. */
export const textsOf = (quantities: Quantities): Record<string, string> =>
  Object.fromEntries([...quantities].map(([name, quantity]) => [name, formatQuantity(quantity)]));

/** The quantities as messages show them: `cpu=1,memory=2Gi`. */
export const printQuantities = (quantities: Quantities): string =>
  [...quantities]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, quantity]) => `${name}=${formatQuantity(quantity)}`)
    .join(",");
