/** The users for whom connections, streams and bodies are counted. Users of the same name in two planes are two. */

/** A user and its plane. */
export interface Owner {
  /** The name by which bounds know the user. */
  readonly account: string;
  /** The beginning of paths that names the plane; empty outside of planes. */
  readonly plane: string;
}

/** Returns the owner of what a user takes. `plane` is the beginning of paths that names a plane; empty outside of planes. */
export const ownerOf = (user: string, plane: string): Owner => ({ account: `${plane}\0${user}`, plane });

/** The maximum number of connections of one user, and of all users of one plane together. */
export interface OwnerLimits {
  readonly connectionsPerUser: number;
  /** A user of a plane has half of it at most. */
  readonly connectionsPerPlane: number;
}

/** The limit that a connection exceeds once its user is known. */
export type OwnerBound = "user" | "plane";
