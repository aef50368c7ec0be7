// What the server answers, as the page calls it; the types are those of its OpenAPI document.

import type { components } from "./schema";

type Schemas = components["schemas"];

export type Status = Schemas["Status"];
export type Mode = Schemas["Conversation"]["mode"];
export type Source = Schemas["Source"];
export type Button = Schemas["Button"];
export type TaskStep = Schemas["TaskStepState"];
export type Run = Schemas["RunState"];
export type RunPage = Schemas["RunPage"];
export type RunSummary = Schemas["RunSummary"];
export type Message = Pick<
  Schemas["ConversationMessage"],
  "id" | "run_id" | "role" | "content" | "agent" | "attachment_ids" | "action_id" | "created_at"
> & { isRunGone?: boolean };
export type ConversationSummary = Schemas["ConversationSummary"];
export type ConversationPage = Schemas["ConversationPage"];
export type AppRequest = Schemas["AppRequest"];
export type ConnectedApp = Schemas["ConnectedApp"];
export type SharedMessage = Schemas["SharedMessage"];
export type MessagePage = Schemas["MessagePage"];
export type Memory = Schemas["Memory"];
export type Fact = Schemas["Fact"];
export type Webhook = Schemas["Webhook"];
export type Schedule = Schemas["Schedule"];
export type AdsState = Schemas["AdsState"];
export type AdsBusiness = Schemas["AdsBusiness"];
export type AdsConnection = Schemas["AdsConnection"];
export type FacebookCheck = Schemas["FacebookCheck"];
export type WebhookDelivery = Schemas["WebhookDelivery"];
export type UserEvent = NonNullable<Schemas["NewWebhook"]["events"]>[number];
export type Verdict = Schemas["FactDecision"]["verdict"];
export type ForgetResult = Schemas["ForgetResult"];
export type Imported = Schemas["ImportAccepted"];
export type Attachment = Schemas["Attachment"];
export type Action = Schemas["Action"];
export type Phrase = Schemas["Phrase"];
export type RawLog = Schemas["RawLog"];
export type Caller = Schemas["CallerRights"];
export type User = Schemas["User"];
export type Profile = Schemas["Profile"];
export type NewProfile = Schemas["NewProfile"];
export type Preferences = Schemas["Preferences"];
export type Spending = Schemas["UserSpending"];
export type StageSpan = Schemas["StageSpan"];
export type ToolExecution = Schemas["ToolExecution"];
export type Trace = Schemas["Trace"];
export type ModelCall = Schemas["ModelCall"];
export type Prompt = Schemas["PromptState"];
export type PromptVersion = Schemas["PromptHistory"]["results"][number];
