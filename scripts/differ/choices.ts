/** Random choices, of which the cases of all comparisons are made. */
import type { Random } from "#std/random.ts";

/** One of a list that is not empty. */
export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!; // not empty

/** True for this share of all calls. */
export const chance = (random: Random, share: number): boolean => random.next() < share;

/** A whole number from 0 to `max`. */
export const upTo = (random: Random, max: number): number => Math.floor(random.next() * (max + 1));

/** Each of a list, with this chance. */
export const some = <T>(random: Random, share: number, from: readonly T[]): T[] =>
  from.filter(() => chance(random, share));

/** The fields, with this chance; otherwise none. */
export const maybe = <T extends object>(random: Random, share: number, fields: (random: Random) => T): Partial<T> =>
  chance(random, share) ? fields(random) : {};

/** A list of at most `max`. */
export const many = <T>(random: Random, max: number, make: (at: number) => T): T[] =>
  Array.from({ length: upTo(random, max) }, (_, at) => make(at));
