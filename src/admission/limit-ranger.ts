/**
 * LimitRanger: sets default requests and limits of containers from the limit ranges of a namespace, and refuses pods
 * and claims outside the limits. Source of rules and texts: the answers of kube-apiserver.
 */
import { initialContainers } from "#api/core/containers.ts";
import type { Container, LimitRange, LimitRangeItem, PersistentVolumeClaim, Pod } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { aggregate } from "#meta/field-error.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { compareQuantities, formatQuantity, integerQuantity, type Quantity } from "#meta/quantity.ts";
import type { NamespaceIndex } from "./namespace-index.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";
import { podResources } from "./pod-resources.ts";
import { type Quantities, quantitiesOf } from "./quantities.ts";

interface LimitRangerOptions {
  readonly domain: ApiDomain;
  readonly ranges: Pick<NamespaceIndex<LimitRange>, "of">;
}

export function limitRanger({ domain, ranges }: LimitRangerOptions): AdmissionPlugin {
  const annotation = domain.rename("kubernetes.io/limit-ranger");
  /** Returns the limit ranges that apply to the write; `undefined` when there are none. */
  const rangesFor = (attributes: AdmissionAttributes): readonly LimitRange[] | undefined => {
    const { namespace, resource } = attributes;
    const isClaim = resource.group === "" && resource.resource === "persistentvolumeclaims";
    if (!isClaim && !isPods(resource)) return undefined;
    const all = ranges.of(namespace);
    if (all === undefined || !isLimited(attributes)) return undefined;
    return attributes.oldObject?.metadata.deletionTimestamp === undefined ? all : undefined;
  };
  return {
    name: "LimitRanger",
    operations: ["CREATE", "UPDATE"],
    admit(attributes) {
      if (!isPods(attributes.resource)) return undefined;
      const limitRanges = rangesFor(attributes);
      if (limitRanges === undefined) return undefined;
      const pod = attributes.object as Pod; // of the resource
      const filled = limitRanges.reduce((before, range) => withDefaults(before, itemsOf(range), annotation), pod);
      return filled === pod ? undefined : filled;
    },
    validate(attributes) {
      const limitRanges = rangesFor(attributes);
      if (limitRanges === undefined) return;
      const problemsOf = isPods(attributes.resource) ? podProblems : claimProblems;
      for (const range of limitRanges) {
        const problems = [...problemsOf(attributes.object!, itemsOf(range))]; // pods and claims have one
        if (problems.length > 0) throw refusal(attributes, aggregate(problems));
      }
    },
  };
}

const itemsOf = ({ spec }: LimitRange): readonly LimitRangeItem[] => spec.limits ?? [];

/** Whether limits apply to the write. Only a resize can change the resources of the containers of a pod later. */
function isLimited({ resource, operation, subresource }: AdmissionAttributes): boolean {
  if (!isPods(resource)) return subresource === "";
  return operation === "CREATE" ? subresource === "" : subresource === "resize";
}

function withDefaults(pod: Pod, items: readonly LimitRangeItem[], annotation: string): Pod {
  const defaults: Defaults = { requests: {}, limits: {} };
  for (const { type, defaultRequest, default: limits } of items) {
    if (type !== "Container") continue;
    Object.assign(defaults.requests, defaultRequest);
    Object.assign(defaults.limits, limits);
  }
  const notes: string[] = [];
  const filled = (containers: readonly Container[] | null | undefined, what: string) =>
    (containers ?? []).map((container) => withResources(container, what, defaults, notes));
  const { containers, initContainers } = pod.spec;
  const next = filled(containers, "container");
  const nextInit = filled(initContainers, "init container");
  if (notes.length === 0) return pod;
  const { metadata } = pod;
  const note = `LimitRanger plugin set: ${notes.join("; ")}`;
  return {
    ...pod,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [annotation]: note } },
    spec: { ...pod.spec, containers: next, ...(initContainers === undefined ? {} : { initContainers: nextInit }) },
  };
}

interface Defaults {
  readonly requests: Record<string, string>;
  readonly limits: Record<string, string>;
}

function withResources(container: Container, what: string, defaults: Defaults, notes: string[]): Container {
  let { resources } = container;
  for (const [part, word] of [
    ["requests", "request"],
    ["limits", "limit"],
  ] as const) {
    const own = resources[part] ?? {};
    const added = Object.keys(defaults[part]).filter((name) => !Object.hasOwn(own, name));
    if (added.length === 0) continue;
    const more = Object.fromEntries(added.map((name) => [name, defaults[part][name]!])); // names of its own
    resources = { ...resources, [part]: { ...own, ...more } };
    notes.push(`${added.sort().join(", ")} ${word} for ${what} ${container.name}`);
  }
  return resources === container.resources ? container : { ...container, resources };
}

