/** Amounts of resources. They are stored in thousandths, rounded up. Source: the answers of kube-apiserver. */
import { invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { formatQuantity, integerQuantity, parseQuantity, plainThousandths } from "#meta/quantity.ts";
import type { Errors } from "../checks.ts";
import { editField } from "../edit.ts";

type Amounts = Readonly<Record<string, string>>;

export const roundResources = <T extends { readonly limits?: Amounts; readonly requests?: Amounts }>(resources: T): T =>
  editField(editField(resources, "limits", roundAmounts), "requests", roundAmounts);

export function roundAmounts(amounts: Amounts): Amounts {
  let isAnyFine = false;
  for (const name in amounts) if (isFine(amounts[name]!)) isAnyFine = true; // the name is its own
  if (!isAnyFine) return amounts;
  return Object.fromEntries(
    Object.entries(amounts).map(([name, text]) => [name, isFine(text) ? roundToMilli(text) : text]),
  );
}

/**
 * Checks that an amount is not negative. Upstream: the message shows whole units, rounded away from zero, and huge
 * amounts are not reported.
 */
export function checkAmount(text: string, path: FieldPath, errors: Errors): void {
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.unscaled >= 0n) return;
  const units = integerQuantity({ ...quantity, unscaled: -quantity.unscaled }, "whole");
  if (units < 2n ** 63n - 1n) errors.push(invalid(path, -units, "must be a valid resource quantity"));
}

/** Whether a quantity may be finer than thousandths. */
const isFine = (text: string): boolean => Number.isNaN(plainThousandths(text)) && /[nu]$|e-/i.test(text);

function roundToMilli(text: string): string {
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.exponent >= -3) return text;
  return formatQuantity({ ...quantity, unscaled: integerQuantity(quantity, "milli"), exponent: -3 });
}
