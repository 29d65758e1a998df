/** The containers of a pod, from all lists that contain some. */
import type { Container, EphemeralContainer, PodSpec } from "./v1.ts";

export type AnyContainer = Container | EphemeralContainer;

/** Returns the init containers, the regular and the ephemeral ones, in this order. */
export const allContainers = (spec: PodSpec): readonly AnyContainer[] => [
  ...(spec.initContainers ?? []),
  ...(spec.containers ?? []),
  ...(spec.ephemeralContainers ?? []),
];

/** Returns the regular containers, followed by the init containers: all containers that a new pod can have. */
export const initialContainers = ({ containers, initContainers }: PodSpec): readonly Container[] => [
  ...(containers ?? []),
  ...(initContainers ?? []),
];
