import { type ChoiceEnd, Collector, type PartDelta, type Reply, type ReplyEvent } from '../../call/event.ts'
import type { OutputPart } from '../../call/part.ts'
import { blankPart, deltasOf } from '../../call/replay.ts'
import type { Bill, Usage } from '../../call/usage.ts'
import { noTokens } from '../../call/usage.ts'
import { explainedError, type GatewayError } from '../../errors.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import { explained, type ReplyFacts, type ReplyWriter } from '../dialect.ts'
import { publicMessage, responseErrorCode } from './error.ts'
import { type ItemFacts, type ItemStatus, isSealed, outputItem } from './output-items.ts'
import { closeSummaries, partWriters, type Written } from './part-write.ts'
import { endOf, itemFacts, type ResponseState, responseObject } from './response-object.ts'
import { encodeUsage } from './usage.ts'

export function writer(about: ReplyFacts): ReplyWriter {
  return new ResponsesWriter(about)
}

/** One choice is all the format has: others are passed over. */
class ResponsesWriter implements ReplyWriter {
  final: JsonObject | null = null
  readonly #about: ReplyFacts
  readonly #facts: ItemFacts
  readonly #collector = new Collector()
  #open = new Map<number, Written | 'later'>()
  #output: JsonObject[] = []
  #sequence = 0
  #items = 0
  #started = false
  #over = false
  /** Takes back what `end` did: a reply that then fails never had that end. */
  #undoEnd: (() => void) | null = null

  constructor(about: ReplyFacts) {
    this.#about = about
    this.#facts = itemFacts(about)
  }

