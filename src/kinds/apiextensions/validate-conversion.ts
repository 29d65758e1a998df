/**
 * Validates the conversion settings of a custom resource definition. Source: upstream's validation and its
 * `util/webhook`.
 */
import type { CustomResourceConversion, WebhookClientConfig } from "#api/apiextensions/v1.ts";
import { type FieldError, forbidden, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { addAll } from "#std/add-all.ts";
import {
  acceptedReviewVersions,
  checkReviewVersions,
  checkWebhookService,
  checkWebhookUrl,
} from "../webhook-address.ts";

const path = FieldPath.of("spec", "conversion");
const strategyPath = path.child("strategy");
const clientPath = path.child("webhookClientConfig");
const reviewVersionsPath = path.child("conversionReviewVersions");

/**
 * Returns findings about conversion settings. `old` are the stored settings: if they named no known review version, an
 * update need not name one.
 */
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
    addAll(errors, checkClient(webhook?.clientConfig, old, isEstablished));
    const before = old?.webhook?.conversionReviewVersions ?? [];
    const mustKnow = before.length === 0 || before.some((version) => acceptedReviewVersions.includes(version));
    addAll(errors, checkReviewVersions(versions, reviewVersionsPath, { mustKnow }));
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
  } else if (url !== undefined) addAll(errors, checkWebhookUrl(url, clientPath.child("url")));
  else if (service !== undefined) addAll(errors, checkWebhookService(service, clientPath.child("service")));
  // Older releases accepted invalid CA bundles. Stored ones may stay, and a definition that is not established may have
  // one.
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
