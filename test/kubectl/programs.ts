/**
 * Finds the released kubectl programs of the machine: `kubectl`, `kubectl.1.27` and so on, in the folders of the PATH and
 * in those to which links there lead.
 */
import { readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";

/** Returns the paths of the programs by name, each program once. */
export function findPrograms(): Map<string, string> {
  const paths = new Map<string, string>();
  const look = (folder: string): void => {
    let names: string[] = [];
    try {
      names = readdirSync(folder).filter((name) => /^kubectl(\.\d+\.\d+)?(\.exe)?$/.test(name));
    } catch {
      // A folder of the PATH may not exist.
    }
    for (const name of names) if (!paths.has(name)) paths.set(name, join(folder, name));
  };
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) if (folder !== "") look(folder);
  const onPath = Array.from(paths.values());
  for (const path of onPath) look(dirname(realpathSync(path)));
  return new Map([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}
