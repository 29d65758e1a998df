/**
 * CustomResourceDefinitions as kube-apiserver 1.32 stores them: in `v1beta1`, which nobody serves any more, with schema,
 * subresources and columns that hold for all versions. Source: the conversion of upstream's `apiextensions/v1beta1`.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (isObject(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Whether an object is a definition in the old version, in any API domain. */
export const isOldDefinition = ({ kind, apiVersion = "" }: Unstructured): boolean =>
  kind === "CustomResourceDefinition" && /^apiextensions\.[^/]+\/v1beta1$/.test(apiVersion);

/** Returns the definition in version v1. */
export function definitionFromOld(object: Unstructured): Unstructured {
  const {
    version,
    validation,
    subresources,
    additionalPrinterColumns,
    selectableFields,
    versions,
    conversion,
    ...rest
  } = fieldsOf(object["spec"]);
  const common: Fields = {
    ...(validation === undefined ? {} : { schema: validation }),
    ...(subresources === undefined ? {} : { subresources }),
    ...(additionalPrinterColumns === undefined ? {} : { additionalPrinterColumns }),
    ...(selectableFields === undefined ? {} : { selectableFields }),
  };
  const old = versions === undefined ? [{ name: version, served: true, storage: true }] : listOf(versions);
  const spec = {
    ...rest,
    versions: old.map((one) => versionFromOld({ ...common, ...fieldsOf(one) })),
    ...(conversion === undefined ? {} : { conversion: conversionFromOld(fieldsOf(conversion)) }),
  };
  const { apiVersion = "" } = object;
  return { ...object, apiVersion: apiVersion.replace(/v1beta1$/, "v1"), spec: withoutFalse(spec) };
}

/** Leaves out the switch that v1 shows only when it is on. */
function withoutFalse({ preserveUnknownFields, ...spec }: Fields): Fields {
  return preserveUnknownFields === true ? { ...spec, preserveUnknownFields } : spec;
}

function versionFromOld({ additionalPrinterColumns, ...version }: Fields): Fields {
  if (additionalPrinterColumns === undefined) return version;
  const columns = listOf(additionalPrinterColumns).map((column) => {
    const { JSONPath: jsonPath, ...rest } = fieldsOf(column);
    return { ...rest, jsonPath };
  });
  return { ...version, additionalPrinterColumns: columns };
}

function conversionFromOld({ strategy, webhookClientConfig, conversionReviewVersions }: Fields): Fields {
  if (webhookClientConfig === undefined && conversionReviewVersions === undefined) return { strategy };
  const clientConfig = webhookClientConfig === undefined ? {} : { clientConfig: webhookClientConfig };
  return { strategy, webhook: { ...clientConfig, conversionReviewVersions } };
}
