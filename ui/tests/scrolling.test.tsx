// A conversation that is scrolled: what is on the screen already is not rendered again.

import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

import { keys } from "../src/api/keys";
import type { Item } from "../src/chat/item";
import { Messages } from "../src/chat/messages";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { prepareBrowser } from "./page";
import { ASSISTANTS, CONFIG, serve } from "./server";

const HEIGHT_PX = 400; // of the screen and of each answer; jsdom measures nothing
const ANSWERS = 40;

afterEach(cleanup);

test("while one scrolls, only what comes into view is rendered", async () => {
  prepareBrowser();
  vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockReturnValue(HEIGHT_PX);
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(HEIGHT_PX);
  vi.spyOn(Element.prototype, "scrollHeight", "get").mockReturnValue(ANSWERS * HEIGHT_PX);
  serve(() => ({ body: { ...CONFIG, auth: "none", local_user_id: "ann" } }));
  chooseLanguage("en");
  await session.start();
  const rendered: number[] = [];
  const items = Array.from({ length: ANSWERS }, (_, number): Item => {
    const message = {
      id: `m${number}`,
      run_id: null,
      role: "assistant" as const,
      get content() {
        rendered.push(number);
        return `Answer ${number}.`;
      },
      agent: null,
      attachment_ids: [],
      action_id: null,
      created_at: "2026-11-01T10:00:00Z",
      isRunGone: true,
    };
    return { key: message.id, kind: "message", message };
  });
  const queries = new QueryClient();
  queries.setQueryData(keys.assistants(), ASSISTANTS.body);
  const nothing = () => undefined;
  render(
    <QueryClientProvider client={queries}>
      <Messages
        items={items}
        target={-1}
        assistant="mentor"
        actionsOf={new Map()}
        isLoading={false}
        isKnown
        hasLater={false}
        isLoadingEarlier={false}
        isLoadingLater={false}
        onEarlier={nothing}
        onLater={nothing}
        onEnd={null}
        onShow={nothing}
        onExample={nothing}
        askable={[]}
        versions={{}}
        onVersion={nothing}
        onAgain={nothing}
      />
    </QueryClientProvider>,
  );
  const log = screen.getByRole("log");
  const scrollTo = (top: number) => {
    log.scrollTop = top;
    fireEvent.scroll(log);
  };
  const shown = () => screen.getAllByText(/^Answer \d+\.$/).map((answer) => answer.textContent);
  scrollTo(10 * HEIGHT_PX);
  const before = shown();
  rendered.length = 0;
  scrollTo(13 * HEIGHT_PX);
  const added = shown().filter((answer) => !before.includes(answer));
  expect(before.length).toBeGreaterThan(5);
  expect(added.length).toBeGreaterThan(0);
  expect([...new Set(rendered)].map((number) => `Answer ${number}.`).sort()).toEqual(added.sort());
});
