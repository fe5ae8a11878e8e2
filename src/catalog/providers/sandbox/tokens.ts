import { flattenToolName, type Message, type ModelCall, type Tool } from '../../../formats/call/call.ts'
import type { CacheBreakpoint, InputPart, MediaSource, OutputPart } from '../../../formats/call/part.ts'
import { type Usage, zeroUsage } from '../../../formats/call/usage.ts'

/** Four characters, rounded up for each part: easy to check by hand. */
const charactersPerToken = 4
/** Fixed sizes for images, and for files and videos of unknown size. */
export const imageTokens = 256
const unknownSizeTokens = 1024
const bytesPerAudioToken = 320
const bytesPerFileToken = 64

/** Unicode code points, not UTF-16 units. */
function countCharacters(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--
  return count
}

export function countTextTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + countCharacters(text), 0) / charactersPerToken)
}

/** Counts the tokens of texts that all have the same beginning, which is read once. */
export function createTokenCounter(beginning: string): (text: string) => number {
  const characters = countCharacters(beginning)
  return (text) => Math.ceil((characters + countCharacters(text)) / charactersPerToken)
}

export function countAudioTokens(base64: string): number {
  return Math.ceil(countBase64Bytes(base64) / bytesPerAudioToken)
}

/** The longest prefix of a text within a number of tokens. */
export function truncateToTokens(text: string, tokens: number): string {
  const maxCharacters = tokens * charactersPerToken
  if (text.length <= maxCharacters) return text
  let end = 0
  for (let count = 0; count < maxCharacters && end < text.length; count++) {
    end += (text.charCodeAt(end) & 0xfc00) === 0xd800 ? 2 : 1
  }
  return text.slice(0, end)
}

export function countBase64Bytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
}

type InputBucket = 'input' | 'inputAudio' | 'inputImage' | 'inputVideo'

/** A part of the prompt, in the order of prompt caching: tools, then messages. */
interface PromptPart {
  bucket: InputBucket
  tokens: number
  cache?: CacheBreakpoint | undefined
  /** The part is before the last user message: a cache would already contain it. */
  old: boolean
}

/** The usage of the prompt. `isCached`: cacheable parts are read from the cache, otherwise they are written to it. */
export function computePromptUsage(call: ModelCall, isCached = false): Usage {
  const usage = { ...zeroUsage }
  const parts = splitPrompt(call)
  const last = parts.at(-1)
  if (call.cache && last && !last.cache) last.cache = call.cache
  const hasBreakpoints = parts.some((part) => part.cache)
  let breakpoint: CacheBreakpoint | undefined
  for (const part of parts.reverse()) {
    breakpoint = part.cache ?? breakpoint
    if (isCached && (hasBreakpoints ? breakpoint : part.old)) usage.cacheRead += part.tokens
    else if (!breakpoint) usage[part.bucket] += part.tokens
    else if (breakpoint.ttl === '1h') usage.cacheWrite1h += part.tokens
    else usage.cacheWrite += part.tokens
  }
  return usage
}

function splitPrompt({ tools = [], messages }: ModelCall): PromptPart[] {
  const latest = messages.findLastIndex((message) => message.role === 'user')
  return [
    ...tools.map(toToolPart),
    ...messages.flatMap((message, index) => toMessageParts(message, index < latest)),
  ]
}

function toToolPart(tool: Tool): PromptPart {
  if (tool.kind === 'native')
    return { bucket: 'input', tokens: countTextTokens(JSON.stringify(tool.value)), old: true }
  const schema = tool.kind === 'function' ? tool.schema : tool.format
  const tokens = countTextTokens(
    flattenToolName(tool),
    tool.description ?? '',
    schema ? JSON.stringify(schema) : '',
  )
  return { bucket: 'input', tokens, old: true, cache: tool.kind === 'function' ? tool.cache : undefined }
}

function toMessageParts(message: Message, old: boolean): PromptPart[] {
  return message.parts.map((part) => ({
    ...measurePart(part),
    old,
    cache: 'cache' in part ? part.cache : undefined,
  }))
}

function measurePart(part: InputPart | OutputPart): { bucket: InputBucket; tokens: number } {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { bucket: 'input', tokens: countTextTokens(part.text) }
    case 'reasoning':
      return { bucket: 'input', tokens: countTextTokens(part.text, ...part.summary) }
    case 'tool-call':
      return { bucket: 'input', tokens: countTextTokens(part.name, part.arguments) }
    case 'tool-result':
      return {
        bucket: 'input',
        tokens: part.content.reduce((sum, inner) => sum + measurePart(inner).tokens, 0),
      }
    case 'server-tool':
      return { bucket: 'input', tokens: 0 }
    case 'opaque':
      return { bucket: 'input', tokens: countTextTokens(JSON.stringify(part.value)) }
    case 'image':
      return { bucket: 'inputImage', tokens: imageTokens }
    case 'audio':
      return { bucket: 'inputAudio', tokens: countAudioTokens(part.data) }
    case 'video':
      return { bucket: 'inputVideo', tokens: unknownSizeTokens }
    case 'file':
      return { bucket: 'input', tokens: countFileTokens(part.source) }
  }
}

function countFileTokens(source: MediaSource): number {
  if (source.kind === 'text') return countTextTokens(source.text)
  if (source.kind === 'data') return Math.ceil(countBase64Bytes(source.data) / bytesPerFileToken)
  return unknownSizeTokens
}
