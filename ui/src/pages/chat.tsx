// The conversation in the middle, and the panel that shows what an answer was made from.

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { lazy, Suspense, useCallback, useEffect, useState } from "react";
import { useLocation, useParams, useSearch } from "wouter";

import { ApiError } from "../api/error";
import { get, patch } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { useLayers } from "../api/run";
import type { Mode } from "../api/types";
import { Conversation } from "../chat/conversation";
import { ConversationMenu } from "../chat/conversation_menu";
import { Evidence } from "../chat/evidence";
import { useOutbox } from "../chat/outbox";
import { Title } from "../chat/title";
import { type Panel, type ShowPanel, useRunState } from "../chat/turns";
import { useAssistants, useTitleOf } from "../parts/assistants";
import { Boundary } from "../parts/boundary";
import { useFocusReturn } from "../parts/focus_return";
import { Header } from "../parts/header";
import { EmptyPage, ErrorNotice, errorText, Skeleton } from "../parts/notice";
import { Tabs, tabId } from "../parts/tabs";
import { useTitle } from "../parts/title";
import { newUuid } from "../parts/uuid";
import { useUser } from "../session/session";
import { say, withTexts } from "../texts";

const Trace = lazy(() => withTexts(import("../chat/trace")).then((module) => ({ default: module.Trace })));
const Logs = lazy(() => withTexts(import("../chat/logs")).then((module) => ({ default: module.Logs })));
const MODES: Mode[] = ["auto", "plan", "ask"];
const FIRST_ASSISTANT = "mentor";

interface Shown {
  runId: string;
  panel: Panel;
  mark: number | null;
}

/** What the history of the browser knows of a conversation that was begun on this page. */
interface Begun {
  of: string; // the person's id
  isNew: string;
  assistant: string;
  isTemporary: boolean;
}

export function ChatPage() {
  const { id } = useParams<{ id?: string }>();
  return <Chat key={id ?? "new"} id={id ?? null} />;
}

function Chat({ id }: { id: string | null }) {
  const [, navigate] = useLocation();
  const queries = useQueryClient();
  const wanted = new URLSearchParams(useSearch()).get("assistant");
  const titleOf = useTitleOf();
  const [newId] = useState(() => newUuid());
  const [assistant, setAssistant] = useState(wanted ?? FIRST_ASSISTANT);
  const [mode, setMode] = useState<Mode | null>(null);
  const [wantsTemporary, setWantsTemporary] = useState(false);
  const [shown, setShown] = useState<Shown | null>(null);
  const { userId } = useUser();
  const [outbox, waiting] = useOutbox();
  const begun: Begun | null = window.history.state?.of === userId ? window.history.state : null; // not what another person has left
  const isWaiting = waiting.some((message) => message.conversationId === id);
  const isNew = id === null || (isWaiting && begun?.isNew === id && !outbox.isOpened(id)); // the server does not know it yet
  const conversation = useQuery({
    queryKey: keys.conversation(id),
    queryFn: ({ signal }) => get(`/v1/conversations/${id}`, {}, signal),
    enabled: !isNew,
  });
  const isTemporary = conversation.data ? !conversation.data.is_remembered : (begun?.isTemporary ?? wantsTemporary);
  useEffect(() => setAssistant(wanted ?? FIRST_ASSISTANT), [wanted]);

  const show: ShowPanel = useCallback((runId, panel, mark) => setShown({ runId, panel, mark: mark ?? null }), []);
  const start = () => {
    const state: Begun = { of: userId, isNew: newId, assistant, isTemporary };
    if (id === null) navigate(`/c/${newId}`, { state });
  };
  const changeMode = async (next: Mode) => {
    setMode(next);
    if (id !== null) {
      await patch(`/v1/conversations/${id}`, { mode: next });
      void refresh(queries, ["conversations"]);
    }
  };

  useTitle(conversation.data?.title ?? (id === null ? "" : say("nav.untitled")));
  useKeys(shown, setShown);
  if (conversation.error && !isNew) {
    return (
      <EmptyPage
        why={
          conversation.error instanceof ApiError && conversation.error.status !== 404
            ? errorText(conversation.error)
            : say("chat.notFound")
        }
      />
    );
  }
  const name = conversation.data?.assistant ?? begun?.assistant ?? assistant;
  const currentMode = mode ?? conversation.data?.mode ?? "auto";
  return (
    <div className="flex h-full min-h-0">
      <section className="flex min-w-0 flex-1 flex-col">
        <Header>
          {id === null ? (
            <AssistantPicker value={assistant} onChange={setAssistant} />
          ) : (
            <b className="min-w-0 truncate">{titleOf(name)}</b>
          )}
          <h1 className={`min-w-0 flex-1 truncate text-small text-quiet ${id === null ? "max-sm:sr-only" : ""}`}>
            {id !== null && conversation.data ? (
              <Title id={id} title={conversation.data.title ?? say("nav.untitled")} />
            ) : (
              id === null && say("nav.new")
            )}
          </h1>
          <ModePicker value={currentMode} onChange={changeMode} className="max-sm:hidden" />
          {conversation.data && !isNew && (
            <ConversationMenu
              {...conversation.data}
              more={MODES.map((one) => ({
                label: say(`chat.mode.${one}`),
                isChosen: one === currentMode,
                run: () => void changeMode(one),
              }))}
            />
          )}
        </Header>
        {(id === null || isTemporary) && (
          <div className="flex flex-wrap items-center gap-x-2 border-b border-line px-4 py-1 text-small">
            {id !== null ? (
              <b>{say("chat.beTemporary")}</b>
            ) : (
              <label className="flex items-center gap-2">
                <input
                  type="checkbox"
                  className="min-h-0!"
                  checked={wantsTemporary}
                  onChange={(event) => setWantsTemporary(event.target.checked)}
                />
                {say("chat.beTemporary")}
              </label>
            )}
            {id === null && (
              <ModePicker value={currentMode} onChange={changeMode} className="ml-auto max-w-full sm:hidden" />
            )}
            {isTemporary && <p role="note">{say("chat.temporaryWhat")}</p>}
          </div>
        )}
        {conversation.data?.is_archived && (
          <p role="note" className="border-b border-line px-4 py-1 text-small">
            {say("conversation.isArchived")}
          </p>
        )}
        <Conversation
          id={id ?? newId}
          assistant={name}
          mode={mode ?? undefined}
          isNew={isNew}
          isTemporary={isTemporary}
          draft={id ?? "new"}
          onShow={show}
          onStart={start}
        />
      </section>
      {shown && <PanelView shown={shown} onChange={setShown} />}
    </div>
  );
}

