// Requests that are sent by the clock: a person adds, pauses and deletes them.

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";

import { get, patch, post, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import type { Schedule } from "../api/types";
import { useAssistants, useTitleOf } from "../parts/assistants";
import { ConfirmButton } from "../parts/confirm";
import { cronInWords, cronOf, RHYTHMS, type Rhythm } from "../parts/cron";
import { Empty, ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { useTitle } from "../parts/title";
import { visible } from "../parts/visible";
import { useUser } from "../session/session";
import { formatWeekday, say } from "../texts";
import { Field, Form } from "./sign_in";

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;
const WEEK = [1, 2, 3, 4, 5, 6, 0];
const MONTH = Array.from({ length: 28 }, (_, day) => day + 1); // days that every month has

export function SchedulesPage() {
  const { userId } = useUser();
  useTitle(say("schedule.title"));
  const list = useQuery({
    queryKey: keys.schedules(userId),
    queryFn: ({ signal }) => get("/v1/schedules", { user_id: userId }, signal),
  });
  return (
    <div className="scrolls h-full p-4" tabIndex={0}>
      <div className="mx-auto flex max-w-[80ch] flex-col gap-4">
        <h1 className="text-title font-semibold">{say("schedule.title")}</h1>
        <p className="text-small text-quiet">{say("schedule.what")}</p>
        <NewSchedule />
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        {list.isPending && <Skeleton lines={3} className="h-20" />}
        {list.data && !list.data.results.length && <Empty>{say("schedule.none")}</Empty>}
        <ul className="flex flex-col gap-2">
          {list.data?.results.map((one) => (
            <Card key={one.id} schedule={one} />
          ))}
        </ul>
      </div>
    </div>
  );
}

function NewSchedule() {
  const { userId } = useUser();
  const queries = useQueryClient();
  const assistants = useAssistants();
  const [made, setMade] = useState(0); // begins the form anew
  const [rhythm, setRhythm] = useState<Rhythm>("workdays");
  return (
    <details className="card" key={made}>
      <summary>{say("schedule.create")}</summary>
      <div className="mt-3 max-w-md">
        <Form
          submit={say("schedule.create")}
          onSubmit={async (form) => {
            const cron =
              rhythm === "cron"
                ? form.get("cron")!.trim()
                : cronOf(rhythm, form.get("time")!, Number(form.get("day") ?? 0));
            await post("/v1/schedules", {
              user_id: userId,
              query: form.get("query")!.trim(),
              assistant: form.get("assistant")!,
              cron,
              timezone: ZONE,
              catch_up: "last",
            });
            await refresh(queries, ["schedules"]);
            setMade(made + 1);
          }}
        >
          <label className="field">
            <span>{say("schedule.query")}</span>
            <textarea name="query" rows={2} required maxLength={4000} placeholder={say("schedule.example")} />
          </label>
          <label className="field">
            <span>{say("chat.assistant")}</span>
            <select name="assistant" defaultValue="mentor">
              {(assistants.data?.results ?? []).map((one) => (
                <option key={one.name} value={one.name}>
                  {visible(one.title)}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span>{say("schedule.when")}</span>
            <select value={rhythm} onChange={(event) => setRhythm(event.target.value as Rhythm)}>
              {RHYTHMS.map((one) => (
                <option key={one} value={one}>
                  {say(`schedule.rhythm.${one}`)}
                </option>
              ))}
            </select>
          </label>
          {(rhythm === "week" || rhythm === "month") && (
            <label className="field">
              <span>{say("schedule.day")}</span>
              <select name="day" key={rhythm}>
                {(rhythm === "week" ? WEEK : MONTH).map((day) => (
                  <option key={day} value={day}>
                    {rhythm === "week" ? formatWeekday(day) : day}
                  </option>
                ))}
              </select>
            </label>
          )}
          {rhythm === "cron" ? (
            <Field
              label={say("schedule.rhythm.cron")}
              name="cron"
              required
              maxLength={100}
              placeholder="30 8 * * 1-5"
              help={say("schedule.cronHelp", { zone: ZONE })}
            />
          ) : (
            <Field
              label={say("schedule.time")}
              name="time"
              type="time"
              required
              defaultValue="08:30"
              help={say("schedule.zone", { zone: ZONE })}
            />
          )}
        </Form>
      </div>
    </details>
  );
}

function Card({ schedule }: { schedule: Schedule }) {
  const queries = useQueryClient();
  const titleOf = useTitleOf();
  const isPaused = schedule.paused_at !== null;
  const readAgain = () => refresh(queries, ["schedules"]);
  const turn = useMutation({
    mutationFn: () => patch(`/v1/schedules/${schedule.id}`, { paused: !isPaused }),
    onSuccess: readAgain,
  });
  return (
    <li className="card">
      <p className="whitespace-pre-wrap">{visible(schedule.query)}</p>
      <p className="flex flex-wrap gap-x-3 text-small text-quiet">
        <span>
          {cronInWords(schedule.cron)} ({schedule.timezone})
        </span>
        <span>{titleOf(schedule.assistant)}</span>
        {isPaused ? (
          <b className="text-warn">{say("schedule.paused")}</b>
        ) : (
          schedule.next_at && (
            <span>
              {say("schedule.next")} <Time at={schedule.next_at} isExact />
            </span>
          )
        )}
        {schedule.last_at && (
          <span>
            {say("schedule.last")} <Time at={schedule.last_at} isExact />
          </span>
        )}
      </p>
      {schedule.error && <p className="text-small text-bad">{visible(schedule.error)}</p>}
      <div className="mt-1 flex flex-wrap gap-x-4">
        {schedule.conversation_id && <Link href={`/c/${schedule.conversation_id}`}>{say("admin.conversation")}</Link>}
        <button type="button" className="quiet-button" disabled={turn.isPending} onClick={() => turn.mutate()}>
          {say(isPaused ? "schedule.resume" : "schedule.pause")}
        </button>
        <ConfirmButton
          label={say("schedule.delete")}
          title={say("schedule.deleteAsk")}
          what={say("schedule.deleteWhat")}
          className="quiet-button"
          onConfirm={() => remove(`/v1/schedules/${schedule.id}`).then(readAgain)}
        />
      </div>
      <ErrorNotice error={turn.error} />
    </li>
  );
}
