/** Amounts of resources, which are kept in thousandths, rounded up. Source: the answers of kube-apiserver. */
import { GoSyntax } from "#meta/field-error.ts";
import { formatQuantity, integerQuantity, parseQuantity, type Quantity, type QuantityFormat } from "#meta/quantity.ts";
import { editField } from "../edit.ts";

type Amounts = Readonly<Record<string, string>>;

export const roundedResources = <T extends { readonly limits?: Amounts; readonly requests?: Amounts }>(
  resources: T,
): T => editField(editField(resources, "limits", roundedAmounts), "requests", roundedAmounts);

export function roundedAmounts(amounts: Amounts): Amounts {
  if (!Object.values(amounts).some(isFine)) return amounts;
  return Object.fromEntries(Object.entries(amounts).map(([name, text]) => [name, isFine(text) ? rounded(text) : text]));
}

/** Whether a quantity may have more places than thousandths have. */
const isFine = (text: string): boolean => /[nu]$|e-/i.test(text);

function rounded(text: string): string {
  const quantity = parseQuantity(text);
  if (quantity === undefined || quantity.exponent >= -3) return text;
  return formatQuantity({ ...quantity, unscaled: integerQuantity(quantity, "milli"), exponent: -3 });
}

const formats: Readonly<Record<QuantityFormat, string>> = {
  decimalSI: "DecimalSI",
  binarySI: "BinarySI",
  decimalExponent: "DecimalExponent",
};

/** A quantity as Go prints the struct that holds it; its text where that would show an address. */
export function goQuantity(quantity: Quantity): GoSyntax | string {
  const { unscaled, exponent, format } = quantity;
  const text = formatQuantity(quantity);
  if (BigInt.asIntN(64, unscaled) !== unscaled) return text;
  return new GoSyntax(
    `resource.Quantity{i:resource.int64Amount{value:${unscaled}, scale:${exponent}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"${text}", Format:"${formats[format]}"}`,
  );
}
