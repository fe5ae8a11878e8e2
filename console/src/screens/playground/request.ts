import type { Answer } from './answer.ts'
import { readSchema, readTools, type Settings } from './settings.ts'

/** An image goes into the request, another file is uploaded and named by its id. */
export type Attachment =
  | { kind: 'image'; id: string; name: string; url: string }
  | { kind: 'file'; id: string; name: string; fileId: string }

export interface UserEntry {
  kind: 'user'
  id: string
  text: string
  attachments: Attachment[]
}

export interface AnswerEntry {
  kind: 'answer'
  id: string
  answer: Answer
  /** The request that it answers; null if the answer came with a link. */
  request: ChatBody | null
  /** The results of its tool calls, by the id of the call. */
  results: Record<string, string>
}

export type Entry = UserEntry | AnswerEntry

/** Tells entries and attachments apart; it is never sent. */
export function newId(): string {
  return Math.random().toString(36).slice(2)
}

type Message = Record<string, unknown> & { role: string }

export type ChatBody = { model: string; messages: Message[] } & Record<string, unknown>

/** The body of POST /chat/completions. Fields that are not set are left to the model. */
export function buildRequest(model: string, settings: Settings, entries: Entry[]): ChatBody {
  const tools = readTools(settings.tools).value
  const provider = buildPreferences(settings)
  return {
    model,
    messages: [
      ...(settings.system.trim() ? [{ role: 'system', content: settings.system }] : []),
      ...entries.flatMap(toMessages),
    ],
    ...(settings.temperature !== null && { temperature: settings.temperature }),
    ...(settings.maxTokens !== null && { max_tokens: settings.maxTokens }),
    ...(settings.effort && { reasoning: { effort: settings.effort } }),
    ...buildFormat(settings),
    ...(tools !== undefined && { tools }),
    ...(settings.stream && { stream: true }),
    ...(Object.keys(provider).length > 0 && { provider }),
  }
}

function buildFormat({ format, schema }: Settings): Record<string, unknown> {
  if (format === 'text') return {}
  if (format === 'json_object') return { response_format: { type: 'json_object' } }
  const json_schema = { name: 'reply', schema: readSchema(schema).value }
  return { response_format: { type: 'json_schema', json_schema } }
}

function buildPreferences({ sort, only, allowFallbacks, denyTraining, zdr }: Settings) {
  return {
    ...(sort && { sort }),
    ...(only.length > 0 && { only }),
    ...(!allowFallbacks && { allow_fallbacks: false }),
    ...(denyTraining && { data_collection: 'deny' }),
    ...(zdr && { zdr: true }),
  }
}

function toMessages(entry: Entry): Message[] {
  if (entry.kind === 'user') return [{ role: 'user', content: buildContent(entry) }]
  const { answer, results } = entry
  const { text, toolCalls, reasoningDetails } = answer
  // An answer that failed or was stopped before it began is no part of the conversation.
  if (text === '' && toolCalls.length === 0) return []
  const calls = toolCalls.map(({ id, name, arguments: json }) => ({
    id,
    type: 'function',
    function: { name, arguments: json },
  }))
  return [
    {
      role: 'assistant',
      content: text || null,
      ...(calls.length > 0 && { tool_calls: calls }),
      ...(reasoningDetails.length > 0 && { reasoning_details: reasoningDetails }),
    },
    ...toolCalls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: results[id] ?? '' })),
  ]
}

function buildContent({ text, attachments }: UserEntry): unknown {
  if (attachments.length === 0) return text
  const parts = attachments.map((attachment) =>
    attachment.kind === 'image'
      ? { type: 'image_url', image_url: { url: attachment.url } }
      : { type: 'file', file: { file_id: attachment.fileId } },
  )
  return text ? [{ type: 'text', text }, ...parts] : parts
}

const shownDataLength = 60

/** Shortens the data of images, for display only. */
export function shortenData<T>(body: T): T {
  return JSON.parse(
    JSON.stringify(body, (_, value) =>
      typeof value === 'string' && value.startsWith('data:') && value.length > shownDataLength
        ? `${value.slice(0, shownDataLength)}…`
        : value,
    ),
  )
}
