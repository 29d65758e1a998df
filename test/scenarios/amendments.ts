/** Recorded answers that differ from the specification: `amended.yaml`, and the amended recordings. */
import { load } from "js-yaml";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** The values of the answer in place of the recorded ones, by path: `body.code`. */
type Answer = Readonly<Record<string, unknown>>;

interface Amendment {
  readonly reason: string;
  /** The answers by case file, name of the scenario, and index in its recorded answers. */
  readonly recorded: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, Answer>>>>>>;
}

function readAmendments(): readonly Amendment[] {
  return load(readFileSync(join(import.meta.dirname, "amended.yaml"), "utf8")) as readonly Amendment[]; // written by hand
}

type Golden = Record<string, Record<string, unknown>[]>;

/**
 * Copies the recordings to a folder with the amendments. Throws for answers that were not recorded, or already have the
 * amended value.
 */
export function writeAmendedRecordings(from: string, to: string, amendments = readAmendments()): void {
  cpSync(from, to, { recursive: true });
  for (const { recorded } of amendments) {
    for (const [file, scenarios] of Object.entries(recorded)) {
      const path = join(to, `${file}.json`);
      const golden = JSON.parse(readFileSync(path, "utf8")) as Golden; // the form of recordings
      for (const [name, answers] of Object.entries(scenarios)) {
        for (const [at, values] of Object.entries(answers))
          amend(golden[name]?.[Number(at)], values, `${file}: ${name}`);
      }
      writeFileSync(path, JSON.stringify(golden));
    }
  }
}

function amend(answer: Record<string, unknown> | undefined, values: Answer, where: string): void {
  if (answer === undefined) throw new Error(`test/scenarios/amended.yaml: nothing is recorded for ${where}`);
  for (const [path, value] of Object.entries(values)) {
    const names = path.split(".");
    const last = names.pop()!; // at least one
    const holder = names.reduce<unknown>((inner, key) => (inner as Record<string, unknown>)[key], answer);
    const target = holder as Record<string, unknown>; // an object of a recorded body
    if (target[last] === value) throw new Error(`test/scenarios/amended.yaml: ${path} is recorded so for ${where}`);
    target[last] = value;
  }
}