  write(event: ReplyEvent): string {
    if (this.#over || ('choice' in event && event.choice !== 0)) return ''
    const text = event.type === 'reply-error' ? '' : this.#start(event)
    if (event.type === 'part-start') return text + this.#startPart(event.part, event.content, event)
    if (event.type === 'part-delta') return text + this.#delta(event.part, event.delta, event)
    if (event.type === 'part-end') return text + this.#endPart(event.part, 'completed')
    this.#collector.add(event)
    return text
  }

  end(usage: Usage, bill: Bill): string {
    if (this.#over) return ''
    this.#rememberEnd()
    const finish = endOf(this.#end)
    let text = this.#start()
    for (const part of [...this.#open.keys()]) text += this.#endPart(part, statusOf(finish.status))
    this.#over = true
    this.final = {
      ...this.#response({ ...finish, usage: encodeUsage(usage, bill) }),
      ...explained(this.#about),
    }
    return text + this.#emit(`response.${finish.status}`, { response: this.final })
  }

  fail(error: GatewayError): string {
    this.#undoEnd?.()
    if (this.#over) return ''
    const text = this.#start()
    this.#over = true
    for (const [part, written] of this.#open) if (written !== 'later') this.#keep(part, written, 'incomplete')
    return (
      text +
      failureEvents(error, this.#emit, (told) => this.#response({ status: 'failed', usage: null, ...told }))
    )
  }

  #rememberEnd(): void {
    const [sequence, items, started] = [this.#sequence, this.#items, this.#started]
    const [open, output] = [new Map(this.#open), [...this.#output]]
    this.#undoEnd = () => {
      this.#undoEnd = null
      this.#over = false
      this.final = null
      this.#sequence = sequence
      this.#items = items
      this.#started = started
      this.#open = open
      this.#output = output
    }
  }

  get #end(): ChoiceEnd | null {
    return this.#collector.reply.choices[0]?.end ?? null
  }

  #start(event?: ReplyEvent): string {
    if (this.#started) return ''
    this.#started = true
    if (event?.type === 'reply-start') this.#collector.add(event)
    const response = this.#response({ status: 'in_progress', usage: null })
    return this.#emit('response.created', { response }) + this.#emit('response.in_progress', { response })
  }

  #response(state: Omit<ResponseState, 'output' | 'start'>): JsonObject {
    // Places of items that were never finished are left out.
    const output = this.#output.filter((item) => item !== undefined)
    return responseObject(this.#about, { ...state, output, start: this.#collector.reply.start })
  }

  #emit = (type: string, fields: JsonObject): string => {
    const data = JSON.stringify({ type, sequence_number: this.#sequence++, ...fields })
    return `event: ${type}\ndata: ${data}\n\n`
  }

  #part(number: number): OutputPart | undefined {
    return this.#collector.reply.choices[0]?.parts[number]
  }

  #startPart(number: number, content: OutputPart, event: ReplyEvent): string {
    this.#collector.add(event)
    if (content.kind === 'opaque' && content.dialect !== 'responses') return ''
    // Thinking that is not to be shown: whether anything is left of it is known at its end.
    if (content.kind === 'reasoning' && this.#about.call.reasoning?.exclude) {
      this.#open.set(number, 'later')
      return ''
    }
    return this.#announce(number, content)
  }

  #announce(number: number, content: OutputPart): string {
    const empty = blankPart(content)
    const item = outputItem(empty, number, 'in_progress', this.#facts)
    if (!item) return ''
    const place = { item_id: textOf(item.id) ?? '', output_index: this.#items++ }
    const written: Written = { place, annotations: 0, sections: 0, closed: 0, contentOpen: false }
    this.#open.set(number, written)
    const announced = item.type === 'message' ? { ...item, content: [] } : item
    const text = this.#emit('response.output_item.added', {
      output_index: place.output_index,
      item: announced,
    })
    const opened = writerOf(empty)?.open(written, empty, this.#emit) ?? ''
    const said = deltasOf(content).map((delta) => this.#say(written, delta, content))
    return text + opened + said.join('')
  }

  #delta(number: number, delta: PartDelta, event: ReplyEvent): string {
    const written = this.#open.get(number)
    if (!written) return ''
    this.#collector.add(event)
    const part = this.#part(number)
    return part && written !== 'later' ? this.#say(written, delta, part) : ''
  }

  #say(written: Written, delta: PartDelta, part: OutputPart): string {
    // A summary is over when the next begins.
    const over =
      part.kind === 'reasoning' && delta.section !== undefined && delta.section >= written.sections
        ? closeSummaries(written, part, this.#emit, delta.section)
        : ''
    return over + (writerOf(part)?.delta(written, delta, part, this.#emit, this.#facts) ?? '')
  }

  #endPart(number: number, status: ItemStatus): string {
    let written = this.#open.get(number)
    const part = this.#part(number)
    if (!written || !part) return ''
    let text = ''
    if (written === 'later') {
      this.#open.delete(number)
      if (part.kind !== 'reasoning' || !isSealed(part)) return ''
      text = this.#announce(number, { ...part, text: '', summary: [] })
      written = this.#open.get(number)
      if (!written || written === 'later') return ''
    }
    this.#open.delete(number)
    text += writerOf(part)?.close(written, part, this.#emit, this.#facts) ?? ''
    const item = this.#keep(number, written, status)
    return text + this.#emit('response.output_item.done', { output_index: written.place.output_index, item })
  }

  #keep(number: number, written: Written, status: ItemStatus): JsonObject | null {
    const part = this.#part(number)
    const item = part ? outputItem(part, number, status, this.#facts) : null
    if (item) this.#output[written.place.output_index] = item
    return item
  }
}

function statusOf(status: ResponseState['status']): ItemStatus {
  return status === 'incomplete' ? 'incomplete' : 'completed'
}

/** Which writer goes with a part is decided by its kind, so that each sees only its own. */
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

/** The two events of a reply that broke off: clients look for either. */
export function failureEvents(
  error: GatewayError,
  emit: (type: string, fields: JsonObject) => string,
  response: (told: Pick<ResponseState, 'error' | 'errorType'>) => JsonObject,
): string {
  const { errorType } = error.row
  const told = { code: responseErrorCode(errorType), message: publicMessage(error) }
  const metadata = {
    ...(Object.keys(error.metadata).length > 0 && { metadata: error.metadata }),
    ...(error.availability && { availability: error.availability }),
  }
  const explanation = explainedError(error)
  // What every format says of an error: `code` is the HTTP status it would have had.
  const common = { error: { code: error.row.status, message: told.message } }
  return (
    emit('error', { ...told, param: null, error_type: errorType, ...metadata, ...explanation, ...common }) +
    emit('response.failed', {
      response: { ...response({ error: told, errorType }), ...explanation },
      ...common,
    })
  )
}

export function encodeReply(reply: Reply, about: ReplyFacts, bill: Bill): JsonObject {
  const facts = itemFacts(about)
  const choice = reply.choices.find(({ index }) => index === 0)
  const { failure } = reply
  const output = (choice?.parts ?? [])
    .map((part, number) =>
      part && !isHidden(part, about) ? outputItem(part, number, 'completed', facts) : null,
    )
    .filter((item) => item !== null)
  const state: ResponseState = {
    ...endOf(choice?.end ?? null),
    output,
    usage: encodeUsage(reply.usage ?? noTokens, bill),
    start: reply.start,
  }
  if (!failure) return { ...responseObject(about, state), ...explained(about) }
  const error = { code: responseErrorCode(failure.kind), message: failure.message }
  const failed = responseObject(about, { ...state, status: 'failed', error, errorType: failure.kind })
  return { ...failed, ...explained(about) }
}

/** Thinking that is not to be shown and that nobody needs back. */
function isHidden(part: OutputPart, { call }: ReplyFacts): boolean {
  return part.kind === 'reasoning' && call.reasoning?.exclude === true && !isSealed(part)
}
