/** IPAddress and ServiceCIDR: service addresses as objects. Source: upstream's `pkg/apis/networking/validation`. */
import type { IPAddress, ParentReference, ServiceCIDR } from "#api/networking/v1beta1.ts";
import { fieldSetOf } from "#apply/field-set.ts";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { parseIpRange } from "#meta/ip-range.ts";
import { printIp } from "#meta/ip-address.ts";
import { dns1123Subdomain, pathSegment } from "#meta/names.ts";
import { parsePrefix } from "#meta/parse-ip.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkOptionalName, checkRequiredName, type Errors } from "../checks.ts";
import { type KindBehaviour, withMetadataOf, keptByStatus } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const specPath = FieldPath.of("spec");
const parentPath = specPath.child("parentRef");
const rangesPath = specPath.child("cidrs");

export function ipAddresses(): KindBehaviour<IPAddress> {
  return {
    columns: [nameColumn, text("ParentRef", "Object that has the address.", parentText)],
    strategy: {
      prepareForCreate: withGivenName,
      validate: ({ spec }) => validateParent(spec.parentRef),
      validateUpdate: ({ spec }, old) => [
        ...validateParent(spec.parentRef),
        ...validateImmutable(spec, old.spec, ["parentRef"], specPath),
      ],
    },
  };
}

/** Upstream: a generated name is the prefix alone, since nothing can be added to an address. */
function withGivenName(object: IPAddress): IPAddress {
  const { name = "", generateName = "" } = object.metadata;
  return name === "" && generateName !== ""
    ? { ...object, metadata: { ...object.metadata, name: generateName } }
    : object;
}

function validateParent(parent: ParentReference | undefined): FieldError[] {
  if (parent === undefined) return [required(parentPath)];
  const errors: Errors = [];
  checkOptionalName(parent.group, dns1123Subdomain, parentPath.child("group"), errors);
  checkRequiredName(parent.resource, pathSegment, parentPath.child("resource"), errors);
  checkRequiredName(parent.name, pathSegment, parentPath.child("name"), errors);
  checkOptionalName(parent.namespace, pathSegment, parentPath.child("namespace"), errors);
  return errors;
}

/**
 * Returns the behaviour of ranges. Upstream: every write may change the status, and its fields belong to whoever writes
 * them.
 */
export function serviceCidrs(): KindBehaviour<ServiceCIDR> {
  return {
    statusOnCreate: true,
    statusOnUpdate: true,
    columns: [
      nameColumn,
      text("CIDRs", "Ranges that addresses are taken from.", ({ spec }) => spec.cidrs?.join(",") ?? ""),
      ageColumn,
    ],
    strategy: {
      validate: ({ spec }) => validateRanges(spec),
      validateUpdate: ({ spec }, old) => [
        ...validateRanges(spec),
        ...validateImmutable(spec, old.spec, ["cidrs"], specPath),
      ],
      subresources: {
        status: {
          prepareForUpdate: (object, old) => withMetadataOf(old, object, keptByStatus),
          resetFields: fieldSetOf([]),
        },
      },
    },
  };
}

function validateRanges(spec: ServiceCIDR["spec"]): FieldError[] {
  const ranges = spec.cidrs ?? [];
  if (ranges.length === 0) return [required(rangesPath, "at least one CIDR required")];
  if (ranges.length > 2) return [invalid(rangesPath, spec, "may only hold up to 2 values")];
  const families = new Set(ranges.map((range) => parseIpRange(range)?.family));
  if (ranges.length === 2 && (families.size < 2 || families.has(undefined))) {
    const detail = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
    return [invalid(rangesPath, spec, detail)];
  }
  return ranges.flatMap((range, index) => validateRange(range, rangesPath.index(index)));
}

function validateRange(range: string, path: FieldPath): FieldError[] {
  const parsed = parsePrefix(range);
  if ("fault" in parsed) return [invalid(path, range, parsed.fault)];
  const text = `${printIp(parsed.address.bytes)}/${parsed.bits}`;
  const errors: Errors = [];
  if (parseIpRange(text)?.text !== text) {
    errors.push(invalid(path, range, "wrong CIDR format, IP doesn't match network IP address"));
  }
  if (text !== range) errors.push(invalid(path, range, "CIDR not in RFC 5952 canonical format"));
  return errors;
}

function parentText({ spec: { parentRef } }: IPAddress): string {
  if (parentRef === undefined) return "<none>";
  const { group = "", resource = "", namespace = "", name = "" } = parentRef;
  const type = `${resource}${group === "" ? "" : `.${group}`}`.toLowerCase();
  return [type, ...(namespace === "" ? [] : [namespace]), name].join("/");
}
