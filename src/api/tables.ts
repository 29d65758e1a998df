/**
 * The tables of built-in kinds, read from files when they are needed: as texts of modules they would stay in memory
 * twice.
 */
import { readFileSync } from "node:fs";

/**
 * Returns the table of `tables/` with this name as JSON text. The bundle has these files beside its own
 * (`scripts/build.ts`).
 */
export const readTable = (name: string): string =>
  readFileSync(new URL(`tables/${name}.json`, import.meta.url), "utf8");
