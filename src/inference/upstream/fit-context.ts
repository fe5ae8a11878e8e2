import type { Endpoint, Model } from '../../catalog/model.ts'
import { upstreamFormats } from '../../formats/all.ts'
import { type CompressedCall, compressCall } from '../../formats/call/compress.ts'
import { estimatePromptTokens } from '../../formats/call/size.ts'
import { isTextWireFormat } from '../../formats/vocabulary.ts'
import type { RequestContent } from '../request/content.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { PipelineStage } from '../request/work.ts'
import { isWithinContext } from '../routing/filter.ts'

/** Requests to endpoints with at most this context are shortened unless the client has switched it off. */
export const shortContext = 8192
/** The share of the context reserved for a reply whose length is not limited. */
const replyShare = 0.25
const maxReplyReserve = 4096
/** The estimate of tokens may be too low. */
const safetyShare = 0.9

export interface FittedContent {
  content: RequestContent
  /** Null if the request is sent as it is. */
  stage: PipelineStage | null
  /** Fields that were shortened although the client did not request it. */
  dropped: string[]
}

/** The content as an endpoint can take it: shortened by the plugin context-compression if it is too long. */
export function fitContext(request: InferenceRequest, endpoint: Endpoint): FittedContent {
  const unchanged = { content: request.content, stage: null, dropped: [] }
  const { call } = request.content
  const promptTokens = estimatePromptTokens(call)
  const messages = findMessageLimit(endpoint)
  const fits = isWithinContext(endpoint, promptTokens, reserveReply(call.maxTokens, endpoint))
  if (fits && call.messages.length <= messages) return unchanged
  const tokens = fits ? promptTokens : computeRoom(call.maxTokens, endpoint)
  const compressed = compressCall(call, { tokens, messages })
  if (!compressed) return unchanged
  const isRequested = request.work?.findPlugin('context-compression') !== undefined
  return {
    content: request.content.rewrite(request.format, compressed.call),
    stage: describeStage(compressed, promptTokens),
    dropped: isRequested ? [] : ['messages'],
  }
}

/** Whether a request may be shortened. Models that only generate images have no conversation. */
export function isCompressed(
  { work }: InferenceRequest,
  model: Model,
  { context_length }: Endpoint,
): boolean {
  if (!model.output_modalities.includes('text') || work?.disabled.has('context-compression')) return false
  if (work?.findPlugin('context-compression')) return true
  return context_length !== null && context_length <= shortContext
}

function reserveReply(maxTokens: number | undefined, { context_length }: Endpoint): number {
  const share = Math.floor((context_length ?? 0) * replyShare)
  // A limit that leaves no room for a prompt is not a reason to send none.
  return Math.min(maxTokens ?? 0, (context_length ?? 0) - share)
}

/** The tokens that a prompt may have. */
function computeRoom(maxTokens: number | undefined, endpoint: Endpoint): number {
  const { context_length, max_prompt_tokens } = endpoint
  const context = context_length ?? Number.MAX_SAFE_INTEGER
  const reserve =
    maxTokens === undefined
      ? Math.min(maxReplyReserve, Math.floor(context * replyShare))
      : reserveReply(maxTokens, endpoint)
  return Math.floor(Math.min(context - reserve, max_prompt_tokens ?? context) * safetyShare)
}

/** Finds the highest limit of messages of an endpoint's formats, if all of them have one. */
function findMessageLimit(endpoint: Endpoint): number {
  const limits = endpoint.wireFormats
    .filter(isTextWireFormat)
    .map((name) => upstreamFormats[name].upstream.defaults.maxMessages ?? Number.POSITIVE_INFINITY)
  return Math.max(...limits)
}

function describeStage(
  { call, removedMessages, truncatedTexts }: CompressedCall,
  promptTokens: number,
): PipelineStage {
  return {
    type: 'context_compression',
    name: 'context_compression',
    summary: `Removed ${removedMessages} messages and shortened ${truncatedTexts} texts.`,
    data: {
      engine: 'middle-out',
      removed_messages: removedMessages,
      truncated_texts: truncatedTexts,
      estimated_tokens_before: promptTokens,
      estimated_tokens_after: estimatePromptTokens(call),
    },
  }
}
