/** Names of controllers and keys that begin with a domain: `example.com/path`. Source: upstream's `IsDomainPrefixedPath`. */
import { type FieldError, invalid, required } from "./field-error.ts";
import type { FieldPath } from "./field-path.ts";
import { dns1123Subdomain, formMessage } from "./names.ts";

const pathForm = String.raw`[A-Za-z0-9/\-._~%!$&'()*+,;=:]+`;
const path = new RegExp(`^${pathForm}$`);

export function validatePrefixedPath(text: string, at: FieldPath): FieldError[] {
  if (text === "") return [required(at)];
  const slash = text.indexOf("/");
  const [domain, rest] = [text.slice(0, slash), text.slice(slash + 1)];
  if (slash <= 0 || rest === "") {
    return [invalid(at, text, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const errors = dns1123Subdomain(domain).map((message) => invalid(at, domain, message));
  if (!path.test(rest)) errors.push(invalid(at, rest, formMessage("Invalid path", pathForm)));
  return errors;
}
