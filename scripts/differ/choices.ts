/** Random choices for the cases of all comparisons. */
import type { Random } from "#std/random.ts";

/** Returns a member of a list that is not empty. */
export const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!; // not empty

/** Returns true with the probability `share`. */
export const chance = (random: Random, share: number): boolean => random.next() < share;

/** Returns a whole number from 0 to `max`. */
export const upTo = (random: Random, max: number): number => Math.floor(random.next() * (max + 1));

/** Returns the members of a list that are chosen with this probability. */
export const some = <T>(random: Random, share: number, from: readonly T[]): T[] =>
  from.filter(() => chance(random, share));

/** Returns the fields with this probability, else no field. */
export const maybe = <T extends object>(random: Random, share: number, fields: (random: Random) => T): Partial<T> =>
  chance(random, share) ? fields(random) : {};

/** Returns a list of at most `max` members. */
export const many = <T>(random: Random, max: number, make: (at: number) => T): T[] =>
  Array.from({ length: upTo(random, max) }, (_, at) => make(at));
