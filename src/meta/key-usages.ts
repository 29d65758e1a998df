/** Key usages of certificates by their API names. Source: `KeyUsage` of certificates.k8s.io/v1, RFC 5280. */

/** The bits of the key usage extension, by usage. */
const bits: Readonly<Record<string, number>> = {
  signing: 0,
  "digital signature": 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
};

/** The object identifiers of extended usages, by usage. */
const extended: Readonly<Record<string, string>> = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
};

/** The names of all usages, sorted. */
export const keyUsages: readonly string[] = [...Object.keys(bits), ...Object.keys(extended)].sort();

/** Returns the bits and object identifiers of usages, in order and without repetitions. Unknown names are ignored. */
export function usageExtensions(usages: readonly string[]): {
  readonly usageBits: readonly number[];
  readonly extendedUsages: readonly string[];
} {
  const inOrder = <T>(values: readonly T[]): readonly T[] => [...new Set(values)];
  const knownUsages = new Set(keyUsages);
  const names = usages.filter((name) => knownUsages.has(name));
  return {
    usageBits: inOrder(names.flatMap((name) => bits[name] ?? [])).toSorted((a, b) => a - b),
    extendedUsages: inOrder(names.flatMap((name) => extended[name] ?? [])).toSorted(),
  };
}
