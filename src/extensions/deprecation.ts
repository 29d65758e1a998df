/** The default warning of deprecated versions. Source: upstream's handler. */
import type { CustomResourceDefinitionSpec } from "#api/apiextensions/v1.ts";
import { compareVersions } from "#meta/version-order.ts";

export function defaultDeprecationWarning(spec: CustomResourceDefinitionSpec, kind: string, version: string): string {
  const better = (spec.versions ?? [])
    .filter((other) => other.served && other.deprecated !== true && compareVersions(other.name, version) < 0)
    .map(({ name }) => name)
    .sort(compareVersions);
  const text = `${spec.group}/${version} ${kind} is deprecated`;
  return better[0] === undefined ? text : `${text}; use ${spec.group}/${better[0]} ${kind}`;
}
