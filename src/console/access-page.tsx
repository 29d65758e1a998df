/** Access: why somebody may do something or may not, what would allow it, who can, and the cluster as another user sees it. */
import { type Signal, useSignal } from "@preact/signals";
import { type AccessExplanation, actionWords, explainAccess, wouldAllow } from "#authz/access-explanation.ts";
import { bindingText, roleText, ruleWords } from "#authz/grants.ts";
import { ruleResource } from "#authz/rules.ts";
import { shortfallWords } from "#authz/shortfall.ts";
import { FieldOwners } from "#meta/field-owners.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { attributesOf, decide, type Holder, holdersOf, type AccessQuestion, readGrants, rolesGroup } from "./access.ts";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { resourceName } from "./kinds.ts";
import { plainText, Text } from "./text.tsx";
import { Holders } from "./who-tab.tsx";
import { yamlLines, yamlText } from "./yaml-lines.ts";

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];

/** The fields of the form. */
interface Asked {
  readonly verb: string;
  readonly what: string;
  readonly subresource: string;
  readonly name: string;
  readonly user: string;
  readonly groups: string;
}

interface Found {
  readonly sentence: string;
  readonly isAllowed: boolean;
  readonly reason: string;
  readonly explanation: AccessExplanation | undefined;
  /** The reason for which roles could not be read. */
  readonly unread: string;
  readonly lacking: readonly string[];
  readonly suggestion: readonly Unstructured[];
  readonly holders: readonly Holder[];
}

export function AccessPage({ app }: { readonly app: App }) {
  const asked = useSignal<Asked>({ verb: "get", what: "pods", subresource: "", name: "", user: "", groups: "" });
  const found = useSignal<Found | undefined>(undefined);
  const problem = useSignal("");
  const ask = async (): Promise<void> => {
    problem.value = "";
    try {
      found.value = await answer(app, asked.value);
    } catch (error) {
      found.value = undefined;
      problem.value = failureText(error);
    }
  };
  return (
    <>
      <h1>Access</h1>
      <form class="form" onSubmit={(event) => (event.preventDefault(), void ask())}>
        <Fields app={app} asked={asked} />
        <button type="submit" class="main">
          Why?
        </button>
        <SeeAs app={app} asked={asked} />
      </form>
      {problem.value !== "" && (
        <p role="alert" class="problem">
          <Text of={problem.value} />
        </p>
      )}
      {found.value !== undefined && <Explanation found={found.value} />}
    </>
  );
}

