import { useEffect, useState } from "react";

import { CopyButton } from "./copy_button";
import type { Piece } from "./highlight";

const MAX_CHARS = 20_000; // more is shown without colours
const REST_MS = 150; // code that grows gets its colours when it has rested
const MAX_KEPT = 200;
// Names of languages by what they are read as; a dialect by the grammar of its family.
const NAMES: Record<string, string> = {
  c: "c h cpp c++ cc hpp",
  csharp: "csharp cs c#",
  css: "css scss less",
  diff: "diff patch",
  docker: "docker dockerfile",
  go: "go golang",
  ini: "ini conf properties",
  java: "java",
  json: "json jsonc json5 jsonl ndjson",
  kotlin: "kotlin kt",
  markdown: "markdown md",
  powershell: "powershell ps1",
  python: "python py python3 pycon",
  rust: "rust rs",
  shellscript: "shellscript shell bash sh zsh console",
  sql: "sql postgres postgresql plpgsql mysql sqlite",
  toml: "toml",
  tsx: "tsx ts typescript jsx js javascript mjs",
  xml: "xml html svg vue xhtml",
  yaml: "yaml yml",
};
export const GRAMMARS = new Map(
  Object.entries(NAMES).flatMap(([grammar, names]) => names.split(" ").map((name) => [name, grammar] as const)),
);

interface Coloured {
  code: string;
  pieces: Piece[];
}

const kept = new Map<string, Coloured>(); // so that a block has its colours at once when it is scrolled back to

/** A block of code that can be copied. It is plain text until its colours are known, and where they cannot be. */
export function Code({ code, language }: { code: string; language: string }) {
  const coloured = useColoured(code, language);
  return (
    <div className="flex flex-col-reverse rounded bg-raised">
      <pre tabIndex={0} className="pt-1!">
        <code>{coloured && code.startsWith(coloured.code) ? <Pieces {...coloured} all={code} /> : code}</code>
      </pre>
      <CopyButton text={code} className="quiet-button self-end px-3 pt-1" />
    </div>
  );
}

function Pieces({ pieces, all }: Coloured & { all: string }) {
  const ends = pieces.map((piece) => piece.end);
  return (
    <>
      {pieces.map(({ end, color }, at) => {
        const text = all.slice(ends[at - 1] ?? 0, end);
        return color ? (
          <span key={end} style={{ color }}>
            {text}
          </span>
        ) : (
          text
        );
      })}
      {all.slice(ends.at(-1) ?? 0)}
    </>
  );
}

function useColoured(code: string, language: string): Coloured | null {
  const grammar = code.length <= MAX_CHARS ? GRAMMARS.get(language.toLowerCase()) : undefined;
  const key = `${grammar} ${code}`;
  const [coloured, setColoured] = useState<Coloured | null>(() => kept.get(key) ?? null);
  const isFirst = coloured === null;
  useEffect(() => {
    if (!grammar || kept.has(key)) return setColoured(kept.get(key) ?? null);
    let isGone = false;
    const colour = async () => {
      const { highlight } = await import("./highlight");
      if (isGone) return;
      const found = { code, pieces: await highlight(code, grammar) };
      keep(key, found);
      if (!isGone) setColoured(found);
    };
    const timer = setTimeout(() => void colour().catch(() => undefined), isFirst ? 0 : REST_MS);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [code, grammar, key, isFirst]);
  return coloured;
}

function keep(key: string, coloured: Coloured) {
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!);
  kept.set(key, coloured);
}
