/**
 * Reads the kubeconfig named by its argument, and prints the credential of its context as a line of JSON, or the
 * error's message. For tests that need a process of their own, with a terminal or without one.
 */
import { loadKubeconfig, settingsOf } from "#client/kubeconfig.ts";

try {
  const { credentials } = await settingsOf(await loadKubeconfig({ files: process.argv[2] }));
  process.stdout.write(`credential ${JSON.stringify(await credentials.current())}\n`);
} catch (error) {
  process.stdout.write(`error ${(error as Error).message}\n`);
}
