/** Names of certificate signers: a domain, a slash, a path. Source: upstream's `ValidateSignerName`. */
import { type FieldError, goQuote, invalid, required, tooLong } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain, type NameCheck } from "#meta/names.ts";
import { addAll } from "#std/add-all.ts";

const domainMax = 253;
/** The maximum length of a signer name: the path may be a namespace, a dot and a name. */
const nameMax = domainMax + 1 + (253 + 63 + 1);

export function validateSignerName(field: FieldPath, name: string): FieldError[] {
  if (name === "") return [required(field)];
  const [domain, path, ...more] = name.split("/");
  if (domain === undefined || path === undefined || more.length > 0) {
    const form = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(field, name, form)];
  }
  const errors: FieldError[] = domain.length > domainMax ? [tooLong(field, domainMax)] : [];
  addAll(errors, firstBadPart(field, domain, dns1123Label));
  if (!domain.includes(".")) {
    errors.push(invalid(field, domain, "should be a domain with at least two segments separated by dots"));
  }
  addAll(errors, firstBadPart(field, path, dns1123Subdomain));
  if (name.length > nameMax) errors.push(tooLong(field, nameMax));
  return errors;
}

/** Returns the findings about the first invalid part between dots. */
function firstBadPart(field: FieldPath, segment: string, check: NameCheck): FieldError[] {
  for (const part of segment.split(".")) {
    const messages = check(part);
    if (messages.length > 0) {
      return messages.map((message) => invalid(field, segment, `validating label ${goQuote(part)}: ${message}`));
    }
  }
  return [];
}