/** The amounts that are compared with the bounds of one item. */
interface Asked {
  readonly requests: Quantities;
  readonly limits: Quantities;
}

function* podProblems(object: ApiObject, items: readonly LimitRangeItem[]): Generator<string> {
  const { spec } = object as Pod; // of the resource
  for (const item of items) {
    if (item.type === "Container") {
      for (const { resources } of initialContainers(spec)) {
        yield* problems(item, {
          requests: quantitiesOf(resources.requests),
          limits: quantitiesOf(resources.limits),
        });
      }
    }
    if (item.type === "Pod") {
      yield* problems(item, { requests: podResources(spec, "requests"), limits: podResources(spec, "limits") });
    }
  }
}

function* problems(item: LimitRangeItem, asked: Asked): Generator<string> {
  for (const [name, least] of sortQuantities(item.min)) yield* tooLittle(item.type, name, least, asked);
  for (const [name, most] of sortQuantities(item.max)) yield* tooMuch(item.type, name, most, asked);
  for (const [name, most] of sortQuantities(item.maxLimitRequestRatio))
    yield* tooFarApart(item.type, name, most, asked);
}

function* claimProblems(object: ApiObject, items: readonly LimitRangeItem[]): Generator<string> {
  const { spec } = object as PersistentVolumeClaim; // of the resource
  const requests = quantitiesOf(spec.resources.requests);
  for (const item of items) {
    if (item.type !== "PersistentVolumeClaim") continue;
    for (const [name, least] of sortQuantities(item.min)) {
      yield* tooLittle(item.type, name, least, { requests, limits: new Map() });
    }
    for (const [name, most] of sortQuantities(item.max)) {
      const request = requests.get(name);
      const start = `maximum ${name} usage per ${item.type} is ${formatQuantity(most)}`;
      if (request === undefined) yield `${start}.  No request is specified`;
      else if (compareQuantities(request, most) > 0) yield `${start}, but request is ${formatQuantity(request)}`;
    }
  }
}

const sortQuantities = (
  texts: Readonly<Record<string, string>> | undefined,
): readonly (readonly [string, Quantity])[] =>
  [...quantitiesOf(texts)].sort(([one], [other]) => (one < other ? -1 : 1));

function* tooLittle(type: string, name: string, least: Quantity, { requests, limits }: Asked): Generator<string> {
  const request = requests.get(name);
  const limit = limits.get(name);
  const start = `minimum ${name} usage per ${type} is ${formatQuantity(least)}`;
  if (request === undefined) yield `${start}.  No request is specified`;
  else if (compareQuantities(request, least) < 0) yield `${start}, but request is ${formatQuantity(request)}`;
  else if (limit !== undefined && compareQuantities(limit, least) < 0) {
    yield `${start}, but limit is ${formatQuantity(limit)}`;
  }
}

function* tooMuch(type: string, name: string, most: Quantity, { requests, limits }: Asked): Generator<string> {
  const request = requests.get(name);
  const limit = limits.get(name);
  const start = `maximum ${name} usage per ${type} is ${formatQuantity(most)}`;
  if (limit === undefined) yield `${start}.  No limit is specified`;
  else if (compareQuantities(limit, most) > 0) yield `${start}, but limit is ${formatQuantity(limit)}`;
  else if (request !== undefined && compareQuantities(request, most) > 0) {
    yield `${start}, but request is ${formatQuantity(request)}`;
  }
}

/** The largest number that is multiplied by a thousand. */
const milliMax = (1n << 63n) / 1000n - 1n;

function* tooFarApart(type: string, name: string, most: Quantity, { requests, limits }: Asked): Generator<string> {
  const request = requests.get(name);
  const limit = limits.get(name);
  const start = `${name} max limit to request ratio per ${type} is ${formatQuantity(most)}`;
  if (request === undefined || request.unscaled === 0n) {
    yield `${start}, but no request is specified or request is 0`;
    return;
  }
  if (limit === undefined || limit.unscaled === 0n) {
    yield `${start}, but no limit is specified or limit is 0`;
    return;
  }
  const isSmall = [request, limit, most].every((one) => integerQuantity(one, "whole") <= milliMax);
  const unit = isSmall ? "milli" : "whole";
  const ratio = Number(integerQuantity(limit, unit)) / Number(integerQuantity(request, unit));
  const isFine = integerQuantity(most, "whole") <= milliMax;
  const [actual, allowed] = isFine
    ? [ratio * 1000, Number(integerQuantity(most, "milli"))]
    : [ratio, Number(integerQuantity(most, "whole"))];
  if (actual > allowed) yield `${start}, but provided ratio is ${ratio.toFixed(6)}`;
}
