/** Gives the runs of admission plugins spans. Only servers that trace requests have such plugins. */
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import type { AdmissionAttributes, AdmissionPlugin } from "./plugin.ts";
import type { StepType } from "./chain-progress.ts";

export function tracedPlugin(plugin: AdmissionPlugin): AdmissionPlugin {
  const { name, operations, admit, validate } = plugin;
  return {
    name,
    operations,
    ...(admit === undefined
      ? {}
      : { admit: (attributes, round) => run(name, "admit", attributes, () => admit.call(plugin, attributes, round)) }),
    ...(validate === undefined
      ? {}
      : { validate: (attributes) => run(name, "validate", attributes, () => validate.call(plugin, attributes)) }),
  };
}

function run<T>(
  name: string,
  type: StepType,
  { context, operation }: AdmissionAttributes,
  work: () => MaybePromise<T>,
): MaybePromise<T> {
  if (context.span?.isRecorded !== true) return work();
  const span = context.span.start(`Admission ${name}`, { type, operation });
  const refused = (error: unknown): never => {
    span.set({ rejected: true });
    span.end();
    throw error;
  };
  let answer: MaybePromise<T>;
  try {
    answer = work();
  } catch (error) {
    return refused(error);
  }
  if (!isLate(answer)) {
    span.end();
    return answer;
  }
  return answer.then((value) => {
    span.end();
    return value;
  }, refused);
}
