/** The note in the log about a deletion: the user who asked for it, and the program. */
import { isObject } from "#std/is-object.ts";

/** The parts of a note; all may be unknown. */
export interface DeletionNote {
  readonly user?: string;
  readonly manager?: string;
  /** The user and the program that removed the object, if it is not known who had asked for that before. */
  readonly endedBy?: { readonly user?: string; readonly manager?: string };
}

/** The maximum length of a name in a note. */
export const agentNameMax = 256;

/** Reads a note. A text of another form says nothing. */
export function parseDeletionNote(text: string | undefined): DeletionNote {
  if (text === undefined) return {};
  let note: unknown;
  try {
    note = JSON.parse(text);
  } catch {
    return {};
  }
  if (!isObject(note)) return {};
  const { endedBy } = note;
  return { ...namesOf(note), ...(isObject(endedBy) ? { endedBy: namesOf(endedBy) } : {}) };
}

function namesOf({ user, manager }: Readonly<Record<string, unknown>>): Pick<DeletionNote, "user" | "manager"> {
  return {
    ...(typeof user === "string" ? { user } : {}),
    ...(typeof manager === "string" ? { manager } : {}),
  };
}
