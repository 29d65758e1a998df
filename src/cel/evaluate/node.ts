/** Compiled nodes of an expression. */
import { CelError, type Value } from "../values.ts";
import type { Step } from "./frame.ts";

export interface Compiled {
  readonly step: Step;
  /**
   * A name, and a selection from a value, have the same step without the cost of the whole, which is not counted where
   * a conditional chooses it or another value is indexed by it.
   */
  readonly bare?: Step;
  /** The same for one who takes only parts of the value: lists, maps and objects are not read as their types say. */
  readonly inPlace?: Step;
  /** The value of a node that is known before; it costs nothing. */
  readonly constant?: Value;
}

export const constantNode = (value: Value): Compiled => ({ step: () => value, constant: value });

/** A name or selection, by its step without the cost of the whole; `reader` is for the value as a whole. */
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

/** Returns the step that a conditional chooses from. */
export const bareStep = ({ bare, step }: Compiled): Step => bare ?? step;

/** Returns the step that a selection continues from. */
export const inPlaceStep = ({ inPlace, step }: Compiled): Step => inPlace ?? step;

/** Returns the step of what a loop runs over. */
export function rangeStep({ inPlace, step }: Compiled): Step {
  if (inPlace === undefined) return step;
  return (frame) => {
    frame.cost += 1;
    return inPlace(frame);
  };
}

/** An error with the node it happened at. */
export const errorAt = (error: CelError, id: number): CelError =>
  error.id === 0 ? new CelError(error.message, id) : error;

/** Thrown while compiling: a constant part of the expression has no value. */
export class ConstantError extends Error {}
