/**
 * PodNodeSelector: pods get the node selector of their namespace, and may only have labels of nodes that the
 * configuration allows in it. Source of rules and texts: the answers of kube-apiserver.
 */
import type { Namespace, Pod } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";
import { labelValue, qualifiedName } from "#meta/names.ts";
import { forbidden, notFound } from "#meta/status-error.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, pluginFailure } from "./plugin.ts";

type Labels = Readonly<Record<string, string>>;

interface PodNodeSelectorOptions {
  readonly domain: ApiDomain;
  /** The allowed labels by namespace, and the selector of namespaces without one (`clusterDefaultNodeSelector`). */
  readonly selectors: ReadonlyMap<string, string>;
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
}

export function podNodeSelector({ domain, selectors, getNamespace }: PodNodeSelectorOptions): AdmissionPlugin {
  const annotation = domain.rename("scheduler.alpha.kubernetes.io/node-selector");
  const selectorOf = (name: string): Labels => {
    const namespace = getNamespace(name);
    if (namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, name);
    const own = namespace.metadata.annotations?.[annotation];
    return parseSelector(own ?? selectors.get("clusterDefaultNodeSelector") ?? "");
  };
  const check = (attributes: AdmissionAttributes, nodeSelector: Labels, wanted: Labels): void => {
    if (
      Object.entries(wanted).some(([key, value]) => Object.hasOwn(nodeSelector, key) && nodeSelector[key] !== value)
    ) {
      throw refused(attributes, "pod node label selector conflicts with its namespace node label selector");
    }
  };
  const checkAllowed = (attributes: AdmissionAttributes, nodeSelector: Labels): void => {
    const allowed = parseSelector(selectors.get(attributes.namespace) ?? "");
    if (Object.keys(allowed).length === 0) return;
    if (Object.entries(nodeSelector).some(([key, value]) => allowed[key] !== value)) {
      throw refused(attributes, "pod node label selector labels conflict with its namespace whitelist");
    }
  };
  return {
    name: "PodNodeSelector",
    operations: ["CREATE"],
    admit(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return undefined;
      const pod = attributes.object as Pod; // of the resource
      const { nodeSelector = {} } = pod.spec;
      const wanted = selectorOf(attributes.namespace);
      check(attributes, nodeSelector, wanted);
      const merged = { ...wanted, ...nodeSelector };
      checkAllowed(attributes, merged);
      const isChanged = Object.keys(merged).length > Object.keys(nodeSelector).length;
      return isChanged ? { ...pod, spec: { ...pod.spec, nodeSelector: merged } } : undefined;
    },
    validate(attributes) {
      if (!isPods(attributes.resource) || attributes.subresource !== "") return;
      const { nodeSelector = {} } = (attributes.object as Pod).spec; // of the resource
      check(attributes, nodeSelector, selectorOf(attributes.namespace));
      checkAllowed(attributes, nodeSelector);
    },
  };
}

/** Upstream: the error names the pod as it is, without a name before one is generated. */
const refused = ({ resource, object }: AdmissionAttributes, reason: string): Error =>
  forbidden(resource, object?.metadata.name ?? "", reason);

/** Reads `key=value,key=value`. Throws `StatusError` with code 500. */
function parseSelector(text: string): Labels {
  if (text === "") return {};
  const labels = Object.create(null) as Record<string, string>;
  for (const part of text.split(",")) {
    const sides = part.split("=");
    if (sides.length !== 2) throw pluginFailure(`invalid selector: [${sides.join(" ")}]`);
    const [key, value] = sides.map((side) => side.trim()) as [string, string]; // of two
    throwFirst("<nil>", key, qualifiedName(key));
    throwFirst(`[${key}]`, value, labelValue(value));
    labels[key] = value;
  }
  return labels;
}

function throwFirst(where: string, text: string, problems: readonly string[]): void {
  if (problems.length > 0) throw pluginFailure(`${where}: Invalid value: ${goQuote(text)}: ${problems.join("; ")}`);
}
