/** Links the user's own `kubectl` into the folder of envtest, whose suites expect it beside the two servers. */
import { accessSync, constants, lstatSync, rmSync, statSync, symlinkSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

/**
 * Makes `kubectl` in the folder a link to the first one on the search path outside the folder. A program in the folder
 * that is not a link stays. Returns a message for the user if there is no kubectl.
 */
export function linkKubectl(folder: string, searchPath: string | undefined): string | undefined {
  const link = join(folder, "kubectl");
  const existing = lstatSync(link, { throwIfNoEntry: false });
  if (existing !== undefined && !existing.isSymbolicLink()) return undefined;
  const program = (searchPath ?? "")
    .split(delimiter)
    .filter((entry) => entry !== "" && resolve(entry) !== folder)
    .map((entry) => resolve(entry, "kubectl"))
    .find(isProgram);
  if (program !== undefined) {
    rmSync(link, { force: true });
    symlinkSync(program, link);
    return undefined;
  }
  if (isProgram(link)) return undefined;
  return `there is no kubectl on PATH, and so none in ${folder}: suites that run kubectl will not find it`;
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
