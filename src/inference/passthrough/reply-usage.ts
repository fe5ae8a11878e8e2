import type { Usage } from '../../formats/call/usage.ts'
import { decodeUsage as decodeChatUsage } from '../../formats/chat/usage.ts'
import { decodeUsage as decodeConverseUsage } from '../../formats/converse/usage.ts'
import { decodeUsage as decodeGeminiUsage } from '../../formats/gemini/usage.ts'
import { decodeUsage as decodeMessagesUsage, mergeUsage } from '../../formats/messages/usage.ts'
import { decodeUsage as decodeResponsesUsage } from '../../formats/responses/usage.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'

/** Reads what a reply is billed for while its bytes are relayed. */
export interface UsageReader {
  push(bytes: Uint8Array): void
  /** The reply has ended. */
  end(): void
  /** Whether the end of the reply was among the bytes so far. */
  readonly isComplete: boolean
  readonly usage: Usage | null
  /** Characters of generated text, for replies without a count. */
  readonly characters: number
}

const textPattern = /"(?:content|text|delta|partial_json|arguments|thinking)"\s*:\s*"((?:[^"\\]|\\.)*)"/g

function countCharacters(json: string): number {
  let count = 0
  for (const [, text = ''] of json.matchAll(textPattern)) count += text.length
  return count
}

/** Usage in the formats of all providers. In a stream, later counts replace earlier ones. */
class UsageCollector {
  usage: Usage | null = null
  readonly #messages: JsonObject = {}

  add(body: JsonObject): void {
    const meta = asObject(body.usageMetadata)
    const raw =
      asObject(body.usage) ??
      asObject(asObject(body.response)?.usage) ??
      asObject(asObject(body.message)?.usage)
    this.usage = (meta ? decodeGeminiUsage(meta, 0) : raw ? this.#decode(raw, body) : null) ?? this.usage
  }

  #decode(raw: JsonObject, { type }: JsonObject): Usage | null {
    if ('prompt_tokens' in raw || 'completion_tokens' in raw) return decodeChatUsage(raw)
    if ('inputTokens' in raw) return decodeConverseUsage(raw)
    const isMessages = typeof type === 'string' && type.startsWith('message')
    return isMessages ? decodeMessagesUsage(mergeUsage(this.#messages, raw)) : decodeResponsesUsage(raw, 0)
  }
}

/** An event with usage is short: a longer one is relayed unread. */
const maxEventLength = 4 * 1024 * 1024
const endPattern =
  /^\s*\[DONE\]\s*$|"type"\s*:\s*"(?:message_stop|response\.(?:completed|incomplete|failed))"/

export class StreamUsageReader implements UsageReader {
  readonly #frames = new SseReader(maxEventLength)
  readonly #collector = new UsageCollector()
  isComplete = false
  characters = 0

  get usage(): Usage | null {
    return this.#collector.usage
  }

  push(bytes: Uint8Array): void {
    for (const { data } of this.#frames.push(bytes)) this.#read(data)
  }

  end(): void {
    for (const { data } of this.#frames.end()) this.#read(data)
    this.isComplete = true
  }

  #read(data: string): void {
    this.characters += countCharacters(data)
    if (/"usage(?:Metadata)?"/.test(data)) {
      const body = asObject(tryParseJson(data))
      if (body) this.#collector.add(body)
    }
    if (endPattern.test(data)) this.isComplete = true
  }
}

/** A longer reply is not parsed: its usage is looked for at its end. */
const maxParsedLength = 1024 * 1024
const tailLength = 16 * 1024
const usageAtEnd = /"usage(?:Metadata)?"\s*:\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}/g

export class WholeUsageReader implements UsageReader {
  readonly #decoder = new TextDecoder()
  readonly #collector = new UsageCollector()
  #text = ''
  #tail = ''
  #length = 0
  isComplete = false
  characters = 0

  get usage(): Usage | null {
    return this.#collector.usage
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true })
    this.#length += text.length
    if (this.#length <= maxParsedLength) this.#text += text
    else this.#text = ''
    this.#tail = (this.#tail + text).slice(-tailLength)
  }

  end(): void {
    this.isComplete = true
    if (this.#length > maxParsedLength) this.#readTail()
    else this.#readText()
  }

  #readText(): void {
    this.characters = countCharacters(this.#text)
    const parsed = tryParseJson(this.#text)
    for (const value of Array.isArray(parsed) ? parsed : [parsed]) {
      const body = asObject(value)
      if (body) this.#collector.add(body)
    }
  }

  #readTail(): void {
    const found = [...this.#tail.matchAll(usageAtEnd)].at(-1)
    const body = found && asObject(tryParseJson(`{${found[0]}}`))
    if (body) this.#collector.add(body)
  }
}

/** A reply that reports no tokens, or whose price does not depend on them. */
export class NoUsageReader implements UsageReader {
  isComplete = false
  readonly usage = null
  readonly characters = 0

  push(): void {
    // Its bytes say nothing about its price.
  }

  end(): void {
    this.isComplete = true
  }
}
