/**
 * The site of the documentation: the Markdown of this repository as it is, with a sidebar and a search that works in the
 * browser. Links to files that are no pages become plain text, since the site has no source code.
 */
import { existsSync, statSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { groups, pages, root, sitePath, titleOf } from "./pages.ts";

/** Returns the link of a page as the site has it; `undefined` for a file of the repository that is no page. */
function siteLink(page: string, link: string): string | undefined {
  const [path = "", hash] = link.split("#", 2);
  if (path === "") return link;
  const file = posix.join(dirname(page), path);
  const isFolder = existsSync(join(root, file)) && statSync(join(root, file)).isDirectory();
  const target = isFolder ? posix.join(file, "README.md") : file;
  // A page that is missing stays a link, for which the build fails.
  if (!pages.includes(target)) return existsSync(join(root, file)) ? undefined : link;
  const shown = posix.relative(dirname(sitePath(page)), sitePath(target));
  return `${shown.startsWith(".") ? shown : `./${shown}`}${hash === undefined ? "" : `#${hash}`}`;
}

/** Returns the file of a dependency of this folder. */
const ownModule = (name: string): string => fileURLToPath(import.meta.resolve(name));

/** The table of all requirements, in which nobody searches for words. */
const unsearched = "docs/requirements.md";

export default defineConfig({
  title: "Binnacle",
  description: "A Kubernetes-compatible API server in one process",
  lang: "en",
  srcDir: root,
  outDir: join(root, "website/dist"),
  cacheDir: join(root, "website/node_modules/.cache/vitepress"),
  srcExclude: ["website", "src", "test", "scripts", "bench", "packages", "packaging", "runtime"].map(
    (one) => `${one}/**`,
  ),
  rewrites: Object.fromEntries(
    pages.filter((page) => sitePath(page) !== page).map((page) => [page, sitePath(page)] as const),
  ),
  vite: {
    // The pages lie outside of this folder, so Vue is not found from them.
    resolve: {
      alias: [
        { find: /^vue$/, replacement: ownModule("vue/dist/vue.runtime.esm-bundler.js") },
        {
          find: /^vue\/server-renderer$/,
          replacement: ownModule("@vue/server-renderer/dist/server-renderer.esm-bundler.js"),
        },
      ],
    },
    // The settings of the program's own TypeScript are not those of the site.
    esbuild: { tsconfigRaw: "{}" },
  },
  markdown: {
    config(markdown) {
      markdown.core.ruler.push("links of the site", ({ tokens, env }) => {
        const { path = "", relativePath = "" } = env as { readonly path?: string; readonly relativePath?: string };
        const page = path.startsWith(root) ? path.slice(root.length) : relativePath;
        for (const { children } of tokens) {
          for (const [at, token] of (children ?? []).entries()) {
            const href = token.type === "link_open" ? String(token.attrGet("href")) : "";
            if (href === "" || /^[a-z]+:/.test(href)) continue;
            const link = siteLink(page, decodeURI(href));
            if (link !== undefined) token.attrSet("href", link);
            else {
              token.tag = "span";
              token.attrs = [];
              const end = children!.findIndex(({ type }, index) => index > at && type === "link_close");
              children![end]!.tag = "span";
            }
          }
        }
      });
    },
  },
  themeConfig: {
    sidebar: groups.map(({ title, pages: own }) => ({
      text: title,
      collapsed: title === "Decisions" || title === "Examples",
      items: own.map((page) => ({ text: titleOf(page), link: `/${sitePath(page).replace(/(index)?\.md$/, "")}` })),
    })),
    outline: [2, 3],
    search: {
      provider: "local",
      options: {
        _render: (text, env, markdown) => (env.relativePath === unsearched ? "" : markdown.render(text, env)),
      },
    },
  },
});
