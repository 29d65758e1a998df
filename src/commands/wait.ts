/** `binnacle wait`: waits until objects have a condition, a value, are there or are gone. */
import type { Unstructured } from "#meta/object-meta.ts";
import { binnacleFlag, boolean, duration, optional } from "#std/flags.ts";
import { printGoDuration } from "#std/go-duration.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";
import { awaitObject, type ObjectTest } from "./await-object.ts";
import { command, selectorFlag } from "./command.ts";
import { namedObjects } from "./named-objects.ts";
import { parseTemplate } from "./jsonpath-template.ts";
import { clusterFlags, shownName, withCluster } from "./open-cluster.ts";
import { ObjectReport, outputFlag, outputOf } from "./output.ts";

const flags = {
  ...clusterFlags,
  for: optional(
    binnacleFlag("for"),
    "state",
    "What to wait for: condition=NAME[=VALUE], delete, create, or jsonpath={PATH}[=VALUE].",
  ),
  timeout: duration(binnacleFlag("timeout"), 30_000, "The maximum time for all objects together; 0 looks once."),
  selector: selectorFlag("The objects with these labels."),
  all: boolean(binnacleFlag("all"), false, "All objects of the kind in the namespace."),
  output: outputFlag,
};

const help = `Waits until objects are in a state. The exit code is 1 if the time is over before.

Usage: binnacle wait KIND NAME... --for=STATE [flags]
       binnacle wait KIND/NAME... --for=STATE [flags]
       binnacle wait KIND (-l LABELS | --all) --for=STATE [flags]

  -h, --help                      print this

Examples:
  binnacle wait deploy/web --for=condition=Available --timeout=2m
  binnacle wait pod/web --for=condition=Ready=False
  binnacle wait pods -l app=web --for=delete
  binnacle wait pvc/data --for=jsonpath='{.status.phase}'=Bound

`;

/** Runs `binnacle wait`; ends the process with 1 if the time is over before. Rejects with `StartError`. */
export const wait = command(flags, help, async (settings, rest) => {
  const state = stateOf(settings.for);
  const report = new ObjectReport(outputOf(settings.output));
  const { timeout = flags.timeout.default } = settings;
  await withCluster(settings, async (cluster) => {
    const addresses = await namedObjects(cluster, "wait", rest, settings);
    if (addresses.length === 0) throw new StartError("there are no such objects to wait for");
    await Promise.all(
      addresses.map(async (address) => {
        const name = shownName(address.resource, address.name);
        const first = state.isForAbsent
          ? undefined
          : await cluster.call<Unstructured>({ method: "GET", path: address.path });
        const { isOver, object } = await awaitObject(cluster, address, state.test(first), Math.max(1, timeout));
        if (isOver) {
          const now = object === undefined ? "; it does not exist" : "";
          process.stderr.write(
            `binnacle: waited ${printGoDuration(timeout)} for ${name}: ${settings.for} is not so${now}\n`,
          );
          process.exitCode = 1;
          return;
        }
        report.add(name, state.text, object);
      }),
    );
    report.end();
  });
});

interface State {
  /** The state, for people. */
  readonly text: string;
  /** Whether an object that does not exist is waited for. */
  readonly isForAbsent: boolean;
  /** Returns the test, for an object that was `first`. */
  test(first: Unstructured | undefined): ObjectTest;
}

function stateOf(text = ""): State {
  const [kind = "", ...rest] = text.split("=");
  if (text === "delete") return { text: "deleted", isForAbsent: true, test: () => (object) => object === undefined };
  if (text === "create") return { text: "created", isForAbsent: true, test: () => (object) => object !== undefined };
  if (kind === "condition" && rest[0] !== undefined && rest[0] !== "" && rest.length <= 2) {
    const [name, value = "True"] = rest;
    return { text: "condition met", isForAbsent: false, test: () => (object) => hasCondition(object, name, value) };
  }
  const path = /^jsonpath=(.+\}|[^=]+)(?:=(.*))?$/s.exec(text);
  if (path !== null) {
    const template = parseTemplate(path[1]!);
    const wanted = path[2];
    const test: ObjectTest = (object) => {
      if (object === undefined) return false;
      const value = template(object);
      return wanted === undefined ? value !== "" : value === wanted;
    };
    return { text: "condition met", isForAbsent: false, test: () => test };
  }
  throw new StartError(
    `${text === "" ? "say what to wait for" : `invalid value ${JSON.stringify(text)} for --for`}: --for=condition=NAME[=VALUE], delete, create, or jsonpath={PATH}[=VALUE]`,
  );
}

/** Whether the object has the condition. One that was observed before the last change of the specification does not count. */
function hasCondition(object: Unstructured | undefined, name: string, value: string): boolean {
  const status = object?.["status"];
  const conditions = isObject(status) ? status["conditions"] : undefined;
  if (object === undefined || !Array.isArray(conditions)) return false;
  const { generation } = object.metadata;
  return conditions.some((condition: unknown) => {
    if (!isObject(condition)) return false;
    const observed = condition["observedGeneration"];
    if (typeof observed === "number" && generation !== undefined && observed < Number(generation)) return false;
    const is = (field: string, wanted: string): boolean =>
      String(condition[field]).toLowerCase() === wanted.toLowerCase();
    return is("type", name) && is("status", value);
  });
}
