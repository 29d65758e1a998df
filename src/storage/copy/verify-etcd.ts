/** Reads a whole etcd as `verify.ts` reads a folder. Servers may go on meanwhile. */
import type { Verification } from "../verify.ts";
import type { EtcdKeyspace } from "./etcd-keyspace.ts";

/** Returns the verification of an etcd as it is now. */
export async function verificationOf(side: EtcdKeyspace): Promise<Verification> {
  const { revision } = await side.present();
  return {
    form: side.form,
    async read(visit, report) {
      let keys = 0;
      const { entries } = await side.range({ key: side.keys.copy });
      if (entries.length > 0)
        report({ key: "", revision: 0, problem: "a copy into it is not complete: run binnacle copy again" });
      const leftOut = await side.read(revision, async (entry) => {
        keys++;
        const { key, value, unreadable } = entry;
        if (unreadable === undefined) await visit({ key, revision: entry.revision, value, expiresAt: 0 });
        else report({ key, revision: entry.revision, problem: `cannot be read: ${unreadable}` });
      });
      return { revision, floor: revision, keys, rows: keys + leftOut };
    },
    close: () => undefined,
  };
}