function Fields({ app, asked }: { readonly app: App; readonly asked: Signal<Asked> }) {
  const set = (changes: Partial<Asked>): void => {
    asked.value = { ...asked.value, ...changes };
  };
  const { verb, what, subresource, name, user, groups } = asked.value;
  const field = (label: string, value: string, hint: string, key: keyof Asked, list?: string) => (
    <label>
      {label}
      <input
        value={value}
        placeholder={hint}
        list={list}
        spellcheck={false}
        onInput={(event) => set({ [key]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <>
      {field("Verb", verb, "get", "verb", "verbs")}
      {field("Kind or /path", what, "pods or /metrics", "what", "resources")}
      {field("Subresource", subresource, "log", "subresource")}
      {field("Name", name, "any", "name")}
      {field("User", user, "you", "user")}
      {field("Groups", groups, "dev, ops", "groups")}
      <datalist id="verbs">
        {verbs.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <datalist id="resources">
        {app.kinds.value.map((kind) => (
          <option key={resourceName(kind)} value={resourceName(kind)} />
        ))}
      </datalist>
    </>
  );
}

const groupsOf = (text: string): readonly string[] =>
  text
    .split(",")
    .map((group) => group.trim())
    .filter((group) => group !== "");

/** Looks at the cluster as the user of the form, which takes the right to impersonate that user. */
function SeeAs({ app, asked }: { readonly app: App; readonly asked: Signal<Asked> }) {
  const { user, groups } = asked.value;
  const all = groupsOf(groups);
  // A browser joins headers of one name, and a server takes the result for one group.
  const isTooMany = all.length > 1 && app.api.access.kind !== "code";
  return (
    <button
      type="button"
      disabled={user.trim() === "" || isTooMany}
      title={isTooMany ? "On the server's own port a browser can name one group only: use binnacle console" : undefined}
      onClick={() => (app.api.seenAs.value = { user: user.trim(), groups: all })}
    >
      See the cluster as this user
    </button>
  );
}

async function answer(app: App, asked: Asked): Promise<Found> {
  const { verb, subresource, name, user, groups } = asked;
  const what = asked.what.trim();
  const kind = app.kinds.value.find((one) => resourceName(one) === what || one.resource === what);
  if (kind === undefined && !what.startsWith("/")) throw new Error(`the server has no kind ${JSON.stringify(what)}`);
  const question: AccessQuestion = {
    verb: verb.trim(),
    kind,
    subresource,
    name,
    namespace: app.namespace.value,
    path: what,
  };
  const { attributes, isAllowed, reason } = await decide(app.api, question, user.trim(), groupsOf(groups));
  const who = attributes.user.name === "" ? "You" : JSON.stringify(attributes.user.name);
  const sentence = `${who} may ${isAllowed ? "" : "not "}${actionWords(attributes)}.`;
  const rest = { sentence, isAllowed, reason };
  try {
    const grants = await readGrants(app, attributes.namespace);
    const explanation = explainAccess(grants, attributes, isAllowed);
    const resource = ruleResource(attributes);
    const lacking = explanation.nearest.map(({ lacks }) =>
      shortfallWords(lacks, attributes, resource).join(" and the "),
    );
    const suggestion = isAllowed ? [] : wouldAllow(attributes, rolesGroup(app));
    const holders = holdersOf(grants, attributesOf(question, attributes.user));
    return { ...rest, explanation, lacking, suggestion, holders, unread: "" };
  } catch (error) {
    return { ...rest, explanation: undefined, lacking: [], suggestion: [], holders: [], unread: failureText(error) };
  }
}

function Explanation({ found }: { readonly found: Found }) {
  const { sentence, isAllowed, reason, explanation, unread, lacking, suggestion, holders } = found;
  const { allowing = [], nearest = [], dangling = [] } = explanation ?? {};
  return (
    <section aria-label="Answer">
      <p role="status">
        <b class={isAllowed ? "event created" : "event deleted"}>{plainText(sentence)}</b>
      </p>
      {reason !== "" && <p class="dim">The server: {plainText(reason)}</p>}
      {unread !== "" && <p class="problem">Roles explain it, and they could not all be read: {plainText(unread)}</p>}
      <ul>
        {allowing.map(({ grant, rule }) => (
          <li key={`${bindingText(grant)} ${ruleWords(rule.rule)}`}>
            {plainText(`${bindingText(grant)} gives ${roleText(grant)}, which allows: ${ruleWords(rule.rule)}`)}
          </li>
        ))}
        {nearest.map(({ grant, rule }, at) => (
          <li key={`near ${at}`}>
            {plainText(
              `Near: ${bindingText(grant)} gives ${roleText(grant)}: ${ruleWords(rule.rule)}. It lacks the ${lacking[at]}.`,
            )}
          </li>
        ))}
        {dangling.map((grant) => (
          <li key={bindingText(grant)}>
            {plainText(`${bindingText(grant)} names ${roleText(grant)}, which does not exist.`)}
          </li>
        ))}
      </ul>
      {suggestion.length > 0 && (
        <>
          <h2>These objects would allow it</h2>
          <pre tabIndex={0} role="region" aria-label="Objects">
            {suggestion.map((object) => `---\n${yamlText(yamlLines(object, FieldOwners.of([])))}`).join("")}
          </pre>
        </>
      )}
      {explanation !== undefined && <h2>Who can</h2>}
      {explanation !== undefined && <Holders holders={holders} />}
    </section>
  );
}
