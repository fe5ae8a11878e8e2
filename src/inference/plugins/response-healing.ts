import { type Choice, ReplyCollector, type ReplyEvent } from '../../formats/call/event.ts'
import type { TextPart } from '../../formats/call/part.ts'
import type { ReplyFeature } from '../../formats/reply-losses.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { isJson } from '../../platform/json/json-repair.ts'
import type { RepairedJson } from '../../platform/json/json-repairer.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ReplyTransform } from '../reply/transforms.ts'
import type { RequestWork } from '../request/work.ts'
import type { Plugin } from './plugin.ts'

/** Repairs invalid JSON in replies to requests for JSON, unless they are streamed. */
export const responseHealing: Plugin<'response-healing'> = {
  id: 'response-healing',
  prepare({ gateway, request, work }) {
    const { format, stream } = request.content.call
    const isJsonRequested = format?.kind === 'json' || format?.kind === 'schema'
    if (stream || !isJsonRequested) {
      work.dropPlugin('response-healing')
      return
    }
    const schema = format.kind === 'schema' ? format.schema : null
    const owner = request.caller.organizationId
    const heal = () => new JsonHealer(gateway, work, owner, schema)
    request.replyTransforms = [heal, ...request.replyTransforms]
  },
}

type Outcome = 'repaired' | 'truncated' | 'not_repairable'

interface HealedChoice {
  choice: number
  outcome: Outcome
  matches_schema?: boolean
}

/** Longer texts are parsed in a worker thread. */
const maxParsedInline = 32 * 1024
/** Time limit for all choices of a reply. */
const maxMilliseconds = 5_000

class JsonHealer implements ReplyTransform {
  readonly losses = new Set<ReplyFeature>()
  readonly #gateway: Gateway
  readonly #work: RequestWork
  readonly #owner: string
  readonly #schema: JsonObject | null
  readonly #events: ReplyEvent[] = []
  readonly #collector = new ReplyCollector()

  constructor(gateway: Gateway, work: RequestWork, owner: string, schema: JsonObject | null) {
    this.#gateway = gateway
    this.#work = work
    this.#owner = owner
    this.#schema = schema
  }

  transform(event: ReplyEvent): ReplyEvent[] {
    this.#events.push(event)
    this.#collector.add(event)
    return []
  }

  async end(): Promise<ReplyEvent[]> {
    const quota = { owner: this.#owner, milliseconds: maxMilliseconds }
    const healed: HealedChoice[] = []
    const texts = new Map<number, string>()
    for (const choice of this.#collector.reply.choices) {
      const text = joinText(choice)
      if (text === '' || (text.length <= maxParsedInline && isJson(text))) continue
      if (choice.end?.reason === 'length') {
        healed.push({ choice: choice.index, outcome: 'truncated' })
        continue
      }
      // If the queue of the worker is full, the reply is not changed.
      const repaired = await this.#gateway.jsonRepairer.repair(text, this.#schema, quota).catch(() => null)
      if (repaired?.text === text) continue
      healed.push(describeChoice(choice, repaired))
      if (repaired) texts.set(choice.index, repaired.text)
    }
    if (healed.length > 0) this.#work.stages.push(describeStage(healed))
    return texts.size === 0 ? this.#events : this.#events.flatMap((event) => this.#replaceText(event, texts))
  }

  /** The repaired text replaces the first text part of its choice; the other text parts become empty. */
  #replaceText(event: ReplyEvent, texts: Map<number, string>): ReplyEvent[] {
    if (event.type !== 'part-start' && event.type !== 'part-delta') return [event]
    const text = texts.get(event.choice)
    const part = this.#collector.reply.choices.find(({ index }) => index === event.choice)?.parts[event.part]
    if (text === undefined || part?.kind !== 'text') return [event]
    if (part.citations) this.losses.add('citations')
    if (part.logprobs) this.losses.add('logprobs')
    if (event.type === 'part-delta') return []
    const { cache } = event.content as TextPart
    texts.set(event.choice, '')
    return [{ ...event, content: { kind: 'text', text, ...(cache && { cache }) } }]
  }
}

function joinText({ parts }: Choice): string {
  return parts.map((part) => (part?.kind === 'text' ? part.text : '')).join('')
}

function describeChoice({ index }: Choice, repaired: RepairedJson | null): HealedChoice {
  return {
    choice: index,
    outcome: repaired ? 'repaired' : 'not_repairable',
    ...(repaired?.matchesSchema != null && { matches_schema: repaired.matchesSchema }),
  }
}

const summaries: Record<Outcome, string> = {
  repaired: 'The reply was not valid JSON and was repaired.',
  truncated: 'The reply was cut off at its token limit, which cannot be repaired.',
  not_repairable: 'The reply is not JSON and could not be repaired.',
}

function describeStage(choices: HealedChoice[]) {
  return {
    type: 'response_healing' as const,
    name: 'response_healing',
    summary: [...new Set(choices.map(({ outcome }) => summaries[outcome]))].join(' '),
    data: { choices },
  }
}
