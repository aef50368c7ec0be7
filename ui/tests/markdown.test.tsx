// Answers as they are shown: citations are buttons, and code is what was written.

import { cleanup, fireEvent, render, waitFor } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { Markdown } from "../src/parts/markdown";

afterEach(cleanup);

function show(text: string) {
  const onMark = vi.fn();
  const { container } = render(<Markdown text={text} onMark={onMark} />);
  const marks = () => [...container.querySelectorAll("button.align-super")].map((one) => one.textContent);
  return { container, onMark, marks };
}

test.each([
  ["`list[0]` is the first", "list[0] is the first"],
  ["```python\nprint(list[0], rows[12][3])\n```", "print(list[0], rows[12][3])\nCopy"],
  ["    indented[1]", "indented[1]\nCopy"],
  ["[see list[0]](https://example.org/a[1])", "see list[0]"],
  ["[page [2]](https://example.org)", "page [2]"],
  ["<https://example.org/[1]>", "https://example.org/[1]"],
])("no citation is made of %j", (text, shown) => {
  const { container, marks } = show(text);
  expect(container.querySelector(".prose")!.textContent).toBe(shown);
  expect(marks()).toEqual([]);
});

test("the boxes of a list of tasks say what they mean", () => {
  const { container } = show("- [x] van\n- [ ] keys");
  const boxes = [...container.querySelectorAll("input")];
  expect(boxes.map((box) => [box.ariaLabel ?? box.getAttribute("aria-label"), box.checked, box.disabled])).toEqual([
    ["done", true, true],
    ["to do", false, true],
  ]);
});

test("code is copied as it was written", async () => {
  const writeText = vi.fn(async () => undefined);
  Object.defineProperty(navigator, "clipboard", { value: { writeText }, configurable: true });
  const { container } = show("```ts\nconst a = `b[1]`;\n```");
  fireEvent.click(container.querySelector("pre + button")!);
  await waitFor(() => expect(writeText).toHaveBeenCalledWith("const a = `b[1]`;\n"));
  Reflect.deleteProperty(navigator, "clipboard");
});

test("citations in text are buttons that lead to their memory", () => {
  const { container, marks, onMark } = show(
    "Comet [1][12], **a *greyhound* [3]**:\n\n| a |\n|---|\n| b [4] |\n\nnot [1234] or []",
  );
  expect(marks()).toEqual(["[1]", "[12]", "[3]", "[4]"]);
  expect(container.textContent).toContain("not [1234] or []");
  fireEvent.click(container.querySelectorAll("button")[1]!);
  expect(onMark).toHaveBeenCalledWith(12);
});

test("a link that looks like a citation of ours is none", () => {
  const { container, marks } = show("[click here](#mark-1)");
  expect(marks()).toEqual([]);
  expect(container.textContent).toBe("click here");
});

test("without memories to lead to, citations are text", () => {
  const { container } = render(<Markdown text="Comet [1]" />);
  expect(container.textContent).toBe("Comet [1]");
  expect(container.querySelector("button")).toBeNull();
});

test("while an answer grows, what is written of it stays, and its focus", () => {
  const { container, rerender } = render(<Markdown text="Comet [1]" onMark={() => undefined} />);
  const mark = container.querySelector("button")!;
  mark.focus();
  rerender(<Markdown text="Comet [1] runs" onMark={() => undefined} />);
  expect(document.activeElement).toBe(mark);
});

const PROGRAM = 'def first(rows):  # rows[0]\n    return rows[0] or "none [1]"\n';

test("code gets colours, and stays what was written", async () => {
  const { container, marks } = show(`\`\`\`python\n${PROGRAM}\`\`\``);
  expect(container.querySelector("code")!.textContent).toBe(PROGRAM);
  const colours = () => [...container.querySelectorAll<HTMLElement>("code span")].map((one) => one.style.color);
  await waitFor(() => expect(colours()).toContain("var(--code-token-keyword)"), { timeout: 10_000 });
  expect(colours()).toContain("var(--code-token-comment)");
  expect(container.querySelector("code")!.textContent).toBe(PROGRAM);
  expect(marks()).toEqual([]);
});

test("code that grows keeps its colours, and what is new is plain until it has rested", async () => {
  const code = () => container.querySelector("code")!;
  const { container, rerender } = render(<Markdown text={"```ts\nconst a = 1;\n```"} />);
  await waitFor(() => expect(code().querySelector("span")).not.toBeNull(), { timeout: 10_000 });
  const spans = code().querySelectorAll("span").length;
  rerender(<Markdown text={"```ts\nconst a = 1;\nconst b = 2;\n```"} />);
  expect(code().textContent).toBe("const a = 1;\nconst b = 2;\n");
  expect(code().querySelectorAll("span").length).toBe(spans);
  await waitFor(() => expect(code().querySelectorAll("span").length).toBe(2 * spans));
});

test.each([
  ["no language", "```\nreturn 1\n```", "return 1\n"],
  ["an unknown language", "```klingon\nreturn 1\n```", "return 1\n"],
  ["a long program", `\`\`\`python\n${"x = 1\n".repeat(4000)}\`\`\``, "x = 1\n".repeat(4000)],
  ["lines of Windows", "```json\n{\r\n}\r\n```", "{\n}\n"],
])("code of %s is shown as it is", async (_, text, shown) => {
  const { container } = show(text);
  await new Promise((resolve) => setTimeout(resolve));
  expect(container.querySelector("code")!.textContent).toBe(shown);
});

test("every name of a language leads to a grammar that can be read", async () => {
  const { GRAMMARS } = await import("../src/parts/code");
  const { highlight } = await import("../src/parts/highlight");
  for (const grammar of new Set(GRAMMARS.values())) {
    const pieces = await highlight('a = "b" # c\n-- <d/>\n', grammar);
    expect(pieces.at(-1)!.end, grammar).toBeGreaterThan(0);
  }
});
