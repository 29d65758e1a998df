/** Bundles the types of a package: a file for each entry, and one for what they share. */
import { join } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { root } from "./steps.ts";

interface TypeBundle {
  /** The entries: the source file of each name. */
  readonly input: Readonly<Record<string, string>>;
  /** The folder in which a file is written for each entry, with the name of the entry. */
  readonly target: string;
  /** Whether an import is left to the package that it names. */
  readonly isOutside: (id: string) => boolean;
  readonly plugins: readonly Plugin[];
}

/** Drops what the plugin tells at each run: its way to use this compiler is to be replaced by that of the next one. */
const quiet = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Writes the types. Rejects when the source has errors that keep them from being written. */
export async function bundleTypes({ input, target, isOutside, plugins }: TypeBundle): Promise<void> {
  const { dts } = await loadTypesPlugin();
  const types = await rolldown({
    cwd: root,
    input,
    platform: "node",
    external: isOutside,
    logLevel: "silent",
    plugins: [...plugins, dts({ dtsOnly: true, tsconfig: join(root, "tsconfig.json"), logger: quiet })],
  });
  await types.write({
    dir: target,
    format: "esm",
    chunkFileNames: "types/[name].d.ts",
    codeSplitting: { groups: [{ name: "shared", test: /./ }] },
  });
  await types.close();
}

/** The plugin that bundles types. It is loaded only for them, since it loads a compiler. */
interface TypesPlugin {
  dts(options: { readonly dtsOnly: boolean; readonly tsconfig: string; readonly logger: typeof quiet }): Plugin[];
}

async function loadTypesPlugin(): Promise<TypesPlugin> {
  const name: string = "rolldown-plugin-dts";
  return (await import(name)) as TypesPlugin; // the part of its interface that is used here
}
