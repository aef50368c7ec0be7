import { findAndReplace } from "mdast-util-find-and-replace";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { createContext, memo, type ReactNode, useContext, useId, useState } from "react";
import ReactMarkdown, { type Components, type ExtraProps } from "react-markdown";

import { say } from "../texts";
import { Code } from "./code";
import { visible } from "./visible";

const MAX_CHARS = 100_000; // of Markdown; the rest is shown as plain text
const MAX_NESTING = 40; // levels of quotes and lists in one line
const PLUGINS = [remarkTables];
const PLUGINS_OF_ANSWERS = [remarkTables, remarkMarks];
const LINK = /^(https?:|mailto:)/i;
const MARK = /\[(\d{1,3})\]/g;

interface Props {
  text: string;
  onMark?: (number: number) => void;
  wordsOf?: (number: number) => ReactNode; // what a citation shows in place: phrases, no blocks
}

const Citations = createContext<Pick<Props, "onMark" | "wordsOf">>({});
// The same ones at each rendering: elements stay while a text grows, and with them the focus.
const COMPONENTS: Components = {
  a: ({ href, children }) =>
    href && LINK.test(href) ? (
      <a href={href} target="_blank" rel="noreferrer noopener nofollow">
        {children}
      </a>
    ) : (
      children
    ),
  cite: ({ children }) => <Mark number={Number(String(children).slice(1, -1))} />,
  img: ({ src, alt }) =>
    typeof src === "string" && LINK.test(src) ? (
      <a href={src} target="_blank" rel="noreferrer noopener nofollow">
        {alt || src}
      </a>
    ) : (
      alt
    ),
  input: ({ checked }) => (
    <input type="checkbox" disabled checked={checked} readOnly aria-label={say(checked ? "chat.done" : "chat.toDo")} />
  ),
  pre: ({ node }) => <Code code={codeOf(node)} language={languageOf(node)} />,
};

/**
 * Markdown without raw HTML: tags are text, images are links, links lead to the web or to mail only.
 * With `onMark`, citations [n] are buttons; in code and in links they are what was written.
 */
export const Markdown = memo(function Markdown({ text, onMark, wordsOf }: Props) {
  const shown = visible(text);
  if (isBomb(shown)) return <pre className="whitespace-pre-wrap">{shown}</pre>;
  return (
    <div className="prose">
      <Citations value={{ onMark, wordsOf }}>
        <ReactMarkdown
          remarkPlugins={onMark ? PLUGINS_OF_ANSWERS : PLUGINS}
          components={COMPONENTS}
          urlTransform={(url) => url}
        >
          {shown.slice(0, MAX_CHARS)}
        </ReactMarkdown>
      </Citations>
      {shown.length > MAX_CHARS && <pre className="whitespace-pre-wrap">{shown.slice(MAX_CHARS)}</pre>}
    </div>
  );
});

/** A citation; while it is pointed at or has the focus, which a tap gives it, its words stand above it. */
function Mark({ number }: { number: number }) {
  const { onMark, wordsOf } = useContext(Citations);
  const [isShown, setShown] = useState(false);
  const id = useId();
  const show = () => setShown(true);
  const hide = () => setShown(false);
  return (
    <span className="relative" onMouseEnter={show} onMouseLeave={hide}>
      <button
        type="button"
        className="align-super text-small text-accent underline"
        aria-describedby={isShown && wordsOf ? id : undefined}
        onFocus={show}
        onBlur={hide}
        onKeyDown={(event) => event.key === "Escape" && hide()}
        onClick={() => onMark?.(number)}
      >
        [{number}]
      </button>
      {isShown && wordsOf && (
        <span
          id={id}
          role="tooltip"
          className="absolute bottom-full left-0 z-10 w-72 max-w-[70vw] rounded border border-line bg-page p-2 text-small shadow-lg"
        >
          {wordsOf(number)}
        </span>
      )}
    </span>
  );
}

/** Reads tables, task lists and links without brackets: remark-gfm, without what writes Markdown. */
function remarkTables(this: { data: () => object }) {
  const data: { micromarkExtensions?: unknown[]; fromMarkdownExtensions?: unknown[] } = this.data();
  data.micromarkExtensions = [...(data.micromarkExtensions ?? []), gfm()];
  data.fromMarkdownExtensions = [...(data.fromMarkdownExtensions ?? []), gfmFromMarkdown()];
}

/** Makes the citations [n] of plain text elements of their own. Code is no text, and a link is not looked into. */
function remarkMarks() {
  return (tree: Parameters<typeof findAndReplace>[0]) => {
    findAndReplace(
      tree,
      [
        MARK,
        (mark: string) => ({ type: "emphasis", data: { hName: "cite" }, children: [{ type: "text", value: mark }] }),
      ],
      { ignore: ["link", "linkReference"] },
    );
  };
}

function codeOf(block: ExtraProps["node"]): string {
  const code = block?.children[0];
  return code?.type === "element" ? code.children.map((one) => (one.type === "text" ? one.value : "")).join("") : "";
}

function languageOf(block: ExtraProps["node"]): string {
  const code = block?.children[0];
  const [name] = code?.type === "element" && Array.isArray(code.properties.className) ? code.properties.className : [];
  return String(name ?? "").replace(/^language-/, "");
}

function isBomb(text: string): boolean {
  return text.split("\n").some((line) => {
    const opening = /^[>\s*+-]*/.exec(line)![0].replace(/\s/g, "");
    return opening.length > MAX_NESTING || count(line, "[") > 500 || count(line, "*") > 2000 || count(line, "_") > 2000;
  });
}

function count(line: string, letter: string): number {
  let found = 0;
  for (const one of line) if (one === letter) found += 1;
  return found;
}
