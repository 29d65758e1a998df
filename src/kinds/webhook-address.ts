/**
 * Validates the address and the review versions of webhooks, for admission and conversion. Source: upstream's
 * `util/webhook`.
 */
import type { ServiceReference } from "#api/admissionregistration/v1.ts";
import { type FieldError, goTexts, invalid, required } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { parseReference } from "#meta/go-url.ts";
import { dns1035Label, dns1123Subdomain, portNumber } from "#meta/names.ts";

/** The review versions that this server can send. */
export const acceptedReviewVersions: readonly string[] = ["v1", "v1beta1"];

const form = "; desired format: https://host[/path]";

/** Checks the URL of a webhook: https, with a host, without user, query and fragment. `at` is the path of the field. */
export function checkWebhookUrl(text: string, at: FieldPath): FieldError[] {
  const url = parseReference(text);
  if ("fault" in url) return [required(at, `url must be a valid URL: ${url.fault}${form}`)];
  const { scheme, user, host, query, fragment } = partsOf(text);
  const errors: FieldError[] = [];
  if (scheme.toLowerCase() !== "https") {
    errors.push(invalid(at, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`));
  }
  if (host === "") errors.push(invalid(at, host, `host must be specified${form}`));
  if (user !== undefined) errors.push(invalid(at, user, "user information is not permitted in the URL"));
  if (fragment !== "") errors.push(invalid(at, fragment, "fragments are not permitted in the URL"));
  if (query !== "") errors.push(invalid(at, query, "query parameters are not permitted in the URL"));
  return errors;
}

interface UrlParts {
  readonly scheme: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

function partsOf(text: string): UrlParts {
  const match =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:([^@/?#]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(text)!; // every part may be empty
  const [, scheme = "", user, host = "", query = "", fragment = ""] = match;
  return { scheme, user, host, query, fragment };
}

/** Checks a reference to the service of a webhook. `at` is the path of the reference. */
export function checkWebhookService(service: ServiceReference, at: FieldPath): FieldError[] {
  const { name, namespace, path = "", port = 443 } = service;
  const errors: FieldError[] = [];
  // Upstream: each message is at the field of the other.
  if (namespace === "") errors.push(required(at.child("name"), "service name is required"));
  if (name === "") errors.push(required(at.child("namespace"), "service namespace is required"));
  const problems = portNumber(port);
  if (problems.length > 0) errors.push(invalid(at.child("port"), port, `port is not valid: ${problems.join(", ")}`));
  if (path === "" || path === "/") return errors;
  const wrong = (detail: string): FieldError => invalid(at.child("path"), path, detail);
  if (path === "//") return [...errors, wrong("segment[0] may not be empty")];
  if (!path.startsWith("/")) errors.push(wrong("must start with a '/'"));
  const segments = path.slice(1).replace(/\/$/, "").split("/");
  for (const [index, segment] of segments.entries()) {
    if (segment === "") errors.push(wrong(`segment[${index}] may not be empty`));
    else for (const problem of dns1123Subdomain(segment)) errors.push(wrong(`segment[${index}]: ${problem}`));
  }
  return errors;
}

/**
 * Checks the review versions of a webhook. `missing` is the message for an empty list. With `mustKnow`, one of the
 * versions has to be known to this server.
 */
export function checkReviewVersions(
  versions: readonly string[],
  at: FieldPath,
  { missing, mustKnow }: { readonly missing?: string; readonly mustKnow: boolean },
): FieldError[] {
  if (versions.length === 0) return [missing === undefined ? required(at) : required(at, missing)];
  const errors: FieldError[] = [];
  for (const [index, version] of versions.entries()) {
    const problems = versions.indexOf(version) === index ? dns1035Label(version) : ["duplicate version"];
    for (const problem of problems) errors.push(invalid(at.index(index), version, problem));
  }
  if (mustKnow && !versions.some((version) => acceptedReviewVersions.includes(version))) {
    const detail = `must include at least one of ${acceptedReviewVersions.join(", ")}`;
    errors.push(invalid(at, goTexts(versions), detail));
  }
  return errors;
}
