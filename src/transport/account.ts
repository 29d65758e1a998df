/** The name by which bounds of connections and bodies know a user. Users of the same name in two planes are two. */

/** Returns the account of a user. `plane` is the beginning of paths that names a plane; empty outside of planes. */
export const accountOf = (user: string, plane: string): string => `${plane}\0${user}`;
