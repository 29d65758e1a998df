/** Columns of the workloads of the apps group. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { LabelSelector } from "#api/meta/v1.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { containerColumns, wideText } from "../cells.ts";

/** The fields that the workloads share. */
export interface Workload extends ApiObject {
  readonly spec: {
    readonly selector: LabelSelector | null;
    readonly template: PodTemplateSpec;
  };
}

/** The columns of containers, images and selector, which wide output shows. */
export const templateColumns: readonly Column<Workload>[] = [
  ...containerColumns<Workload>(({ spec }) => spec.template),
  wideText("Selector", "Labels of the pods.", ({ spec }) => formatLabelSelector(spec.selector)),
];
