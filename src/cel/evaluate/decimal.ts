/** Writes doubles with a given number of decimals as Go does: the exact value is rounded half to even. */

/**
 * Returns the absolute value of a finite number as a fraction of integers: numerator, and denominator, a power of 2.
 */
function fractionOf(value: number): readonly [bigint, bigint] {
  let exponent = 0;
  let mantissa = Math.abs(value);
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2;
    exponent++;
  }
  return [BigInt(mantissa), 1n << BigInt(exponent)];
}

function divideRounded(numerator: bigint, denominator: bigint): bigint {
  const whole = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  return twice > denominator || (twice === denominator && whole % 2n === 1n) ? whole + 1n : whole;
}

/** The maximum number of decimals that are computed; no double has more. */
const decimalsMax = 1100;

/** Returns a number with `decimals` digits after the point and no exponent, such as `-1.500`. */
export function fixedText(value: number, decimals: number): string {
  const [numerator, denominator] = fractionOf(value);
  const exact = Math.min(decimals, decimalsMax);
  const digits = String(divideRounded(numerator * 10n ** BigInt(exact), denominator)).padStart(exact + 1, "0");
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (decimals === 0) return sign + digits;
  return `${sign}${digits.slice(0, -exact)}.${digits.slice(-exact).padEnd(decimals, "0")}`;
}

/** Returns the mantissa with one digit and six decimals, and the exponent. */
export function scientificParts(value: number): { readonly mantissa: string; readonly exponent: number } {
  if (value === 0) return { mantissa: fixedText(value, 6), exponent: 0 };
  const [numerator, denominator] = fractionOf(value);
  let exponent = Number(value.toExponential().split("e")[1]);
  const shift = 6 - exponent;
  const scale = 10n ** BigInt(Math.abs(shift));
  let digits = String(
    shift >= 0 ? divideRounded(numerator * scale, denominator) : divideRounded(numerator, denominator * scale),
  );
  if (digits.length > 7) {
    digits = digits.slice(0, 7);
    exponent++;
  }
  return { mantissa: `${value < 0 ? "-" : ""}${digits[0]}.${digits.slice(1)}`, exponent };
}
