/** The pages of the site and their order. Titles are the first headings of the pages. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the repository. */
export const root = fileURLToPath(new URL("../../", import.meta.url));

interface Group {
  readonly title: string;
  /** The Markdown files, as paths from the root. */
  readonly pages: readonly string[];
}

const inFolder = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `${folder}/${name}`);

/** The folders below `examples/` that have a page. */
const examples = (): readonly string[] =>
  readdirSync(join(root, "examples"))
    .sort()
    .map((name) => `examples/${name}/README.md`)
    .filter((file) => existsSync(join(root, file)));

export const groups: readonly Group[] = [
  {
    title: "Start",
    pages: ["README.md", "docs/install.md", "docs/from-a-cluster.md", "docs/testing.md", "docs/testing-operators.md"],
  },
  {
    title: "Use",
    pages: [
      "docs/commands.md",
      "docs/console.md",
      "docs/history.md",
      "docs/client.md",
      "docs/embedding.md",
      "docs/simulation.md",
      "docs/control-plane.md",
    ],
  },
  {
    title: "Operate",
    pages: [
      "docs/data.md",
      "docs/encryption.md",
      "docs/processes.md",
      "docs/planes.md",
      "docs/scale-out.md",
      "docs/performance.md",
      "docs/tracing.md",
      "docs/feature-gates.md",
    ],
  },
  { title: "Examples", pages: ["examples/README.md", ...examples()] },
  {
    title: "Project",
    pages: [
      "docs/compatibility.md",
      "docs/requirements.md",
      "ARCHITECTURE.md",
      "docs/subsystems.md",
      "docs/dependencies.md",
      "CONTRIBUTING.md",
      "SECURITY.md",
      "CHANGELOG.md",
    ],
  },
  { title: "Decisions", pages: inFolder("docs/decisions") },
];

/** All pages, in their order. */
export const pages: readonly string[] = groups.flatMap((group) => group.pages);

/** Returns the path of a page on the site: that of a folder is its README. */
export const sitePath = (page: string): string => page.replace(/(^|\/)README\.md$/, "$1index.md");

/** Returns the first heading of a page. */
export function titleOf(page: string): string {
  const [, title] = /^#\s+(.+)$/m.exec(readFileSync(join(root, page), "utf8")) ?? [];
  if (title === undefined) throw new Error(`${page} has no heading`);
  return title.replaceAll("`", "");
}
