import { afterAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { grammarChecks, successPatterns } from '../../../test/formats/conformance/grammar.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  replyScenarios,
  type StreamedPart,
  textPart,
  toolCallPart,
} from '../../../test/formats/conformance/reply-scenarios.ts'
import {
  cost,
  createContext,
  decodeFrames,
  encodeStream,
  parseFrames,
} from '../../../test/formats/conformance/round-trip.ts'
import { wireFormats } from '../../formats/all.ts'
import { collectReply, type Reply, type ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../formats/vocabulary.ts'
import { computeReach } from '../../governance/filters/reach.ts'
import type { FilterRules } from '../../governance/filters/rules.ts'
import { ContentScanner } from '../../governance/filters/scanner.ts'
import type { GuardrailHit } from '../../governance/policy/content-rules.ts'
import { toGatewayError } from '../../platform/errors/gateway-error.ts'
import { createRelay } from '../reply/relay.ts'
import { ReplyPipeline } from '../reply/transforms.ts'
import { formats } from '../request/formats.ts'
import { ReplyFilter } from './reply-filter.ts'

const scanner = new ContentScanner()
afterAll(() => scanner.stop())

const traits = { isEnforced: true, layers: ['key'] } as const
const canary = 'jane.doe@example.org'
const pairs = generateWireFormats.flatMap((upstream) =>
  generateWireFormats.map((client) => [upstream, client] as const),
)

type Action = 'redact' | 'block'

function createRules(action: Action, slugs = ['email'] as const): FilterRules {
  return { builtins: slugs.map((slug) => ({ ...traits, slug, action })), customs: [] }
}

function createFilter(rules: FilterRules, hits: GuardrailHit[] = []): ReplyFilter {
  return new ReplyFilter({ scanner }, { key: JSON.stringify(rules), rules, reach: computeReach(rules) }, hits)
}

type RelayParameters = Parameters<typeof createRelay>

interface Relayed {
  /** Texts for the client, one for each frame of the upstream. */
  texts: string[]
  stream: string
  losses: string[]
  error: unknown
}

/** A reply from an upstream of one format to a client of another. */
async function relay(
  [upstream, client]: readonly [GenerateWireFormat, GenerateWireFormat],
  events: ReplyEvent[],
  filters: ReplyFilter[],
): Promise<Relayed> {
  const attempt = {
    candidate: { endpoint: { provider: {} } },
    translation: { wireFormat: wireFormats[upstream], isPassThrough: false },
    context: createContext(),
    pipeline: new ReplyPipeline(filters, []),
  }
  const relaying = createRelay(
    { format: formats[client] } as unknown as RelayParameters[0],
    attempt as unknown as RelayParameters[1],
  )
  const texts: string[] = []
  let error: unknown = null
  try {
    for (const frame of parseFrames(encodeStream(upstream, events))) texts.push(await relaying.pass(frame))
    texts.push((await relaying.close?.()) ?? '')
    texts.push(await relaying.end(relaying.summary.usage ?? zeroUsage, cost))
  } catch (thrown) {
    error = thrown
    texts.push(relaying.fail(toGatewayError(thrown)))
  }
  return { texts, stream: texts.join(''), losses: relaying.summary.losses, error }
}

function collect(client: GenerateWireFormat, { stream }: Relayed): Reply {
  return collectReply(decodeFrames(client, parseFrames(stream)))
}

function partsOf(reply: Reply): OutputPart[] {
  return reply.choices.flatMap(({ parts }) => parts.filter(Boolean))
}

function textOf(reply: Reply): string {
  return partsOf(reply)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')
}

function replyOf(...parts: StreamedPart[]): ReplyEvent[] {
  const reason = parts.some(({ start }) => start.kind === 'tool-call') ? 'tool_calls' : 'stop'
  return createReplyEvents(createPartEvents(parts), [createChoiceEnd(reason)])
}

const before = 'Some words come before the address, and they are not a secret. '
const after = ` is where she reads her mail. ${'And so on, and on. '.repeat(60)}`

describe.each(pairs)('R35 a streamed reply from %s to %s', (upstream, client) => {
  const pair = [upstream, client] as const

  test('is redacted wherever a match is split, and no part of it is sent before', async () => {
    for (let cut = 0; cut <= canary.length; cut++) {
      const [head, tail] = [before + canary.slice(0, cut), canary.slice(cut) + after]
      const relayed = await relay(pair, replyOf(textPart(head, tail)), [createFilter(createRules('redact'))])
      expect(textOf(collect(client, relayed))).toBe(`${before}[EMAIL]${after}`)
      expect(relayed.stream).not.toContain('jane')
      grammarChecks[client](parseFrames(relayed.stream))
    }
  })

  test('that is blocked ends with an error, and nothing of the match is sent', async () => {
    const hits: GuardrailHit[] = []
    const events = replyOf(textPart(before + canary.slice(0, 5), canary.slice(5) + after))
    const { stream, error } = await relay(pair, events, [createFilter(createRules('block'), hits)])
    expect(error).toMatchObject({
      code: 'guardrail_blocked',
      message: 'Response blocked by content filter: [EMAIL]',
    })
    expect(stream).not.toContain('jane')
    expect(stream).not.toMatch(successPatterns[client])
    expect(stream).toContain('Response blocked by content filter')
    expect(hits).toMatchObject([
      { rule: 'email', direction: 'output', part: 'text', role: 'assistant', count: 1 },
    ])
  })

  test('has its tool calls redacted as JSON, also those that arrive in parallel', async () => {
    const args = JSON.stringify({ to: canary, note: `write to ${canary}` })
    const [one, two] = [toolCallPart('call_1', 'send'), toolCallPart('call_2', 'send')]
    const events = replyOf(
      textPart('Sending.'),
      { ...one, deltas: (args.match(/.{1,7}/g) ?? []).map((text) => ({ arguments: text })) },
      { ...two, deltas: [...args].map((text) => ({ arguments: text })) },
    )
    const relayed = await relay(pair, events, [createFilter(createRules('redact'))])
    const calls = partsOf(collect(client, relayed)).filter((part) => part.kind === 'tool-call')
    expect(calls.map(({ name }) => name)).toEqual(['send', 'send'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
    for (const call of calls)
      expect(JSON.parse(call.arguments)).toEqual({ to: '[EMAIL]', note: 'write to [EMAIL]' })
    expect(relayed.stream).not.toContain('jane')
    grammarChecks[client](parseFrames(relayed.stream))
  })

  test('has its reasoning redacted, and then no signature', async () => {
    const reasoning: StreamedPart = {
      start: { kind: 'reasoning', text: '', summary: [], format: 'vendor_a-v1' },
      deltas: [
        { text: `I know ${canary.slice(0, 8)}` },
        { text: canary.slice(8) },
        { signature: 'U2lnbmVk' },
      ],
    }
    const events = replyOf(reasoning, textPart('Done.'))
    const relayed = await relay(pair, events, [createFilter(createRules('redact'))])
    expect(relayed.stream).not.toContain('jane')
    expect(relayed.stream).not.toContain('U2lnbmVk')
    expect(textOf(collect(client, relayed))).toBe('Done.')
    grammarChecks[client](parseFrames(relayed.stream))
  })

  test('without a match is the same as without a filter, except for its log probabilities', async () => {
    for (const { name, events } of replyScenarios) {
      const filtered = collect(client, await relay(pair, events, [createFilter(createRules('redact'))]))
      const plain = collect(client, await relay(pair, events, []))
      expect({ name, reply: withoutLogprobs(filtered) }).toEqual({ name, reply: withoutLogprobs(plain) })
      expect(JSON.stringify(partsOf(filtered))).not.toContain('"logprobs"')
    }
  })
})

/**
 * Removes log probabilities, sorts the parts and joins texts: some formats write a tool call after a text that follows
 * it, or between its pieces.
 */
function withoutLogprobs(reply: Reply): Reply {
  const text = JSON.stringify(reply, (key, value) => {
    if (key === 'logprobs') return undefined
    return key === 'parts'
      ? joinTexts(value.toSorted((a: OutputPart, b: OutputPart) => (a.kind < b.kind ? -1 : 1)))
      : value
  })
  return JSON.parse(text)
}

function joinTexts(parts: readonly OutputPart[]): OutputPart[] {
  const joined: OutputPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    const isContinued = last?.kind === 'text' && part.kind === 'text' && !last.citations && !part.citations
    if (isContinued) joined[joined.length - 1] = { ...last, text: last.text + part.text }
    else joined.push(part)
  }
  return joined
}

describe('R35 a filtered reply', () => {
  test('with several choices and interleaved parts is redacted however its events are ordered', async () => {
    const text = `Write to ${canary}, or to ${canary}. ${'More text follows here. '.repeat(20)}`
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(2), fc.integer({ min: 1, max: 40 })), { minLength: 200, maxLength: 400 }),
        async (turns) => {
          const rest = [text, text, text]
          const events: ReplyEvent[] = [0, 1, 2].map((choice) => ({
            type: 'part-start',
            choice,
            part: 0,
            content: { kind: 'text', text: '' },
          }))
          const take = (choice: number, length: number) => {
            const taken = rest[choice]?.slice(0, length) ?? ''
            rest[choice] = rest[choice]?.slice(length) ?? ''
            if (taken !== '') events.push({ type: 'part-delta', choice, part: 0, delta: { text: taken } })
          }
          for (const [choice, length] of turns) take(choice, length)
          for (const choice of [0, 1, 2]) {
            take(choice, text.length)
            events.push({ type: 'part-end', choice, part: 0 }, createChoiceEnd('stop', {}, choice))
          }
          const relayed = await relay(['chat', 'chat'], createReplyEvents(events, []), [
            createFilter(createRules('redact')),
          ])
          const texts = partsOf(collect('chat', relayed)).map((part) =>
            part.kind === 'text' ? part.text : '',
          )
          expect(texts).toEqual(Array(3).fill(text.replaceAll(canary, '[EMAIL]')))
          expect(relayed.stream).not.toContain('jane')
        },
      ),
      { numRuns: 20 },
    )
  })

  const run = async (events: ReplyEvent[], filter = createFilter(createRules('redact'))) => {
    const pipeline = new ReplyPipeline([filter], [])
    const transformed: ReplyEvent[] = []
    for (const event of events) transformed.push(...(await pipeline.push(event)))
    transformed.push(...(await pipeline.end()))
    return { reply: collectReply(transformed), losses: pipeline.losses }
  }

  test('loses the log probabilities of its text, and says so', async () => {
    const logprobs = [{ token: canary, logprob: -1, bytes: null, top: [] }]
    const { reply, losses } = await run(
      replyOf({ start: { kind: 'text', text: '', logprobs }, deltas: [{ text: canary, logprobs }] }),
    )
    expect(JSON.stringify(reply)).not.toContain('jane')
    expect(losses).toEqual(['logprobs'])
  })

  test('has citations without the match, at their places after the redaction', async () => {
    const text = `Ask ${canary} or the office.`
    const citation = {
      url: 'https://example.org/office',
      title: 'Office',
      citedText: `The office: ${canary}`,
      start: text.indexOf('the office'),
      end: text.indexOf('the office') + 10,
      native: { wireFormat: 'chat' as const, value: { cited: canary } },
    }
    const { reply } = await run(
      replyOf({ start: { kind: 'text', text: '' }, deltas: [{ text }, { citation }] }),
    )
    const [part] = partsOf(reply)
    if (part?.kind !== 'text') throw new Error('no text')
    const [cited] = part.citations ?? []
    expect(part.text.slice(cited?.start, cited?.end)).toBe('the office')
    expect(JSON.stringify(reply)).not.toContain('jane')
  })

  test('has parts of its vendor and urls of images without the match', async () => {
    const { reply } = await run(
      replyOf(
        {
          start: { kind: 'opaque', wireFormat: 'messages', value: { type: 'x', deep: [{ to: canary }] } },
          deltas: [],
        },
        {
          start: { kind: 'image', source: { kind: 'url', url: `https://example.org/?to=${canary}` } },
          deltas: [],
        },
        { start: { kind: 'refusal', text: '' }, deltas: [{ text: `Not for ${canary}` }] },
        toolCallPart('call_1', canary, '{}'),
      ),
    )
    expect(JSON.stringify(reply)).not.toContain('jane')
    expect(reply.choices[0]?.parts[0]).toEqual({
      kind: 'opaque',
      wireFormat: 'messages',
      value: { type: 'x', deep: [{ to: '[EMAIL]' }] },
    })
  })

  test('with audio whose transcript has a match is blocked: sound cannot be redacted', async () => {
    const audio = (transcript: string): StreamedPart => ({
      start: { kind: 'audio', data: '', format: 'pcm16' },
      deltas: [{ data: 'AAAA' }, { transcript }, { data: 'BBBB' }],
    })
    await expect(run(replyOf(audio(`Write to ${canary}`)))).rejects.toThrow('Response blocked')
    const { reply } = await run(replyOf(audio('Hello')))
    expect(partsOf(reply)).toEqual([
      { kind: 'audio', data: 'AAAABBBB', format: 'pcm16', transcript: 'Hello' },
    ])
  })

  test('that is cut off leaves nothing behind', async () => {
    const events = replyOf(textPart(`Write to ${canary}`)).slice(0, 3)
    const { reply } = await run(events)
    expect(textOf(reply)).toBe('Write to [EMAIL]')
  })
})