function ModePicker({
  value,
  onChange,
  className,
}: {
  value: Mode;
  onChange: (mode: Mode) => Promise<void>;
  className: string;
}) {
  return (
    <select
      className={`field-sizing-content min-h-0! min-w-0 py-1! text-small ${className}`}
      aria-label={say("chat.mode")}
      value={value}
      onChange={(event) => void onChange(event.target.value as Mode)}
    >
      {MODES.map((one) => (
        <option key={one} value={one}>
          {say(`chat.mode.${one}`)}
        </option>
      ))}
    </select>
  );
}

function AssistantPicker({ value, onChange }: { value: string; onChange: (name: string) => void }) {
  const assistants = useAssistants();
  return (
    <select
      className="min-h-0! min-w-0 py-1!"
      aria-label={say("chat.assistant")}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      {(assistants.data?.results ?? [{ name: value, title: null }]).map((one) => (
        <option key={one.name} value={one.name}>
          {one.title ?? one.name}
        </option>
      ))}
    </select>
  );
}

function PanelView({ shown, onChange }: { shown: Shown; onChange: (shown: Shown | null) => void }) {
  const { isAdmin } = useUser();
  useFocusReturn();
  const run = useRunState(shown.runId);
  const layers = useLayers(isAdmin && run.data ? shown.runId : null, run.data?.retries);
  const panels: Panel[] = isAdmin ? ["evidence", "trace", "logs"] : ["evidence", "trace"];
  const titles = {
    evidence: say("evidence.title"),
    trace: say("trace.title"),
    logs: say("chat.logs"),
  };
  return (
    <aside
      aria-label={titles[shown.panel]}
      className="fixed inset-0 z-20 flex flex-col border-l border-line bg-page lg:static lg:w-[28rem] lg:shrink-0"
    >
      <div className="flex items-center gap-1 border-b border-line p-2">
        <Tabs
          label={say("chat.panels")}
          panel="panel"
          names={panels}
          chosen={shown.panel}
          titleOf={(panel) => titles[panel]}
          onChoose={(panel) => onChange({ ...shown, panel })}
          className="scrolls min-w-0 flex-1"
        />
        <button
          type="button"
          className="button small"
          aria-label={say("evidence.close")}
          title={say("evidence.close")}
          onClick={() => onChange(null)}
        >
          <X className="sm:hidden" />
          <span className="max-sm:hidden">{say("app.close")}</span>
        </button>
      </div>
      <div
        id="panel"
        role="tabpanel"
        aria-labelledby={tabId("panel", shown.panel)}
        className="scrolls min-h-0 flex-1 p-4"
        tabIndex={0}
      >
        <h2 className="sr-only">{titles[shown.panel]}</h2>
        <ErrorNotice error={run.error} />
        <Boundary place={`${shown.runId} ${shown.panel}`}>
          <Suspense fallback={<Skeleton />}>
            {!run.data ? (
              !run.error && <Skeleton />
            ) : shown.panel === "evidence" ? (
              <Evidence run={run.data} marked={shown.mark} />
            ) : shown.panel === "trace" ? (
              <Trace run={run.data} />
            ) : (
              <Logs layers={layers.data ?? []} />
            )}
          </Suspense>
        </Boundary>
      </div>
    </aside>
  );
}

/** `e` evidence and `t` trace of the open panel, Escape closes it; not while something is being written. */
function useKeys(shown: Shown | null, setShown: (shown: Shown | null) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (document.querySelector("dialog[open]")) return; // which takes the keys
      if (isWriting(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
      const last = [...document.querySelectorAll<HTMLElement>("article[id^=run-]")].at(-1)?.id.slice(4);
      const runId = shown?.runId ?? last;
      if (event.key === "Escape") setShown(null);
      else if (runId && event.key === "e") setShown({ runId, panel: "evidence", mark: null });
      else if (runId && event.key === "t") setShown({ runId, panel: "trace", mark: null });
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [shown, setShown]);
}

export function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName))
  );
}
