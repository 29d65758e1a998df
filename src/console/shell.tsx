/** The frame of all pages: what is above and beside them, and which one is shown. */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { type ServedKind, resourceName } from "./kinds.ts";
import { KindPage } from "./kind-page.tsx";
import { ProviderButton } from "./provider-button.tsx";
import { asPart, hrefOf } from "./routes.ts";
import { checked } from "./sign-in.tsx";
import { plainText } from "./text.tsx";
import { Warnings } from "./warnings.tsx";

interface PageProps {
  readonly app: App;
}

type Page = ComponentType<PageProps>;

/** The pages that are loaded when somebody goes there. */
const pages: Readonly<Record<string, () => Promise<Page>>> = {
  "": async () => (await import("./overview-page.tsx")).OverviewPage,
  changes: async () => (await import("./changes-page.tsx")).ChangesPage,
  access: async () => (await import("./access-page.tsx")).AccessPage,
  definitions: async () => (await import("./definitions-page.tsx")).DefinitionsPage,
  policies: async () => (await import("./policies-page.tsx")).PoliciesPage,
  explorer: async () => (await import("./explorer-page.tsx")).ExplorerPage,
  new: async () => (await import("./new-page.tsx")).NewPage,
  object: async () => (await import("./object-page.tsx")).ObjectPage,
};

const links: readonly (readonly [page: string, title: string])[] = [
  ["", "Overview"],
  ["changes", "Changes"],
  ["access", "Access"],
  ["definitions", "Definitions"],
  ["policies", "Webhooks and policies"],
  ["explorer", "API explorer"],
];

export function Shell({ app }: PageProps) {
  const { seenAs, isSignedOut } = app.api;
  const main = useRef<HTMLElement>(null);
  const { page, parts } = app.route.value;
  const location = `${page}/${parts.join("/")}`;
  // A page that appears gets the focus, so that the keyboard and screen readers go on there.
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [location]);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <header>
        <a class="home" href={hrefOf("")}>
          Binnacle
        </a>
        <span class="cluster">{plainText(app.api.access.cluster)}</span>
        <NamespaceField app={app} />
        {seenAs.value !== undefined && (
          <span class="seen-as" role="status">
            seen as <b>{plainText(seenAs.value.user)}</b>
            <button type="button" class="small" onClick={() => (seenAs.value = undefined)}>
              stop
            </button>
          </span>
        )}
        <button type="button" onClick={() => app.signOut()}>
          Sign out
        </button>
      </header>
      <Navigation app={app} />
      <main ref={main} tabIndex={-1} id="main">
        {isSignedOut.value && <SignedOut app={app} />}
        <Warnings app={app} />
        <CurrentPage key={`${location} ${seenAs.value?.user}`} app={app} />
      </main>
    </>
  );
}

/** Says that the sign-in has ended. At an identity provider one signs in again beside the page, which stays. */
function SignedOut({ app }: PageProps) {
  const { provided } = app.api.access;
  const hasExpired = provided !== undefined && provided.expiresMs <= Date.now();
  return (
    <div role="alert" class="notice">
      {hasExpired ? "Your sign-in has expired." : "The server no longer takes this sign-in."}{" "}
      {provided === undefined ? (
        <button type="button" onClick={() => app.signOut()}>
          Sign in again
        </button>
      ) : (
        <ProviderButton
          provider={provided.provider}
          label="Sign in again"
          onSignIn={async (access) => app.renew(await checked(access))}
        />
      )}
    </div>
  );
}

function CurrentPage({ app }: PageProps) {
  const { page } = app.route.value;
  const loaded = useSignal<{ readonly Page: Page } | undefined>(undefined);
  const problem = useSignal("");
  useEffect(() => {
    pages[page]?.().then(
      (Page) => (loaded.value = { Page }),
      (error: unknown) => (problem.value = failureText(error)),
    );
  }, [page]);
  if (page === "kind") return <KindPage app={app} />;
  if (!Object.hasOwn(pages, page)) return <h1>There is no such page</h1>;
  if (problem.value !== "") return <p role="alert">This part of the console could not be loaded: {problem.value}</p>;
  const Page = loaded.value?.Page;
  return Page === undefined ? <p class="dim">Loading …</p> : <Page app={app} />;
}

function Navigation({ app }: PageProps) {
  const wanted = useSignal("");
  const { page, parts } = app.route.value;
  const word = wanted.value.trim().toLowerCase();
  const fits = (kind: ServedKind): boolean =>
    word === "" ||
    resourceName(kind).includes(word) ||
    kind.kind.toLowerCase().includes(word) ||
    kind.shortNames.includes(word);
  const kinds = app.kinds.value.filter(fits);
  return (
    <nav aria-label="Pages">
      <ul>
        {links.map(([name, title]) => (
          <li key={name}>
            <a href={hrefOf(name)} aria-current={page === name ? "page" : undefined}>
              {title}
            </a>
          </li>
        ))}
      </ul>
      <label for="kinds">Kinds</label>
      <input
        id="kinds"
        type="search"
        placeholder="Filter"
        value={wanted.value}
        onInput={(event) => (wanted.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          const [first] = kinds;
          if (event.key === "Enter" && first !== undefined) location.hash = kindHref(first, app.namespace.value);
        }}
      />
      <ul class="kinds">
        {kinds.map((kind) => {
          const isShown = parts[0] === asPart(kind.group) && parts[2] === kind.resource;
          return (
            <li key={resourceName(kind)}>
              <a href={kindHref(kind, app.namespace.value)} aria-current={isShown ? "page" : undefined}>
                {plainText(kind.kind)} <span class="dim">{plainText(kind.group)}</span>
              </a>
            </li>
          );
        })}
      </ul>
      {app.missing.value.length > 0 && <p class="problem">Not asked: {app.missing.value.map(plainText).join(", ")}</p>}
    </nav>
  );
}

const kindHref = ({ group, version, resource, namespaced }: ServedKind, namespace: string): string =>
  hrefOf("kind", [asPart(group), version, resource], namespaced ? { ns: namespace } : {});

interface NamespaceList {
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
}

function NamespaceField({ app }: PageProps) {
  const names = useSignal<readonly string[]>([]);
  const read = async (): Promise<void> => {
    try {
      const { items = [] } = await app.api.json<NamespaceList>({
        path: "/api/v1/namespaces?limit=500",
        accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
      });
      names.value = items.map(({ metadata }) => metadata.name);
    } catch {
      // Users who may not list namespaces type their names.
    }
  };
  return (
    <span class="namespace">
      <label for="namespace">Namespace</label>
      <input
        id="namespace"
        list="namespaces"
        placeholder="all"
        value={app.namespace.value}
        onFocus={() => void read()}
        onChange={(event) => app.setNamespace(event.currentTarget.value.trim())}
      />
      <datalist id="namespaces">
        {names.value.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </span>
  );
}
