import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type UsageCost, zeroUsage } from '../call/usage.ts'
import type { ReplyContext } from '../wire-format.ts'
import { passReply } from './passthrough-reply.ts'
import { readPlainReply } from './plain-reply.ts'
import { decodeUsage, decodeVendorUsage } from './usage.ts'

const counts = fc.oneof(
  { weight: 8, arbitrary: fc.nat(50) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>(null, -1, 1.5, '7', undefined) },
)
const usages = fc
  .record(
    {
      prompt_tokens: counts,
      completion_tokens: counts,
      extra: fc.nat(3),
      prompt_tokens_details: fc.option(
        fc.record({ cached_tokens: counts, audio_tokens: fc.constantFrom(0, 0, 0, 2) }, { requiredKeys: [] }),
      ),
      completion_tokens_details: fc.option(
        fc.record(
          {
            reasoning_tokens: counts,
            accepted_prediction_tokens: counts,
            rejected_prediction_tokens: counts,
            audio_tokens: fc.constantFrom(0, 0, 0, 2),
          },
          { requiredKeys: [] },
        ),
      ),
      prompt_cache_hit_tokens: fc.nat(9),
    },
    { requiredKeys: ['prompt_tokens', 'completion_tokens', 'extra'] },
  )
  .map(({ extra, ...usage }) => {
    const { prompt_tokens: prompt, completion_tokens: completion } = usage
    const total = extra === 3 ? extra : Number(prompt) + Number(completion)
    return { ...usage, total_tokens: total }
  })

test('standard counts are decoded as those of any vendor', () => {
  fc.assert(
    fc.property(usages, (usage) => {
      expect(decodeUsage(usage)).toEqual(decodeVendorUsage(usage))
    }),
    { numRuns: 5000 },
  )
})

const texts = fc.oneof(
  { weight: 9, arbitrary: fc.string({ minLength: 1 }) },
  { weight: 1, arbitrary: fc.constantFrom('', null) },
)
/** Mostly absent, so that most replies are plain. */
const rarely = <T>(value: T) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constant(value) })
/** Converts to JSON and back: members that are undefined disappear. */
const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value))
const replies = fc.record(
  {
    id: fc.string(),
    object: fc.constant('chat.completion'),
    created: fc.nat(),
    model: fc.string(),
    system_fingerprint: fc.option(fc.string()),
    choices: fc.array(
      fc.record(
        {
          index: fc.constantFrom<unknown>(0, 0, 0, 0, 1, 1, null),
          message: fc.record(
            {
              role: fc.constant('assistant'),
              content: texts,
              refusal: fc.constantFrom(null, null, null, null, '', 'no'),
              reasoning: rarely('hm'),
            },
            { requiredKeys: ['role', 'content'] },
          ),
          finish_reason: fc.constantFrom<unknown>('stop', 'stop', 'length', 'STOP', 'error', 'other', null),
          logprobs: fc.constant(null),
        },
        { requiredKeys: ['message', 'index', 'finish_reason'] },
      ),
      { minLength: 1, maxLength: 2 },
    ),
    usage: usages,
    service_tier: rarely('default'),
  },
  { requiredKeys: ['choices'] },
)

const cost: UsageCost = { total: 1, isByok: false, upstream: 1, upstreamPrompt: 0, upstreamCompletion: 1 }
const context: ReplyContext = {
  id: 'gen-1',
  created: 1,
  model: 'a/b',
  provider: 'A',
  tier: null,
  call: { messages: [], stream: false, unknown: [] },
  body: {},
}

test('a plain reply is passed as any other', () => {
  let plain = 0
  fc.assert(
    fc.property(replies.map(asJson), fc.constantFrom(null, 'flex' as const), (body, tier) => {
      if (!readPlainReply(body)) return
      plain++
      const tiered = { ...context, tier }
      // A field that is not among the usual ones: the reply is normalized.
      const { unusual: _unusual, ...normalized } = passReply({ ...body, unusual: 1 }, tiered, cost, zeroUsage)
      expect(passReply(body, tiered, cost, zeroUsage)).toEqual(normalized)
    }),
    { numRuns: 5000 },
  )
  expect(plain).toBeGreaterThan(200)
})
