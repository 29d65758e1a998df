/**
 * Ends the process of a test file that goes on after its tests, as it does when a test that timed out opens servers
 * later. Every process of `run-tests.ts` imports it.
 */
import { after } from "node:test";

const lingerMs = 120_000;

after(() => {
  const end = (): never => {
    const open = process.getActiveResourcesInfo().join(", ");
    process.stderr.write(
      `The process is ended ${lingerMs / 1000} s after its last test, with these resources: ${open}.\n`,
    );
    process.exit(1);
  };
  setTimeout(end, lingerMs).unref();
});
