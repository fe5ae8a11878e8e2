import { ApiError } from '../../api/error.ts'

/** A call of a tool that a model asks for. */
export interface ToolCall {
  id: string
  name: string
  arguments: string
}

export interface Usage {
  prompt_tokens?: number
  completion_tokens?: number
  cost?: number | null
  prompt_tokens_details?: { cached_tokens?: number } | null
  completion_tokens_details?: { reasoning_tokens?: number } | null
}

/** The answer of a model so far. Times are in milliseconds of the browser. */
export interface Answer {
  status: 'streaming' | 'done' | 'stopped' | 'failed'
  text: string
  reasoning: string
  /** Sent back with the next request: some providers check it. */
  reasoningDetails: Record<string, unknown>[]
  toolCalls: ToolCall[]
  images: string[]
  finishReason: string | null
  provider: string | null
  generationId: string | null
  usage: Usage | null
  error: unknown
  raw: string
  startedAt: number
  firstTokenAt: number | null
  endedAt: number | null
}

interface Delta {
  content?: string | null
  refusal?: string | null
  reasoning?: string | null
  reasoning_details?: Record<string, unknown>[]
  tool_calls?: { index?: number; id?: string; function?: { name?: string; arguments?: string } }[]
  images?: { image_url?: { url?: string } }[]
}

export interface Chunk {
  id?: string
  provider?: string
  choices?: { delta?: Delta; finish_reason?: string | null }[]
  usage?: Usage | null
  error?: { code?: number; message?: string }
}

/** Characters of the raw reply that are stored. */
const maxRawLength = 500_000
const maxToolCalls = 128
const maxImages = 16

export function startAnswer(now: number): Answer {
  return {
    status: 'streaming',
    text: '',
    reasoning: '',
    reasoningDetails: [],
    toolCalls: [],
    images: [],
    finishReason: null,
    provider: null,
    generationId: null,
    usage: null,
    error: null,
    raw: '',
    startedAt: now,
    firstTokenAt: null,
    endedAt: null,
  }
}

/** The answer after one more event of the stream. */
export function addEvent(answer: Answer, data: string, now: number): Answer {
  const raw = answer.raw.length < maxRawLength ? `${answer.raw}${data}\n` : answer.raw
  if (data === '[DONE]') return { ...answer, raw }
  const chunk = JSON.parse(data) as Chunk
  const choice = chunk.choices?.[0]
  const next = addDelta({ ...answer, raw }, choice?.delta ?? {}, now)
  next.generationId = chunk.id ?? next.generationId
  next.provider = chunk.provider ?? next.provider
  next.finishReason = choice?.finish_reason ?? next.finishReason
  next.usage = chunk.usage ?? next.usage
  if (!chunk.error) return next
  const { code = 502, message = 'The reply broke off.' } = chunk.error
  return { ...next, status: 'failed', error: new ApiError(code, message, null) }
}

function addDelta(answer: Answer, delta: Delta, now: number): Answer {
  const images = (delta.images ?? []).flatMap(({ image_url }) => image_url?.url ?? [])
  const text = (delta.content ?? '') + (delta.refusal ?? '')
  const hasContent = text || delta.reasoning || delta.tool_calls?.length || images.length > 0
  return {
    ...answer,
    text: answer.text + text,
    reasoning: answer.reasoning + (delta.reasoning ?? ''),
    reasoningDetails: (delta.reasoning_details ?? []).reduce(addReasoningDetail, answer.reasoningDetails),
    toolCalls: (delta.tool_calls ?? []).reduce(addToolCall, answer.toolCalls),
    images: [...answer.images, ...images].slice(0, maxImages),
    firstTokenAt: answer.firstTokenAt ?? (hasContent ? now : null),
  }
}

function addToolCall(calls: ToolCall[], piece: NonNullable<Delta['tool_calls']>[number]): ToolCall[] {
  const index = piece.index ?? calls.length
  const known = calls[index] ?? { id: '', name: '', arguments: '' }
  if (index < 0 || index > Math.min(calls.length, maxToolCalls - 1)) return calls
  const call = {
    id: known.id || (piece.id ?? ''),
    name: known.name || (piece.function?.name ?? ''),
    arguments: known.arguments + (piece.function?.arguments ?? ''),
  }
  return [...calls.slice(0, index), call, ...calls.slice(index + 1)]
}

/** Pieces of one detail have the same index and type: their texts are joined, other fields are replaced. */
function addReasoningDetail(details: Record<string, unknown>[], piece: Record<string, unknown>) {
  const last = details.at(-1)
  if (!last || last.index !== piece.index || last.type !== piece.type) return [...details, piece]
  const joined: Record<string, unknown> = { ...last, ...piece }
  for (const field of ['text', 'summary', 'data']) {
    if (typeof last[field] === 'string') joined[field] = last[field] + String(piece[field] ?? '')
  }
  return [...details.slice(0, -1), joined]
}

/** Less says how the pieces arrived, not how fast the model is. */
const minStreamedMs = 50

export interface Figures {
  cost: number | null
  firstTokenMs: number | null
  /** From sending the request to the end of the answer. */
  totalMs: number | null
  tokensPerSecond: number | null
  promptTokens: number | null
  completionTokens: number | null
  reasoningTokens: number
  cachedTokens: number
}

/** Figures beside an answer. The speed counts from the first token on; a reply that arrives at once has none. */
export function figuresOf({ usage, startedAt, firstTokenAt, endedAt }: Answer): Figures {
  const completionTokens = usage?.completion_tokens ?? null
  const streamedMs = firstTokenAt !== null && endedAt !== null ? endedAt - firstTokenAt : 0
  return {
    cost: usage?.cost ?? null,
    firstTokenMs: firstTokenAt === null ? null : firstTokenAt - startedAt,
    totalMs: endedAt === null ? null : endedAt - startedAt,
    tokensPerSecond:
      completionTokens && streamedMs >= minStreamedMs ? (completionTokens / streamedMs) * 1000 : null,
    promptTokens: usage?.prompt_tokens ?? null,
    completionTokens,
    reasoningTokens: usage?.completion_tokens_details?.reasoning_tokens ?? 0,
    cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
  }
}
