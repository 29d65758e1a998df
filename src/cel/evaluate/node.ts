/** The result of compiling one node of an expression. */
import { CelError, type Value } from "../values.ts";
import type { Step } from "./frame.ts";

/** A compiled node, with the steps for different uses of its value. */
export interface Compiled {
  readonly step: Step;
  /**
   * The step without the cost of the node as a whole, for a name or a selection. This cost does not count if a
   * conditional chooses the node, or if the node is the key of an index.
   */
  readonly bare?: Step;
  /** Like `bare`, for callers that use only parts of the value: lists, maps and objects are not read by their types. */
  readonly inPlace?: Step;
  /** The value of a constant node, which costs nothing. */
  readonly constant?: Value;
}

/** Returns the compiled form of a constant, whose evaluation costs nothing. */
export const constantNode = (value: Value): Compiled => ({ step: () => value, constant: value });

/**
 * Returns the node of a name or selection. `inPlace` is its step without the cost of the whole; `reader` reads the
 * value as a whole (`undefined`: `inPlace` reads everything).
 */
export function attributeNode(inPlace: Step, reader: ((value: Value) => Value) | undefined): Compiled {
  const bare = reader === undefined ? inPlace : readingStep(inPlace, reader);
  return {
    inPlace,
    bare,
    step: (frame) => {
      frame.cost += 1;
      return bare(frame);
    },
  };
}

function readingStep(step: Step, reader: (value: Value) => Value): Step {
  return (frame) => {
    const value = step(frame);
    return value instanceof CelError ? value : reader(value);
  };
}

/** Returns the step that a conditional uses if it chooses the node. */
export const bareStep = ({ bare, step }: Compiled): Step => bare ?? step;

/** Returns the step that reads a value of which a part is selected. */
export const inPlaceStep = ({ inPlace, step }: Compiled): Step => inPlace ?? step;

/** Returns the step that reads the range of a loop. */
export function rangeStep({ inPlace, step }: Compiled): Step {
  if (inPlace === undefined) return step;
  return (frame) => {
    frame.cost += 1;
    return inPlace(frame);
  };
}

/** Returns an error with the node in which it happened. */
export const errorAt = (error: CelError, id: number): CelError =>
  error.id === 0 ? new CelError(error.message, id) : error;

/** Thrown during compilation if a constant part of the expression has no value. */
export class ConstantError extends Error {}
