/** The containers of a pod, from all lists that have some. */
import type { Container, EphemeralContainer, PodSpec } from "./v1.ts";

export type AnyContainer = Container | EphemeralContainer;

/** Returns the init containers, the regular and the ephemeral ones, in this order. */
export const allContainers = (spec: PodSpec): readonly AnyContainer[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

/** Returns the regular containers and, after them, the init containers: all that a pod is created with. */
export const initialContainers = ({ containers, initContainers }: PodSpec): readonly Container[] => [
  ...(containers ?? []),
  ...(initContainers ?? []),
];
