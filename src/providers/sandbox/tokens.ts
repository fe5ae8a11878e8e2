import { type Call, flatToolName, type Message, type Tool } from '../../call/call.ts'
import type { CacheMark, InputPart, OutputPart, Source } from '../../call/part.ts'
import { noTokens, type Usage } from '../../call/usage.ts'

/** Four characters, rounded up for each part: easy to check by hand. */
const charactersPerToken = 4
/** An image, and a file or video whose size is not known. */
export const imageTokens = 256
const unseenTokens = 1024
const bytesPerAudioToken = 320
const bytesPerFileToken = 64

/** Characters as people count them, not halves of surrogate pairs. */
function characters(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length; i++) if ((text.charCodeAt(i) & 0xfc00) === 0xdc00) count--
  return count
}

export function textTokens(...texts: string[]): number {
  return Math.ceil(texts.reduce((sum, text) => sum + characters(text), 0) / charactersPerToken)
}

export function audioTokens(base64: string): number {
  return Math.ceil(base64Bytes(base64) / bytesPerAudioToken)
}

/** The beginning of a text that fits into so many tokens. */
export function fitting(text: string, tokens: number): string {
  const room = tokens * charactersPerToken
  if (text.length <= room) return text
  let end = 0
  for (let count = 0; count < room && end < text.length; count++) {
    end += (text.charCodeAt(end) & 0xfc00) === 0xd800 ? 2 : 1
  }
  return text.slice(0, end)
}

export function base64Bytes(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor((base64.length * 3) / 4) - padding)
}

type InputBucket = 'input' | 'inputAudio' | 'inputImage' | 'inputVideo'

/** A piece of the prompt, in the order in which a cache reads it: tools, then messages. */
interface Piece {
  bucket: InputBucket
  tokens: number
  cache?: CacheMark | undefined
  /** Before the last user message: what a cache would know already. */
  old: boolean
}

/** What the prompt comes to. `cached`: what could come from a cache does, else it is written to one. */
export function promptUsage(call: Call, cached = false): Usage {
  const usage = { ...noTokens }
  const pieces = piecesOf(call)
  const last = pieces.at(-1)
  if (call.cache && last && !last.cache) last.cache = call.cache
  const marked = pieces.some((piece) => piece.cache)
  let mark: CacheMark | undefined
  for (const piece of pieces.reverse()) {
    mark = piece.cache ?? mark
    if (cached && (marked ? mark : piece.old)) usage.cacheRead += piece.tokens
    else if (!mark) usage[piece.bucket] += piece.tokens
    else if (mark.ttl === '1h') usage.cacheWrite1h += piece.tokens
    else usage.cacheWrite += piece.tokens
  }
  return usage
}

function piecesOf({ tools = [], messages }: Call): Piece[] {
  const latest = messages.findLastIndex((message) => message.role === 'user')
  return [
    ...tools.map(toolPiece),
    ...messages.flatMap((message, index) => messagePieces(message, index < latest)),
  ]
}

function toolPiece(tool: Tool): Piece {
  if (tool.kind === 'native')
    return { bucket: 'input', tokens: textTokens(JSON.stringify(tool.value)), old: true }
  const schema = tool.kind === 'function' ? tool.schema : tool.format
  const tokens = textTokens(flatToolName(tool), tool.description ?? '', schema ? JSON.stringify(schema) : '')
  return { bucket: 'input', tokens, old: true, cache: tool.kind === 'function' ? tool.cache : undefined }
}

function messagePieces(message: Message, old: boolean): Piece[] {
  return message.parts.map((part) => ({
    ...weigh(part),
    old,
    cache: 'cache' in part ? part.cache : undefined,
  }))
}

function weigh(part: InputPart | OutputPart): { bucket: InputBucket; tokens: number } {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { bucket: 'input', tokens: textTokens(part.text) }
    case 'reasoning':
      return { bucket: 'input', tokens: textTokens(part.text, ...part.summary) }
    case 'tool-call':
      return { bucket: 'input', tokens: textTokens(part.name, part.arguments) }
    case 'tool-result':
      return {
        bucket: 'input',
        tokens: part.content.reduce((sum, inner) => sum + weigh(inner).tokens, 0),
      }
    case 'opaque':
      return { bucket: 'input', tokens: textTokens(JSON.stringify(part.value)) }
    case 'image':
      return { bucket: 'inputImage', tokens: imageTokens }
    case 'audio':
      return { bucket: 'inputAudio', tokens: audioTokens(part.data) }
    case 'video':
      return { bucket: 'inputVideo', tokens: unseenTokens }
    case 'file':
      return { bucket: 'input', tokens: fileTokens(part.source) }
  }
}

function fileTokens(source: Source): number {
  if (source.kind === 'text') return textTokens(source.text)
  if (source.kind === 'data') return Math.ceil(base64Bytes(source.data) / bytesPerFileToken)
  return unseenTokens
}
