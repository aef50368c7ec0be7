// Which colour each piece of a program has. Grammars are read by the regular expressions of the browser, since the page
// may run no WebAssembly; this module and each grammar come when the first code of their kind is shown.

import { createCssVariablesTheme, createHighlighterCore, type HighlighterCore, type LanguageInput } from "shiki/core";
import { createJavaScriptRegexEngine } from "shiki/engine/javascript";

/** A piece of code that ends before `end`, with the CSS value of its colour; null is that of the text. */
export interface Piece {
  end: number;
  color: string | null;
}

const MAX_LINE_CHARS = 1000; // a longer line has no colours
const MAX_LINE_MS = 2000; // the first line compiles the expressions of its grammar, too
const TEXT = "var(--code-foreground)";
const GRAMMARS: Record<string, () => Promise<{ default: LanguageInput }>> = {
  c: () => import("shiki/langs/c.mjs"),
  csharp: () => import("shiki/langs/csharp.mjs"),
  css: () => import("shiki/langs/css.mjs"),
  diff: () => import("shiki/langs/diff.mjs"),
  docker: () => import("shiki/langs/docker.mjs"),
  go: () => import("shiki/langs/go.mjs"),
  ini: () => import("shiki/langs/ini.mjs"),
  java: () => import("shiki/langs/java.mjs"),
  json: () => import("shiki/langs/json.mjs"),
  kotlin: () => import("shiki/langs/kotlin.mjs"),
  markdown: () => import("shiki/langs/markdown.mjs"),
  powershell: () => import("shiki/langs/powershell.mjs"),
  python: () => import("shiki/langs/python.mjs"),
  rust: () => import("shiki/langs/rust.mjs"),
  shellscript: () => import("shiki/langs/shellscript.mjs"),
  sql: () => import("shiki/langs/sql.mjs"),
  toml: () => import("shiki/langs/toml.mjs"),
  tsx: () => import("shiki/langs/tsx.mjs"),
  xml: () => import("shiki/langs/xml.mjs"),
  yaml: () => import("shiki/langs/yaml.mjs"),
};

let highlighter: Promise<HighlighterCore> | undefined;

/** The pieces of a program, in order; text that no piece covers has the colour of the text. */
export async function highlight(code: string, grammar: string): Promise<Piece[]> {
  highlighter ??= createHighlighterCore({
    themes: [createCssVariablesTheme({ name: "page", variablePrefix: "--code-" })],
    langs: [],
    engine: createJavaScriptRegexEngine({ forgiving: true }),
  });
  const ready = await highlighter;
  if (!ready.getLoadedLanguages().includes(grammar)) await ready.loadLanguage((await GRAMMARS[grammar]!()).default);
  const lines = ready.codeToTokensBase(code, {
    lang: grammar,
    theme: "page",
    tokenizeMaxLineLength: MAX_LINE_CHARS,
    tokenizeTimeLimit: MAX_LINE_MS,
  });
  const pieces: Piece[] = [];
  for (const { offset, content, color } of lines.flat()) {
    const own = !color || color === TEXT || !content.trim() ? null : color;
    const last = pieces.at(-1);
    if (last && last.color === own) last.end = offset + content.length;
    else pieces.push({ end: offset + content.length, color: own });
  }
  return pieces;
}
