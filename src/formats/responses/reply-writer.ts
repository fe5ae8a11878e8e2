import { type GatewayError, toServiceMetadata } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type ChoiceEnd, type PartDelta, type Reply, ReplyCollector, type ReplyEvent } from '../call/event.ts'
import type { OutputPart } from '../call/part.ts'
import { toDeltas, toEmptyPart } from '../call/replay.ts'
import type { Usage, UsageCost } from '../call/usage.ts'
import { zeroUsage } from '../call/usage.ts'
import { encodeServiceMetadata, type ReplyContext, type ReplyWriter } from '../wire-format.ts'
import { encodeErrorCode, publicMessageOf } from './error.ts'
import { encodeOutputItem, hasSignature, type ItemContext, type ItemStatus } from './output-items-encode.ts'
import { type OpenItem, partWriters, writeSummariesDone } from './part-writer.ts'
import { encodeChoiceEnd, encodeResponse, itemContextOf, type ResponseState } from './response-object.ts'
import { encodeUsage } from './usage.ts'

export function createWriter(context: ReplyContext): ReplyWriter {
  return new ResponsesWriter(context)
}

/** The format has a single choice: events of others are ignored. */
class ResponsesWriter implements ReplyWriter {
  finalBody: JsonObject | null = null
  readonly #context: ReplyContext
  readonly #itemContext: ItemContext
  readonly #collector = new ReplyCollector()
  #open = new Map<number, OpenItem | 'later'>()
  #output: JsonObject[] = []
  #sequence = 0
  #itemCount = 0
  #hasStarted = false
  #isOver = false
  /** Restores the state before `end`, for a reply that fails afterwards. */
  #undoEnd: (() => void) | null = null

  constructor(context: ReplyContext) {
    this.#context = context
    this.#itemContext = itemContextOf(context)
  }

