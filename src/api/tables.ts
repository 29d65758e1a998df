/** The tables of built-in kinds, read from their files when they are needed: as text of modules they would stay in memory twice. */
import { readFileSync } from "node:fs";

/** The table of `tables/` with this name, as JSON. The bundle has the files beside its own (`scripts/build.ts`). */
export const readTable = (name: string): string =>
  readFileSync(new URL(`tables/${name}.json`, import.meta.url), "utf8");
