import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ChoiceEnd, PartDelta, Reply, ReplyEvent } from '../call/event.ts'
import type { Citation, OutputPart, ReasoningPart, TokenLogprob, ToolCallPart } from '../call/part.ts'
import { type Usage, type UsageCost, zeroUsage } from '../call/usage.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'
import { encodeCitation, encodeFinishReason, encodeLogprobs, encodeUsage } from './reply-fields.ts'

type ContentType = 'text' | 'thinking'

/** A part that has begun in the stream. */
interface OpenPart {
  kind: ContentType | 'tool'
  /** The number among the contents, or among the tool calls. */
  index: number
  text: string
}

function formatFrame(type: string, fields: JsonObject): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

const done = 'data: [DONE]\n\n'

/** Contents and tool calls are numbered separately. */
export class CohereWriter implements ReplyWriter {
  readonly finalBody = null
  readonly #context: ReplyContext
  readonly #hidesReasoning: boolean
  readonly #parts = new Map<number, OpenPart>()
  readonly #counts = { content: 0, tool: 0 }
  #hasStarted = false
  #choiceEnd: ChoiceEnd | null = null

  constructor(context: ReplyContext) {
    this.#context = context
    this.#hidesReasoning = context.call.reasoning?.exclude === true
  }

  write(event: ReplyEvent): string {
    // The format has one choice.
    if (!('choice' in event) || event.choice !== 0) return ''
    switch (event.type) {
      case 'part-start':
        return this.#startMessage() + this.#startPart(event.part, event.content)
      case 'part-delta':
        return this.#addDelta(event.part, event.delta)
      case 'part-end':
        return this.#endPart(event.part)
      case 'choice-end':
        this.#choiceEnd = event
        return ''
    }
  }

  end(usage: Usage, cost: UsageCost): string {
    const delta = { finish_reason: encodeFinishReason(this.#choiceEnd), usage: encodeUsage(usage, cost) }
    const last = formatFrame('message-end', { delta, ...encodeServiceMetadata(this.#context) })
    return this.#startMessage() + this.#endParts() + last + done
  }

  fail(error: GatewayError): string {
    const delta = { finish_reason: 'ERROR', error: error.message }
    return this.#startMessage() + this.#endParts() + formatFrame('message-end', { delta })
  }

  #endParts(): string {
    return [...this.#parts.keys()].map((part) => this.#endPart(part)).join('')
  }

  #startMessage(): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    const { id, model, provider } = this.#context
    const message = { role: 'assistant', content: [], tool_plan: '', tool_calls: [], citations: [] }
    return formatFrame('message-start', { id, model, provider, delta: { message } })
  }

  #startPart(part: number, content: OutputPart): string {
    if (content.kind === 'tool-call') return this.#startToolCall(part, content)
    if (content.kind === 'text' || content.kind === 'refusal') {
      const { citations = [], logprobs } = content.kind === 'text' ? content : {}
      const started = this.#startContent(part, 'text') + this.#writeText(part, content.text, logprobs)
      return started + citations.map((citation) => this.#writeCitation(part, citation)).join('')
    }
    if (content.kind !== 'reasoning' || this.#hidesReasoning) return ''
    return this.#startContent(part, 'thinking') + this.#writeText(part, readReasoning(content))
  }

  #startContent(part: number, type: ContentType): string {
    const index = this.#counts.content++
    this.#parts.set(part, { kind: type, index, text: '' })
    return formatFrame('content-start', { index, delta: { message: { content: { type, [type]: '' } } } })
  }

  #startToolCall(part: number, { id, name, arguments: begun }: ToolCallPart): string {
    const index = this.#counts.tool++
    this.#parts.set(part, { kind: 'tool', index, text: '' })
    const toolCall = { id, type: 'function', function: { name, arguments: '' } }
    const start = formatFrame('tool-call-start', { index, delta: { message: { tool_calls: toolCall } } })
    return start + this.#writeArguments(index, begun)
  }

  #addDelta(part: number, delta: PartDelta): string {
    const open = this.#parts.get(part)
    if (!open) return ''
    if (open.kind === 'tool') return this.#writeArguments(open.index, delta.arguments)
    if (open.kind === 'thinking') return this.#writeText(part, delta.text ?? delta.summary)
    const text = this.#writeText(part, delta.text, delta.logprobs)
    return delta.citation ? text + this.#writeCitation(part, delta.citation) : text
  }

  #writeText(part: number, text: string | undefined, logprobs: readonly TokenLogprob[] = []): string {
    const open = this.#parts.get(part)
    if (!open || (!text && logprobs.length === 0)) return ''
    open.text += text ?? ''
    const { index, kind } = open
    const delta = { message: { content: { [kind]: text ?? '' } } }
    return formatFrame('content-delta', {
      index,
      delta,
      ...(logprobs.length > 0 && { logprobs: encodeLogprobs(logprobs) }),
    })
  }

  #writeArguments(index: number, text: string | undefined): string {
    if (!text) return ''
    const delta = { message: { tool_calls: { function: { arguments: text } } } }
    return formatFrame('tool-call-delta', { index, delta })
  }

  #writeCitation(part: number, citation: Citation): string {
    const open = this.#parts.get(part)
    if (!open) return ''
    const citations = encodeCitation(citation, open.index, open.text)
    const { index } = open
    return (
      formatFrame('citation-start', { index, delta: { message: { citations } } }) +
      formatFrame('citation-end', { index })
    )
  }

  #endPart(part: number): string {
    const open = this.#parts.get(part)
    if (!open) return ''
    this.#parts.delete(part)
    return formatFrame(open.kind === 'tool' ? 'tool-call-end' : 'content-end', { index: open.index })
  }
}

function readReasoning({ text, summary }: ReasoningPart): string {
  return text || summary.join('\n\n')
}

export function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const [choice] = reply.choices
  const parts = choice?.parts ?? []
  const { content, citations, logprobs } = encodeContent(parts, context.call.reasoning?.exclude === true)
  const toolCalls = parts.filter((part) => part.kind === 'tool-call').map(encodeToolCall)
  const { id, model, provider } = context
  return omitUndefined({
    id,
    model,
    provider,
    finish_reason: encodeFinishReason(choice?.end ?? null),
    message: {
      role: 'assistant',
      ...(content.length > 0 && { content }),
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      ...(citations.length > 0 && { citations }),
    },
    logprobs: logprobs.length > 0 ? logprobs : undefined,
    usage: encodeUsage(reply.usage ?? zeroUsage, cost),
    ...encodeServiceMetadata(context),
  })
}

function encodeContent(parts: readonly OutputPart[], hidesReasoning: boolean) {
  const content: JsonObject[] = []
  const citations: JsonObject[] = []
  const logprobs: JsonObject[] = []
  for (const part of parts) {
    if (part.kind === 'text' || part.kind === 'refusal') {
      const { citations: cited = [], logprobs: tokens = [] } = part.kind === 'text' ? part : {}
      citations.push(...cited.map((citation) => encodeCitation(citation, content.length, part.text)))
      logprobs.push(...tokens.map((token) => encodeLogprobs([token])))
      content.push({ type: 'text', text: part.text })
    } else if (part.kind === 'reasoning' && !hidesReasoning && readReasoning(part) !== '') {
      content.push({ type: 'thinking', thinking: readReasoning(part) })
    }
  }
  return { content, citations, logprobs }
}

function encodeToolCall({ id, name, arguments: text }: ToolCallPart): JsonObject {
  return { id, type: 'function', function: { name, arguments: text } }
}