  write(event: ReplyEvent): string {
    if (this.#isOver || ('choice' in event && event.choice !== 0)) return ''
    const text = event.type === 'reply-error' ? '' : this.#startResponse(event)
    if (event.type === 'part-start') return text + this.#startPart(event.part, event.content, event)
    if (event.type === 'part-delta') return text + this.#addDelta(event.part, event.delta, event)
    if (event.type === 'part-end') return text + this.#endPart(event.part, 'completed')
    this.#collector.add(event)
    return text
  }

  end(usage: Usage, cost: UsageCost): string {
    if (this.#isOver) return ''
    this.#saveBeforeEnd()
    const finish = encodeChoiceEnd(this.#choiceEnd)
    let text = this.#startResponse()
    for (const part of [...this.#open.keys()]) text += this.#endPart(part, itemStatusFor(finish.status))
    this.#isOver = true
    this.finalBody = {
      ...this.#encodeResponse({ ...finish, usage: encodeUsage(usage, cost) }),
      ...encodeServiceMetadata(this.#context),
    }
    return text + this.#emit(`response.${finish.status}`, { response: this.finalBody })
  }

  fail(error: GatewayError): string {
    this.#undoEnd?.()
    if (this.#isOver) return ''
    const text = this.#startResponse()
    this.#isOver = true
    for (const [part, openItem] of this.#open)
      if (openItem !== 'later') this.#storeItem(part, openItem, 'incomplete')
    return (
      text +
      writeFailureEvents(error, this.#emit, (responseError) =>
        this.#encodeResponse({ status: 'failed', usage: null, ...responseError }),
      )
    )
  }

  #saveBeforeEnd(): void {
    const [sequence, items, started] = [this.#sequence, this.#itemCount, this.#hasStarted]
    const [open, output] = [new Map(this.#open), [...this.#output]]
    this.#undoEnd = () => {
      this.#undoEnd = null
      this.#isOver = false
      this.finalBody = null
      this.#sequence = sequence
      this.#itemCount = items
      this.#hasStarted = started
      this.#open = open
      this.#output = output
    }
  }

  get #choiceEnd(): ChoiceEnd | null {
    return this.#collector.reply.choices[0]?.end ?? null
  }

  #startResponse(event?: ReplyEvent): string {
    if (this.#hasStarted) return ''
    this.#hasStarted = true
    if (event?.type === 'reply-start') this.#collector.add(event)
    const response = this.#encodeResponse({ status: 'in_progress', usage: null })
    return this.#emit('response.created', { response }) + this.#emit('response.in_progress', { response })
  }

  #encodeResponse(state: Omit<ResponseState, 'output' | 'start'>): JsonObject {
    // Unfinished items leave holes in the array.
    const output = this.#output.filter((item) => item !== undefined)
    return encodeResponse(this.#context, { ...state, output, start: this.#collector.reply.start })
  }

  #emit = (type: string, fields: JsonObject): string => {
    const data = JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })
    return `event: ${type}\ndata: ${data}\n\n`
  }

  #partAt(number: number): OutputPart | undefined {
    return this.#collector.reply.choices[0]?.parts[number]
  }

  #startPart(number: number, content: OutputPart, event: ReplyEvent): string {
    this.#collector.add(event)
    if (content.kind === 'opaque' && content.wireFormat !== 'responses') return ''
    // Excluded reasoning is only written if it turns out to have encrypted content.
    if (content.kind === 'reasoning' && this.#context.call.reasoning?.exclude) {
      this.#open.set(number, 'later')
      return ''
    }
    return this.#startItem(number, content)
  }

  #startItem(number: number, content: OutputPart): string {
    const empty = toEmptyPart(content)
    const item = encodeOutputItem(empty, number, 'in_progress', this.#itemContext)
    if (!item) return ''
    const position = { item_id: asString(item.id) ?? '', output_index: this.#itemCount++ }
    const openItem: OpenItem = {
      position,
      annotationCount: 0,
      summaryCount: 0,
      closedSummaries: 0,
      isContentOpen: false,
    }
    this.#open.set(number, openItem)
    const text = this.#emit('response.output_item.added', {
      output_index: position.output_index,
      item: announceItem(item),
    })
    const start = writerOf(empty)?.open(openItem, empty, this.#emit) ?? ''
    const deltas = toDeltas(content).map((delta) => this.#writeDelta(openItem, delta, content))
    return text + start + deltas.join('')
  }

  #addDelta(number: number, delta: PartDelta, event: ReplyEvent): string {
    const openItem = this.#open.get(number)
    if (!openItem) return ''
    this.#collector.add(event)
    const part = this.#partAt(number)
    return part && openItem !== 'later' ? this.#writeDelta(openItem, delta, part) : ''
  }

  #writeDelta(openItem: OpenItem, delta: PartDelta, part: OutputPart): string {
    // A summary ends when the next one starts.
    const closed =
      part.kind === 'reasoning' && delta.section !== undefined && delta.section >= openItem.summaryCount
        ? writeSummariesDone(openItem, part, this.#emit, delta.section)
        : ''
    return closed + (writerOf(part)?.delta(openItem, delta, part, this.#emit, this.#itemContext) ?? '')
  }

  #endPart(number: number, status: ItemStatus): string {
    let openItem = this.#open.get(number)
    const part = this.#partAt(number)
    if (!openItem || !part) return ''
    let text = ''
    if (openItem === 'later') {
      this.#open.delete(number)
      if (part.kind !== 'reasoning' || !hasSignature(part)) return ''
      text = this.#startItem(number, { ...part, text: '', summary: [] })
      openItem = this.#open.get(number)
      if (!openItem || openItem === 'later') return ''
    }
    this.#open.delete(number)
    text += writerOf(part)?.close(openItem, part, this.#emit, this.#itemContext) ?? ''
    const item = this.#storeItem(number, openItem, status)
    return (
      text + this.#emit('response.output_item.done', { output_index: openItem.position.output_index, item })
    )
  }

  #storeItem(number: number, openItem: OpenItem, status: ItemStatus): JsonObject | null {
    const part = this.#partAt(number)
    const item = part ? encodeOutputItem(part, number, status, this.#itemContext) : null
    if (item) this.#output[openItem.position.output_index] = item
    return item
  }
}

/** The item before its content. */
function announceItem(item: JsonObject): JsonObject {
  if (item.type === 'message') return { ...item, content: [] }
  const operation = item.type === 'apply_patch_call' ? asObject(item.operation) : undefined
  if (operation?.diff === undefined) return item
  return { ...item, status: 'in_progress', operation: { ...operation, diff: '' } }
}

function itemStatusFor(status: ResponseState['status']): ItemStatus {
  return status === 'incomplete' ? 'incomplete' : 'completed'
}

/** The writer of a part's kind, typed so that it can be called with that part. */
function writerOf<Part extends OutputPart>(part: Part) {
  type Writer = NonNullable<(typeof partWriters)['text']>
  type General = {
    [Method in keyof Writer]: (...args: ReplacePart<Parameters<Writer[Method]>>) => string
  }
  return partWriters[part.kind] as General | undefined
}

type ReplacePart<Args extends unknown[]> = {
  [Index in keyof Args]: Args[Index] extends OutputPart ? OutputPart : Args[Index]
}

/** The two events of a reply that was cut off: some clients handle one, some the other. */
export function writeFailureEvents(
  error: GatewayError,
  emit: (type: string, fields: JsonObject) => string,
  response: (responseError: Pick<ResponseState, 'error' | 'errorType'>) => JsonObject,
): string {
  const { errorType } = error.row
  const responseError = { code: encodeErrorCode(errorType), message: publicMessageOf(error) }
  const metadata = {
    ...(Object.keys(error.metadata).length > 0 && { metadata: error.metadata }),
    ...(error.availability && { availability: error.availability }),
  }
  const explanation = toServiceMetadata(error)
  // Common to the stream errors of all formats: `code` is the HTTP status.
  const common = { error: { code: error.row.status, message: responseError.message }, finish_reason: 'error' }
  return (
    emit('error', {
      ...responseError,
      param: null,
      error_type: errorType,
      ...metadata,
      ...explanation,
      ...common,
    }) +
    emit('response.failed', {
      response: { ...response({ error: responseError, errorType }), ...explanation },
      ...common,
    })
  )
}

export function encodeReply(reply: Reply, context: ReplyContext, cost: UsageCost): JsonObject {
  const itemContext = itemContextOf(context)
  const choice = reply.choices.find(({ index }) => index === 0)
  const { failure } = reply
  const output = (choice?.parts ?? [])
    .map((part, number) =>
      part && !isHiddenReasoning(part, context)
        ? encodeOutputItem(part, number, 'completed', itemContext)
        : null,
    )
    .filter((item) => item !== null)
  const state: ResponseState = {
    ...encodeChoiceEnd(choice?.end ?? null),
    output,
    usage: encodeUsage(reply.usage ?? zeroUsage, cost),
    start: reply.start,
  }
  if (!failure) return { ...encodeResponse(context, state), ...encodeServiceMetadata(context) }
  const error = { code: encodeErrorCode(failure.kind), message: failure.message }
  const failed = encodeResponse(context, { ...state, status: 'failed', error, errorType: failure.kind })
  return { ...failed, ...encodeServiceMetadata(context) }
}

/** Excluded reasoning without encrypted content. */
function isHiddenReasoning(part: OutputPart, { call }: ReplyContext): boolean {
  return part.kind === 'reasoning' && call.reasoning?.exclude === true && !hasSignature(part)
}
