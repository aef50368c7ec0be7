// What the server takes and answers, as its OpenAPI document says.

import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];

/** The parameters of an operation behind the question mark. */
export type Query<Name extends keyof operations> = operations[Name] extends { parameters: { query?: infer Parameters } }
  ? Parameters
  : never;

export type NewRun = Schemas["NewRun"];
export type Run = Schemas["RunState"];
export type NewMemories = Schemas["NewMemories"];
export type AddedMemories = Schemas["MemoriesAccepted"];
export type SearchQuery = Schemas["SearchQuery"];
export type Memory = Schemas["Memory"];
export type MemoryPage = Schemas["MemoryPage"];
export type MemoryHistory = Schemas["MemoryHistory"];
export type ForgetResult = Schemas["ForgetResult"];
export type Correction = Schemas["CorrectionAccepted"];
export type ContextQuery = Schemas["ContextQuery"];
export type Context = Schemas["ContextResult"];
export type FactPage = Schemas["FactPage"];
export type FactDecision = Schemas["FactDecision"];
export type CorrectedFact = Schemas["FactCorrected"];
export type NameMerge = Schemas["NameMerge"];
export type NameMerged = Schemas["NameMerged"];
export type NewConversation = Schemas["NewConversation"];
export type Conversation = Schemas["Conversation"];
export type OpenedConversation = Schemas["OpenedConversation"];
export type ConversationChange = Schemas["ConversationChange"];
export type ForgottenConversation = Schemas["ForgottenConversation"];
export type ConversationPage = Schemas["ConversationPage"];
export type MessagePage = Schemas["MessagePage"];
export type Action = Schemas["Action"];
export type ActionPage = Schemas["ActionPage"];
export type ActionDecision = Schemas["ActionDecision"];
export type ActionDecisions = Schemas["ActionDecisions"];
export type Attachment = Schemas["Attachment"];
export type Document = Schemas["AddedDocument"];
export type DocumentPage = Schemas["DocumentPage"];
export type DocumentRemoved = Schemas["DocumentRemoved"];
export type NewSchedule = Schemas["ScheduleRequest"];
export type ScheduleChange = Schemas["ScheduleUpdate"];
export type Schedule = Schemas["Schedule"];
export type ScheduleList = Schemas["ScheduleList"];
export type PassageList = Schemas["PassageList"];
