/** The configuration of the admission plugin ResourceQuota: resources that need a quota. */
import type { LimitedResource } from "#admission/quota.ts";
import { listOf, readDocument, struct, textValue } from "#codec/config-document.ts";
import type { ApiDomain } from "#meta/api-domain.ts";

/** Reads the limited resources. Throws `ConfigError`. */
export function readLimitedResources(text: string, domain: ApiDomain): readonly LimitedResource[] {
  const scope = struct({ scopeName: textValue, operator: textValue, values: listOf(textValue) });
  const { limitedResources = [] } = readDocument(text, {
    kind: "ResourceQuotaConfiguration",
    apiVersions: ["apiserver.config.k8s.io/v1"].map(domain.rename),
    fields: {
      limitedResources: listOf(
        struct({
          apiGroup: textValue,
          resource: textValue,
          matchContains: listOf(textValue),
          matchScopes: listOf(scope),
        }),
      ),
    },
  });
  return limitedResources.map(({ apiGroup = "", resource = "", matchContains = [], matchScopes = [] }) => ({
    apiGroup,
    resource,
    matchContains,
    matchScopes: matchScopes.map(({ scopeName = "", operator = "", values = [] }) => ({ scopeName, operator, values })),
  }));
}
