import type { Caller } from '../../access/caller.ts'
import { flattenToolName, type Message, type Tool } from '../../formats/call/call.ts'
import type { DataRegion } from '../../formats/vocabulary.ts'
import type { RuleFacts } from '../../governance/routing-rules/rule.ts'
import { detectLanguage } from '../../platform/text/language.ts'
import type { MeasuredContent, RequestFormat } from './inference-request.ts'
import type { RequestOptions } from './options.ts'

/** Names of models are shorter. Conditions search it, and a request can have millions of characters there. */
const maxModelLength = 256

/** What is known of a request before it is routed. */
export interface RuledRequest {
  caller: Caller
  region: DataRegion
  format: RequestFormat
  content: MeasuredContent
  options: RequestOptions
  workspace: string
  /** Milliseconds of its arrival. */
  at: number
}

/** The variables of conditions. What takes work is computed when a condition first reads it. */
export function describeRequest(request: RuledRequest): RuleFacts {
  const { caller, region, format, content, options, workspace, at } = request
  const { tools, language, images, inputTokens } = createContentFacts(content)
  const tags = once(() => toTagMap(options.tags))
  return {
    model: (options.models[0] ?? '').slice(0, maxModelLength),
    operation: format.task,
    stream: content.stream,
    get tags() {
      return tags()
    },
    end_user: options.user ?? '',
    workspace,
    key: caller.key.name ?? '',
    key_hash: caller.key.hash,
    member: caller.userId ?? '',
    region,
    time: at,
    get input_tokens() {
      return inputTokens()
    },
    get images() {
      return images()
    },
    get language() {
      return language()
    },
    get tools() {
      return tools()
    },
    get uses_tools() {
      return tools().size > 0
    },
  }
}

/** Conditions may read a value many times. */
function once<T>(compute: () => T): () => T {
  let value: { known: T } | null = null
  return () => {
    value ??= { known: compute() }
    return value.known
  }
}

function createContentFacts(content: MeasuredContent) {
  return {
    inputTokens: once(() => content.promptTokens),
    tools: once(() => (content.plain ? noTools : listToolNames(content.call.tools))),
    language: once(() => detectLanguage(readLastUserStart(content.call.messages))),
    images: once(() => (content.plain ? 0 : countImages(content.call.messages))),
  }
}

export function toTagMap(tags: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    tags.map((tag) => {
      const at = tag.indexOf('=')
      return [tag.slice(0, at), tag.slice(at + 1)]
    }),
  )
}

const noTools: ReadonlySet<string> = new Set()
/** Tools whose names a condition can find. */
const maxTools = 1000

function listToolNames(tools: readonly Tool[] | undefined): ReadonlySet<string> {
  return tools ? new Set(tools.slice(0, maxTools).map(nameOf)) : noTools
}

/** A tool that the vendor or the gateway runs has the name of its type. */
function nameOf(tool: Tool): string {
  return tool.kind === 'native' ? tool.type : flattenToolName(tool)
}

function countImages(messages: readonly Message[]): number {
  let count = 0
  for (const { parts } of messages) for (const { kind } of parts) if (kind === 'image') count++
  return count
}

/** Characters of the text whose language is detected. */
const maxText = 2000

/** The beginning of the last text that the user wrote. */
function readLastUserStart(messages: readonly Message[]): string {
  const message = messages.findLast(
    ({ role, parts }) => role === 'user' && parts.some(({ kind }) => kind === 'text'),
  )
  let text = ''
  for (const part of message?.parts ?? []) {
    if (part.kind === 'text') text += `${part.text.slice(0, maxText)}\n`
    if (text.length >= maxText) break
  }
  return text
}
