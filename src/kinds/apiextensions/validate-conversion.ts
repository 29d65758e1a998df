/**
 * Validates the conversion settings of a custom resource definition. Source: upstream's validation and its
 * `util/webhook`.
 */
import type { CustomResourceConversion, ServiceReference, WebhookClientConfig } from "#api/apiextensions/v1.ts";
import { type FieldError, forbidden, goQuote, goTexts, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1035Label, dns1123Subdomain, portNumber } from "#meta/names.ts";

const acceptedVersions = ["v1", "v1beta1"];
const path = FieldPath.of("spec", "conversion");
const strategyPath = path.child("strategy");
const clientPath = path.child("webhookClientConfig");
const reviewVersionsPath = path.child("conversionReviewVersions");

/** `old` is what is stored: versions of review it never had are not asked for. */
export function checkConversion(
  conversion: CustomResourceConversion,
  old: CustomResourceConversion | undefined,
  preserves: boolean,
  isEstablished: boolean,
): FieldError[] {
  const { strategy, webhook } = conversion;
  const errors: FieldError[] = [];
  if (strategy !== "None" && preserves) {
    errors.push(invalid(strategyPath, strategy, "must be None if spec.preserveUnknownFields is true"));
  }
  if (strategy === "") errors.push(required(strategyPath));
  else if (strategy !== "None" && strategy !== "Webhook") {
    errors.push(notSupported(strategyPath, strategy, ["None", "Webhook"]));
  }
  const versions = webhook?.conversionReviewVersions ?? [];
  if (strategy === "Webhook") {
    errors.push(...checkClient(webhook?.clientConfig, old, isEstablished));
    const before = old?.webhook?.conversionReviewVersions ?? [];
    const mustKnow = before.length === 0 || before.some((version) => acceptedVersions.includes(version));
    errors.push(...checkReviewVersions(versions, mustKnow));
    return errors;
  }
  const unused = "should not be set when strategy is not set to Webhook";
  if (webhook?.clientConfig !== undefined) errors.push(forbidden(clientPath, unused));
  if (versions.length > 0) errors.push(forbidden(reviewVersionsPath, unused));
  return errors;
}

function checkClient(
  config: WebhookClientConfig | undefined,
  old: CustomResourceConversion | undefined,
  isEstablished: boolean,
): FieldError[] {
  if (config === undefined) return [required(clientPath, "required when strategy is set to Webhook")];
  const { url, service, caBundle = "" } = config;
  const errors: FieldError[] = [];
  if ((url === undefined) === (service === undefined)) {
    errors.push(required(clientPath, "exactly one of url or service is required"));
  } else if (url !== undefined) errors.push(...checkUrl(url, clientPath.child("url")));
  else if (service !== undefined) errors.push(...checkService(service, clientPath.child("service")));
  // Authorities that are none were accepted once; they may stay, and a definition may start with one.
  const before = old?.webhook?.clientConfig?.caBundle ?? "";
  const mayBeBroken = !isEstablished || (before !== "" && !hasCertificates(before));
  if (caBundle !== "" && !mayBeBroken && !hasCertificates(caBundle)) {
    errors.push(
      invalid(
        clientPath.child("caBundle"),
        caBundle,
        "unable to load root certificates: unable to parse bytes as PEM block",
      ),
    );
  }
  return errors;
}

const hasCertificates = (base64: string): boolean =>
  Buffer.from(base64, "base64").toString("latin1").includes("-----BEGIN CERTIFICATE-----");

const form = "; desired format: https://host[/path]";

function checkUrl(text: string, at: FieldPath): FieldError[] {
  const match =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/(?:([^@/?#]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(text);
  // oxlint-disable-next-line no-control-regex
  if (match === null || /[\u0000-\u0020\u007f]/.test(text)) {
    return [
      required(at, `url must be a valid URL: parse ${goQuote(text)}: net/url: invalid control character in URL${form}`),
    ];
  }
  if (text.startsWith(":")) {
    return [required(at, `url must be a valid URL: parse ${goQuote(text)}: missing protocol scheme${form}`)];
  }
  const [, scheme = "", user, host = "", query = "", fragment = ""] = match;
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

function checkService(service: ServiceReference, at: FieldPath): FieldError[] {
  const { name, namespace, path = "", port = 443 } = service;
  const errors: FieldError[] = [];
  // Upstream takes the two for each other; clients see the name first.
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

function checkReviewVersions(versions: readonly string[], mustKnow: boolean): FieldError[] {
  if (versions.length === 0) return [required(reviewVersionsPath)];
  const errors: FieldError[] = [];
  for (const [index, version] of versions.entries()) {
    const problems = versions.indexOf(version) === index ? dns1035Label(version) : ["duplicate version"];
    for (const problem of problems) errors.push(invalid(reviewVersionsPath.index(index), version, problem));
  }
  if (mustKnow && !versions.some((version) => acceptedVersions.includes(version))) {
    const detail = `must include at least one of ${acceptedVersions.join(", ")}`;
    errors.push(invalid(reviewVersionsPath, goTexts(versions), detail));
  }
  return errors;
}
