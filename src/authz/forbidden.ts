/**
 * The refusal that clients see. Clients match on the wording, which is upstream's
 * (`endpoints/handlers/responsewriters`).
 */
import { goQuote } from "#meta/field-error.ts";
import { forbidden, type StatusError } from "#meta/status-error.ts";
import type { Attributes } from "./authorizer.ts";

/** Makes the refusal. `reason` is the authorizer's, possibly empty. */
export function forbiddenError(attributes: Attributes, reason: string): StatusError {
  const sentence = escapeMarkup(describe(attributes));
  return forbidden(
    { group: attributes.group, resource: attributes.resource },
    attributes.name,
    reason === "" ? sentence : `${sentence}: ${reason}`,
  );
}

function describe(of: Attributes): string {
  const subject = `User ${goQuote(of.user.name)} cannot ${of.verb}`;
  if (!of.isResourceRequest) return `${subject} path ${goQuote(of.path)}`;
  const resource = of.subresource === "" ? of.resource : `${of.resource}/${of.subresource}`;
  const where = of.namespace === "" ? "at the cluster scope" : `in the namespace ${goQuote(of.namespace)}`;
  return `${subject} resource ${goQuote(resource)} in API group ${goQuote(of.group)} ${where}`;
}

/** Escapes markup. Upstream: a browser must not take the text for a page. */
export function escapeMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
