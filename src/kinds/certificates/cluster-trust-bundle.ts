/** ClusterTrustBundle: certificates that are trusted, of one signer or of none. */
import { X509Certificate } from "node:crypto";
import { type FieldError, invalid, required } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { pemBlocks } from "#std/pem.ts";
import { nameColumn, orNone, text } from "../cells.ts";
import { type Json, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateSignerName } from "./signer-name.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
const signerOf = (object: Unstructured): string => textField(specOf(object), "signerName");
const bundleOf = (object: Unstructured): string => textField(specOf(object), "trustBundle");

export function clusterTrustBundles(): KindBehaviour {
  return {
    columns: [nameColumn, text("SignerName", "Signer that the bundle is for.", (object) => orNone(signerOf(object)))],
    strategy: {
      fields: (object) => ({ "spec.signerName": signerOf(object) }),
      validate: (object) => [...validateSigner(object), ...validateBundle(bundleOf(object))],
      validateUpdate: (object, old) => [
        ...validateSigner(object),
        ...(bundleOf(object) === bundleOf(old) ? [] : validateBundle(bundleOf(object))),
        ...(signerOf(object) === signerOf(old)
          ? []
          : [invalid("spec.signerName", signerOf(object), "field is immutable")]),
      ],
    },
  };
}

function validateSigner(object: Unstructured): FieldError[] {
  const name = signerOf(object);
  return name === "" ? [] : validateSignerName("spec.signerName", name);
}

function validateBundle(bundle: string): FieldError[] {
  const field = "spec.trustBundle";
  const refuse = (reason: string): FieldError => invalid(field, "<value omitted>", reason);
  const errors: FieldError[] = [];
  const seen = new Map<string, number>();
  let index = 0;
  for (const { label, hasHeaders, bytes } of pemBlocks(bundle)) {
    const at = index++;
    if (label !== "CERTIFICATE") {
      errors.push(refuse(`entry ${at} has bad block type: ${label}`));
      continue;
    }
    if (hasHeaders) errors.push(refuse(`entry ${at} has PEM block headers`));
    const certificate = readCertificate(bytes);
    if (certificate === undefined) errors.push(refuse(`entry ${at} does not parse as X.509`));
    else if (!certificate.ca) errors.push(refuse(`entry ${at} does not have the CA bit set`));
    const key = bytes.toString("base64");
    const first = seen.get(key);
    if (first === undefined) seen.set(key, at);
    else errors.push(refuse(`duplicate trust anchor (indices [${first} ${at}])`));
  }
  if (index === 0) errors.push(required(field, "at least one trust anchor must be provided"));
  return errors;
}

function readCertificate(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}
