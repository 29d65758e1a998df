/**
 * Notes in the log that say who deleted an object. An object that first gets a deletion mark is removed by somebody else,
 * later: the one who asked for it is remembered until then, in memory and only for some thousand objects.
 */
import { ManagerNames } from "#apply/managed-fields.ts";
import { agentNameMax, type DeletionNote } from "#meta/deletion-note.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";

/** The author of a request, if there is one. */
export type Author = Partial<Pick<RequestContext, "user" | "userAgent">>;

const marksMax = 4096;

export class DeletionNotes {
  readonly #managers = new ManagerNames();
  /** The notes about marked objects, by uid, the oldest first. */
  readonly #marks = new Map<string, DeletionNote>();

  /** Remembers who asked for the deletion of an object that stays for a while. */
  marked({ metadata: { uid, deletionTimestamp } }: Unstructured, author: Author | undefined): void {
    const note = this.#noteOf(author);
    if (uid === undefined || note === undefined || deletionTimestamp !== undefined) return;
    if (this.#marks.size >= marksMax) for (const oldest of this.#marks.keys()) if (this.#marks.delete(oldest)) break;
    this.#marks.set(uid, note);
  }

  /** Returns the note of the removal of an object, which `old` is before. */
  removed({ metadata: { uid = "", deletionTimestamp } }: Unstructured, author: Author | undefined): string | undefined {
    const note = this.#noteOf(author);
    if (deletionTimestamp === undefined) return note && JSON.stringify(note);
    // A controller that removes an object in the end has not asked for it.
    const known = this.#marks.get(uid) ?? (note && { endedBy: note });
    return known && JSON.stringify(known);
  }

  #noteOf(author: Author | undefined): DeletionNote | undefined {
    if (author?.user === undefined) return undefined;
    const manager = this.#managers.of("", author.userAgent ?? "");
    return { user: author.user.name.slice(0, agentNameMax), manager };
  }
}
