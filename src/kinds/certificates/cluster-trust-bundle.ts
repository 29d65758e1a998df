/** ClusterTrustBundle: trusted certificates, with or without a signer. */
import { X509Certificate } from "node:crypto";
import type { ClusterTrustBundle } from "#api/certificates/v1alpha1.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { pemBlocks } from "#std/pem.ts";
import { nameColumn, orNone, text } from "../cells.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateSignerName } from "./signer-name.ts";

export function clusterTrustBundles(): KindBehaviour<ClusterTrustBundle> {
  return {
    columns: [nameColumn, text("SignerName", "Signer that the bundle is for.", ({ spec }) => orNone(spec.signerName))],
    strategy: {
      fields: ({ spec }) => ({ "spec.signerName": spec.signerName ?? "" }),
      validate: ({ spec }) => [...validateSigner(spec.signerName), ...validateBundle(spec.trustBundle)],
      validateUpdate: ({ spec }, old) => [
        ...validateSigner(spec.signerName),
        ...(spec.trustBundle === old.spec.trustBundle ? [] : validateBundle(spec.trustBundle)),
        ...(spec.signerName === old.spec.signerName
          ? []
          : [invalid(FieldPath.of("spec", "signerName"), spec.signerName ?? "", "field is immutable")]),
      ],
    },
  };
}

const validateSigner = (name = ""): FieldError[] =>
  name === "" ? [] : validateSignerName(FieldPath.of("spec", "signerName"), name);

function validateBundle(bundle: string): FieldError[] {
  const field = FieldPath.of("spec", "trustBundle");
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
  if (index === 0) errors.push(refuse("at least one trust anchor must be provided"));
  return errors;
}

function readCertificate(bytes: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(bytes);
  } catch {
    return undefined;
  }
}
