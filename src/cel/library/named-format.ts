/**
 * Kubernetes' `format` library: `format.dns1123Label()`, `format.named('uuid')`, and `validate(text)`, which returns a
 * list of problems or `optional.none()`.
 */
import {
  dns1035Label,
  dns1123Label,
  dns1123Subdomain,
  labelValue,
  type NameCheck,
  nameRules,
  qualifiedName,
} from "#meta/names.ts";
import { formatCheck } from "#schema/structural.ts";
import { matchCost, traversal } from "../evaluate/costs.ts";
import { sizeOf } from "../evaluate/kinds.ts";
import type { CallCost, Library } from "../functions.ts";
import { listOf, opaque, optionalOf, string } from "../types.ts";
import { Opaque, Optional, type Value } from "../values.ts";
import { requestUriFault } from "#meta/go-url.ts";
import { memberFunction, plainFunction } from "./declare.ts";

const formatType = opaque("kubernetes.NamedFormat");

class NamedFormat extends Opaque {
  readonly type = formatType;
  readonly name: string;
  readonly check: NameCheck;
  /** The size of the regular expression by which the cost of a check is computed. */
  readonly patternSize: number;

  constructor(name: string, check: NameCheck, patternSize: number) {
    super();
    this.name = name;
    this.check = check;
    this.patternSize = patternSize;
  }

  equals(other: Value): boolean | undefined {
    return other instanceof NamedFormat ? this === other : undefined;
  }
}

const prefix =
  (rule: string): NameCheck =>
  (text) =>
    nameRules[rule]!(text, true);

const format = (name: string, message: string): NameCheck => {
  const isValid = formatCheck(name)!;
  return (text) => (isValid(text) ? [] : [message]);
};

function uri(text: string): readonly string[] {
  const fault = requestUriFault(text);
  return fault === undefined ? [] : [fault];
}

const formats: readonly NamedFormat[] = [
  new NamedFormat("dns1123Label", dns1123Label, 30),
  new NamedFormat("dns1123Subdomain", dns1123Subdomain, 60),
  new NamedFormat("dns1035Label", dns1035Label, 30),
  new NamedFormat("qualifiedName", qualifiedName, 60),
  new NamedFormat("dns1123LabelPrefix", prefix("dns1123label"), 30),
  new NamedFormat("dns1123SubdomainPrefix", prefix("dns1123subdomain"), 60),
  new NamedFormat("dns1035LabelPrefix", prefix("dns1035label"), 30),
  new NamedFormat("labelValue", labelValue, 40),
  new NamedFormat("uri", uri, 1104),
  new NamedFormat("uuid", format("uuid", "does not match the UUID format"), 72),
  new NamedFormat("byte", format("byte", "invalid base64"), 84),
  new NamedFormat("date", format("date", "invalid date"), 72),
  new NamedFormat("datetime", format("datetime", "invalid datetime"), 72),
];

const byName: ReadonlyMap<string, NamedFormat> = new Map(formats.map((one) => [one.name, one]));

/** The sizes with which unknown sizes are estimated. */
const patternSizeMax = 128;
const nameSizeMax = 64;

const searchCost = (size: number): number => traversal(size) * Math.ceil(patternSizeMax * 0.25);

const cost: CallCost = {
  actual: ([one, text]) => matchCost(sizeOf(text!), one instanceof NamedFormat ? one.patternSize : 0),
  estimate: ([, text]) => ({
    cost: { min: searchCost(text!.min), max: searchCost(text!.max) },
  }),
};

const named: CallCost = {
  actual: () => 1,
  estimate: () => ({ cost: { min: 1, max: 1 }, resultSize: { min: 0, max: nameSizeMax } }),
};

export const namedFormatLibrary: Library = {
  name: "k8s.format",
  functions: [
    plainFunction(
      "format.named",
      "format-named",
      [string],
      optionalOf(formatType),
      ([name]) => (typeof name === "string" ? new Optional(byName.get(name)) : undefined),
      named,
    ),
    memberFunction(
      "validate",
      "format-validate",
      [formatType, string],
      optionalOf(listOf(string)),
      ([one, text]) => {
        if (!(one instanceof NamedFormat) || typeof text !== "string") return undefined;
        const messages = one.check(text);
        return new Optional(messages.length === 0 ? undefined : messages);
      },
      cost,
    ),
    ...formats.map((one) =>
      plainFunction(`format.${one.name}`, `format_${one.name}`, [], formatType, () => one, named),
    ),
  ],
};
