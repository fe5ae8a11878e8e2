import type { DialectName } from '../catalogue/vocabulary.ts'
import type { JsonObject } from '../lib/json-values.ts'
import type { CacheBreakpoint, InputPart, OutputPart } from './part.ts'

/**
 * What is asked of a model, in our own form. Dialects read it from a client's body and write it into an
 * upstream's. A field that is absent was not asked for: nothing is sent in its place.
 */
export interface ModelCall {
  messages: Message[]
  stream: boolean
  tools?: Tool[]
  toolChoice?: ToolChoice
  parallelToolCalls?: boolean
  maxTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  minP?: number
  topA?: number
  frequencyPenalty?: number
  presencePenalty?: number
  repetitionPenalty?: number
  seed?: number
  stop?: string[]
  logitBias?: Record<string, number>
  logprobs?: boolean
  topLogprobs?: number
  /** How many answers. */
  n?: number
  format?: ResponseFormat
  reasoning?: ReasoningOptions
  verbosity?: string
  /** What the answer may consist of: text, image, audio. */
  modalities?: string[]
  audio?: { voice?: unknown; format?: string }
  imageConfig?: JsonObject
  /** Expected output, to speed up small edits. */
  prediction?: string
  /** Cache the prompt up to its last block that can be cached. */
  cache?: CacheBreakpoint
  promptCacheKey?: string
  serviceTier?: string
  /** The end user, as the client names them. */
  user?: string
  metadata?: Record<string, string>
  /** Fields of the body that only the client's own dialect may know: they reach an upstream of the same dialect. */
  unknown: string[]
}

export interface Message {
  /** Tool results are parts of user messages. */
  role: 'system' | 'developer' | 'user' | 'assistant'
  parts: (InputPart | OutputPart)[]
  name?: string
}

export type Tool = FunctionTool | CustomTool | NativeTool

export interface FunctionTool {
  kind: 'function'
  name: string
  /** The group it is declared in; elsewhere it goes by `flatToolName`. */
  namespace?: string
  description?: string
  /** JSON Schema of the arguments, untouched. */
  schema?: JsonObject
  strict?: boolean
  cache?: CacheBreakpoint
  deferLoading?: boolean
}

/** Takes free text instead of JSON arguments. */
export interface CustomTool {
  kind: 'custom'
  name: string
  namespace?: string
  description?: string
  /** As the client wrote it: `{type: 'text'}` or a grammar. */
  format?: JsonObject
}

/** A tool that a vendor runs itself, known to one dialect. */
export interface NativeTool {
  kind: 'native'
  dialect: DialectName
  type: string
  value: JsonObject
}

export type ToolChoice =
  | { kind: 'auto' | 'none' | 'required' }
  | { kind: 'tool'; name: string }
  | { kind: 'allowed'; required: boolean; names: string[] }
  | { kind: 'native'; dialect: DialectName; value: JsonObject }

export type ResponseFormat =
  | { kind: 'text' | 'json' | 'python' }
  | { kind: 'schema'; name?: string; schema: JsonObject; strict?: boolean; description?: string }
  | { kind: 'grammar'; grammar: string }

export type Effort = 'max' | 'xhigh' | 'high' | 'medium' | 'low' | 'minimal' | 'none'

/** How much the model should think, and how much of it to show. See reasoning.ts for effort against budget. */
export interface ReasoningOptions {
  effort?: Effort
  /** A budget in tokens. */
  maxTokens?: number
  enabled?: boolean
  /** The model decides how much. */
  adaptive?: boolean
  /** Think, but do not show it. */
  exclude?: boolean
  summary?: string
}

/** The name a tool has where tools have no namespaces. One found by tool search is a namespace of its own name. */
export function flattenToolName({ name, namespace }: FunctionTool | CustomTool): string {
  return namespace && namespace !== name ? `${namespace}__${name}` : name
}
