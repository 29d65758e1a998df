/** DaemonSet: one pod on every node. */
import { jsonEquals } from "#apply/json-value.ts";
import { goQuote } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest, type StatusError } from "#meta/status-error.ts";
import { ageColumn, inside, integer, labelsText, nameColumn, text } from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  type Json,
  noFields,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { statusNumber, templateColumns, validateSelectorKept } from "./workload.ts";

export function daemonSets({ domain }: KindEnvironment): KindBehaviour {
  const counter = domain.rename("deprecated.daemonset.template.generation");
  const countOf = (object: Unstructured): bigint => parseCount(object.metadata.annotations?.[counter] ?? "") ?? 0n;
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      integer("Desired", "How many nodes should run the pod.", (object) =>
        statusNumber(object, "desiredNumberScheduled"),
      ),
      integer("Current", "How many nodes run the pod and should.", (object) =>
        statusNumber(object, "currentNumberScheduled"),
      ),
      integer("Ready", "How many of the pods are ready.", (object) => statusNumber(object, "numberReady")),
      integer("Up-to-date", "How many pods have the present template.", (object) =>
        statusNumber(object, "updatedNumberScheduled"),
      ),
      integer("Available", "How many pods have been ready for long enough.", (object) =>
        statusNumber(object, "numberAvailable"),
      ),
      text("Node Selector", "Labels of the nodes.", (object) =>
        labelsText(inside(object, "spec", "template", "spec", "nodeSelector")),
      ),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) => {
        const { annotations } = object.metadata;
        const counted = annotations?.[counter] === undefined ? withCount(object, counter, 0n) : object;
        return editField(counted, "spec", defaultSpec);
      },
      prepareForCreate: (object) => {
        const text = object.metadata.annotations?.[counter] ?? "";
        const count = parseCount(text);
        if (count === undefined) throw cannotCount(text);
        return withCount(object, counter, count < 1n ? 1n : count);
      },
      prepareForUpdate: (object, old) => {
        const isChanged = !jsonEquals(templateOf(object), templateOf(old));
        return withCount(object, counter, countOf(old) + (isChanged ? 1n : 0n));
      },
      validateUpdate: validateSelectorKept,
      subresources: { status: { prepareForUpdate: (object, old) => withCount(object, counter, countOf(old)) } },
    },
  };
}

function defaultSpec(spec: Json): Json {
  let strategy = fillZero(objectField(spec, "updateStrategy") ?? noFields, { type: "RollingUpdate" });
  if (textField(strategy, "type") === "RollingUpdate") {
    const rolling = objectField(strategy, "rollingUpdate") ?? noFields;
    strategy = withField(strategy, "rollingUpdate", fillAbsent(rolling, { maxUnavailable: 1, maxSurge: 0 }));
  }
  const next = fillAbsent(withField(spec, "updateStrategy", strategy), { revisionHistoryLimit: 10 });
  return editField(next, "template", defaultPodTemplate);
}

const templateOf = (object: Unstructured): unknown => objectField(object, "spec")?.["template"];

/** Upstream: how often the template changed stands in an annotation, where versions of old had a field. */
function withCount(object: Unstructured, counter: string, count: bigint): Unstructured {
  const { annotations } = object.metadata;
  if (annotations?.[counter] === String(count)) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [counter]: String(count) } } };
}

function parseCount(text: string): bigint | undefined {
  if (!/^[-+]?\d{1,19}$/.test(text)) return undefined;
  const count = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, count) === count ? count : undefined;
}

const cannotCount = (text: string): StatusError =>
  badRequest(
    `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`,
  );
