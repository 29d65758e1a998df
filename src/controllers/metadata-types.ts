/** The media types by which controllers ask for the metadata of objects of any kind. */
import type { ApiDomain } from "#meta/api-domain.ts";

/**
 * Returns the media types of metadata alone, for one object and for a list; a server that does not know them answers
 * with whole objects.
 */
export function metadataTypes(domain: ApiDomain): { readonly one: string; readonly list: string } {
  const type = (kind: string): string =>
    `application/json;as=${kind};g=${domain.rename("meta.k8s.io")};v=v1,application/json`;
  return { one: type("PartialObjectMetadata"), list: type("PartialObjectMetadataList") };
}
