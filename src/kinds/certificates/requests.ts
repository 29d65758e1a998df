/** CertificateSigningRequest and ClusterTrustBundle. Signing and approving come with a later step. */
import { humanDuration } from "#meta/human-duration.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { ageColumn, nameColumn, orNone, text } from "../cells.ts";
import { type Json, listField, noFields, objectField, textField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

const specOf = (object: ApiObject): Json => objectField(object, "spec") ?? noFields;
const signerText = (object: ApiObject): unknown => orNone(textField(specOf(object), "signerName"));
const fields = (object: ApiObject): Readonly<Record<string, string>> => ({
  "spec.signerName": textField(specOf(object), "signerName"),
});

export function certificateSigningRequests(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      ageColumn,
      text("SignerName", "Who is asked to sign.", signerText),
      text("Requestor", "Who asks.", (object) => textField(specOf(object), "username")),
      text("RequestedDuration", "How long the certificate should be good for.", (object) => {
        const seconds = specOf(object)["expirationSeconds"];
        return typeof seconds === "number" ? humanDuration(seconds * 1000) : "<none>";
      }),
      text("Condition", "What has become of the request.", conditionText),
    ],
    strategy: { fields },
  };
}

function conditionText(object: ApiObject): string {
  const status = objectField(object, "status") ?? noFields;
  const types = listField(status, "conditions").map((condition) => textField(condition, "type"));
  const parts = [types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending"];
  if (types.includes("Failed")) parts.push("Failed");
  if (textField(status, "certificate") !== "") parts.push("Issued");
  return parts.join(",");
}

export function clusterTrustBundles(): KindBehaviour {
  return {
    columns: [nameColumn, text("SignerName", "Signer that the bundle is for.", signerText)],
    strategy: { fields },
  };
}
