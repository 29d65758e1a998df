/** Kubernetes' CIDR library: `cidr(text)`, `isCIDR`, and the functions of a range. */
import { goQuote } from "#meta/field-error.ts";
import { traversal } from "../evaluate/costs.ts";
import { sizeOf } from "../evaluate/kinds.ts";
import type { CallCost, Library, Overload } from "../functions.ts";
import { bool, type CelType, int, opaque, string, typeOf } from "../types.ts";
import { CelError, Opaque, TypeValue, type Value } from "../values.ts";
import { member, memberFunction, onText, plainFunction, traversalCost } from "./declare.ts";
import { Ip, ipType, isMapped, ipOf } from "./ip.ts";
import { parsePrefix } from "#meta/parse-ip.ts";

const cidrType = opaque("net.CIDR");

/** An address and the length of its prefix. The bits after the prefix are not cleared. */
class Cidr extends Opaque {
  readonly type = cidrType;
  readonly ip: Ip;
  readonly prefixLength: number;

  constructor(ip: Ip, prefixLength: number) {
    super();
    this.ip = ip;
    this.prefixLength = prefixLength;
  }

  equals(other: Value): boolean | undefined {
    return other instanceof Cidr ? this.text === other.text : undefined;
  }

  get text(): string {
    return `${this.ip.text}/${this.prefixLength}`;
  }

  /** The same range with zeros after the prefix. */
  get masked(): Cidr {
    const bytes = this.ip.bytes.map((byte, at) => {
      const free = Math.min(8, Math.max(0, 8 * (at + 1) - this.prefixLength));
      return (byte >> free) << free;
    });
    return new Cidr(new Ip(bytes), this.prefixLength);
  }

  containsIp(ip: Ip): boolean {
    if (ip.bytes.length !== this.ip.bytes.length) return false;
    return new Cidr(ip, this.prefixLength).masked.text === this.masked.text;
  }

  containsCidr(other: Cidr): boolean {
    return this.prefixLength <= other.prefixLength && this.containsIp(other.ip);
  }
}

function parseCidr(text: string): Cidr | CelError {
  const failed = "network address parse error during conversion from string: ";
  const prefix = parsePrefix(text);
  if ("fault" in prefix) return new CelError(failed + failed + prefix.fault);
  const { address, bits } = prefix;
  if (isMapped(address.bytes)) {
    return new CelError(`${failed}IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  }
  return new Cidr(new Ip(address.bytes), bits);
}

type Call = NonNullable<Overload["call"]>;

/** The work of reading one range. Comparing two ranges counts as reading two. */
const readWork = 200;

const onRange = onText(readWork, 1);

const isCidr = onRange((text) => parseCidr(text) instanceof Cidr);

/** Declares a function that reads a range. */
const part = (name: string, id: string, result: CelType, read: (cidr: Cidr) => Value) =>
  memberFunction(name, id, [cidrType], result, ([cidr]) => (cidr instanceof Cidr ? read(cidr) : undefined));

const containsIp: Call = ([cidr, other], context) => {
  context.work(2 * readWork);
  if (!(cidr instanceof Cidr)) return undefined;
  const ip = typeof other === "string" ? ipOf(other) : other;
  // Upstream: for a text that is not an address, the error is that of an argument of a wrong type.
  if (ip instanceof CelError) return new CelError("no such overload");
  return ip instanceof Ip ? cidr.containsIp(ip) : undefined;
};

const containsCidr: Call = ([cidr, other], context) => {
  context.work(2 * readWork);
  if (!(cidr instanceof Cidr)) return undefined;
  const range = typeof other === "string" ? parseCidr(other) : other;
  if (range instanceof CelError) return range;
  return range instanceof Cidr ? cidr.containsCidr(range) : undefined;
};

const bytesMin = 4;
const bytesMax = 16;

/**
 * Returns the cost of a comparison with the range: `times` of the number of prefix bytes, and a traversal of a text,
 * which is parsed first.
 */
function containsCost(isText: boolean, times: (bytes: number) => number): CallCost {
  return {
    actual: ([cidr, other]) => {
      const bytes = cidr instanceof Cidr ? Math.ceil(cidr.prefixLength / 8) : 1;
      return times(bytes) + (isText ? traversal(sizeOf(other!)) : 0);
    },
    estimate: ([, other]) => ({
      cost: {
        min: times(bytesMin) + (isText ? traversal(other!.min) : 0),
        max: times(bytesMax) + (isText ? traversal(other!.max) : 0),
      },
    }),
  };
}

/** Returns the cost of comparing the bytes of two addresses. */
const ipCost = (isText: boolean): CallCost => containsCost(isText, (bytes) => traversal(2 * bytes));
/**
 * Returns the cost of comparing two ranges: the prefix of the other one is cut to the same length, and the lengths are
 * compared.
 */
const cidrCost = (isText: boolean): CallCost =>
  containsCost(isText, (bytes) => traversal(2 * bytes) + traversal(bytes) + 1);

export const cidrLibrary: Library = {
  name: "net.cidr",
  constants: new Map([["net.CIDR", { type: typeOf(cidrType), value: new TypeValue("net.CIDR") }]]),
  functions: [
    plainFunction("cidr", "string_to_cidr", [string], cidrType, onRange(parseCidr), traversalCost()),
    plainFunction("isCIDR", "is_cidr", [string], bool, isCidr, traversalCost()),
    {
      name: "containsIP",
      overloads: [
        member("cidr_contains_ip_string", [cidrType, string], bool, containsIp, ipCost(true)),
        member("cidr_contains_ip_ip", [cidrType, ipType], bool, containsIp, ipCost(false)),
      ],
    },
    {
      name: "containsCIDR",
      overloads: [
        member("cidr_contains_cidr_string", [cidrType, string], bool, containsCidr, cidrCost(true)),
        member("cidr_contains_cidr", [cidrType, cidrType], bool, containsCidr, cidrCost(false)),
      ],
    },
    part("ip", "cidr_ip", ipType, ({ ip }) => ip),
    part("prefixLength", "cidr_prefix_length", int, ({ prefixLength }) => prefixLength),
    part("masked", "cidr_masked", cidrType, ({ masked }) => masked),
    plainFunction("string", "cidr_to_string", [cidrType], string, ([cidr]) =>
      cidr instanceof Cidr ? cidr.text : undefined,
    ),
  ],
};
