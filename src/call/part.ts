import type { DialectName } from '../catalogue/vocabulary.ts'
import type { JsonObject } from '../lib/json-values.ts'

/** Cache the prompt up to and including what carries the mark. */
export interface CacheBreakpoint {
  ttl?: '5m' | '1h'
}

/** What a client can put into a prompt. */
export type InputPart = TextPart | ImagePart | FilePart | AudioPart | VideoPart | ToolResultPart | OpaquePart

/** What a model can answer with. */
export type OutputPart =
  | TextPart
  | RefusalPart
  | ReasoningPart
  | ToolCallPart
  | ImagePart
  | AudioPart
  | OpaquePart

export interface TextPart {
  kind: 'text'
  text: string
  cache?: CacheBreakpoint
  citations?: Citation[]
  logprobs?: TokenLogprob[]
}

export interface RefusalPart {
  kind: 'refusal'
  text: string
}

export interface ImagePart {
  kind: 'image'
  source: MediaSource
  detail?: string
  cache?: CacheBreakpoint
}

export interface FilePart {
  kind: 'file'
  source: MediaSource
  filename?: string
  /** Background about the document that is not to be cited. */
  context?: string
  /** The model should cite it. */
  citationsEnabled?: boolean
  cache?: CacheBreakpoint
}

export interface AudioPart {
  kind: 'audio'
  /** Base64. */
  data: string
  /** `wav`, `mp3`, `pcm16` ... */
  format: string
  /** Of audio the model made. */
  transcript?: string
  id?: string
  expiresAt?: number
}

export interface VideoPart {
  kind: 'video'
  source: MediaSource
}

/** Where the bytes of an image, file or video are. */
export type MediaSource =
  | { kind: 'url'; url: string }
  | { kind: 'data'; mediaType: string; data: string }
  | { kind: 'file'; id: string }
  | { kind: 'text'; text: string }

/** What an address stands for: a web address anyone can fetch; any other (`gs://`) is a handle of one vendor. */
export function sourceFromUrl(url: string): MediaSource {
  return /^[a-z][a-z0-9+.-]*:\/\//i.test(url) && !/^https?:/i.test(url)
    ? { kind: 'file', id: url }
    : { kind: 'url', url }
}

/** A handle that is an address: a file store that goes by ids cannot know it. */
export function isVendorFileUri(source: MediaSource): boolean {
  return source.kind === 'file' && (source.id.includes('://') || source.id.startsWith('files/'))
}

export interface ToolCallPart {
  kind: 'tool-call'
  id: string
  /** Flat: see `flatToolName`. */
  name: string
  /** The very characters the model wrote: usually JSON, not always valid; free text when `custom`. */
  arguments: string
  custom?: boolean
  cache?: CacheBreakpoint
}

export interface ToolResultPart {
  kind: 'tool-result'
  id: string
  /** The tool's name, where the client's format gives it. */
  name?: string
  /** Opaque: passed on as it is. */
  content: (TextPart | ImagePart | FilePart | OpaquePart)[]
  isError?: boolean
  custom?: boolean
  cache?: CacheBreakpoint
}

/**
 * Thinking, shown or hidden. A `signature` or `encrypted` text goes back to the vendor of its `format`
 * unmodified, and to nobody else. One without text, directly before another part, belongs to that part.
 */
export interface ReasoningPart {
  kind: 'reasoning'
  /** The vendor's id of the item; for `vendor_c-v1` the id of the tool call it belongs to. */
  id?: string
  text: string
  /** Summaries of hidden thinking, one a section. */
  summary: string[]
  signature?: string
  encrypted?: string
  format: ReasoningFormat
}

/** Whose signatures these are. `unknown`: readable text that nobody signed. */
export const reasoningFormats = [
  'unknown',
  'vendor_b-responses-v1',
  'azure-vendor_b-responses-v1',
  'bedrock-vendor_b-responses-v1',
  'vendor_d-responses-v1',
  'bedrock-vendor_d-responses-v1',
  'meta-responses-v1',
  'vendor_a-v1',
  'vendor_c-v1',
] as const
export type ReasoningFormat = (typeof reasoningFormats)[number]

/** A block that one dialect knows and no other can say: server tools, compaction, whatever comes next. */
export interface OpaquePart {
  kind: 'opaque'
  dialect: DialectName
  value: JsonObject
}

export interface Citation {
  url?: string
  title?: string
  /** The words of the source. */
  citedText?: string
  /** A source that is a file, which has no address. */
  file?: { id?: string; name?: string; container?: string }
  /** In characters of the text part that carries it. */
  start?: number
  end?: number
  /** As its own dialect has it. */
  native?: { dialect: DialectName; value: JsonObject }
}

export interface TokenLogprob {
  token: string
  logprob: number
  bytes: number[] | null
  top: { token: string; logprob: number; bytes: number[] | null }[]
}
