import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createTarget } from '../../../test/formats/fixtures/chat.ts'
import {
  computeRequestSize,
  estimatePlainTokens,
  estimatePromptTokens,
  sizePlainPrompt,
} from '../call/size.ts'
import type { WireCapability } from '../vocabulary.ts'
import type { Target } from '../wire-format.ts'
import { passPlainRequest, passRequest } from './passthrough-request.ts'
import { readPlainRequest } from './plain-request.ts'
import { decodeRequest } from './request-decode.ts'
import { chatRequest } from './schema.ts'

const anything = fc.oneof(
  fc.constantFrom<unknown>('', 'm', 0, 1, 1.5, 2, 3, -1, Number.NaN, true, null, [], {}),
  fc.double(),
  fc.integer(),
)
/** Mostly valid, so that whole bodies often are. */
const mostlyValid = (valid: fc.Arbitrary<unknown>) =>
  fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: anything })

const message = fc.record({
  role: mostlyValid(fc.constantFrom('system', 'user', 'assistant', 'developer', 'tool')),
  content: mostlyValid(fc.string()),
})
const bodies = fc.record(
  {
    messages: mostlyValid(fc.array(message, { minLength: 1, maxLength: 3 })),
    model: mostlyValid(fc.constant('a/b')),
    stream: mostlyValid(fc.boolean()),
    temperature: mostlyValid(fc.double({ min: 0, max: 2, noNaN: true })),
    top_p: mostlyValid(fc.double({ min: 0, max: 1, noNaN: true })),
    max_tokens: mostlyValid(fc.integer({ min: 1 })),
    max_completion_tokens: mostlyValid(fc.integer({ min: 1 })),
    user: mostlyValid(fc.string()),
  },
  { requiredKeys: ['messages'] },
)

const lengthOf = (part: object) => ('text' in part ? String(part.text).length : 0)

test('the schema accepts a plain request, and what is read of it is what decoding it gives', () => {
  let plain = 0
  fc.assert(
    fc.property(bodies, (body) => {
      const prompt = readPlainRequest(body)
      if (!prompt) return
      plain++
      expect(chatRequest.parse(body) as unknown).toEqual(body)
      const call = decodeRequest(body)
      expect(prompt).toEqual({
        messageCount: call.messages.length,
        characters: call.messages
          .flatMap(({ parts }) => parts)
          .reduce((sum, part) => sum + lengthOf(part), 0),
        stream: call.stream,
        maxTokens: call.maxTokens,
      })
      expect(estimatePlainTokens(prompt)).toBe(estimatePromptTokens(call))
      expect(sizePlainPrompt(prompt, 100)).toEqual(computeRequestSize(call, body, 100))
    }),
    { numRuns: 3000 },
  )
  expect(plain).toBeGreaterThan(300)
})

test('a body with any other field is validated by the schema', () => {
  const body = { model: 'a/b', messages: [{ role: 'user', content: 'x' }] }
  expect(readPlainRequest(body)).not.toBeNull()
  for (const extra of [{ tools: [] }, { provider: {} }, { n: 1 }, { input: 'x' }, { temperature: 3 }]) {
    expect(readPlainRequest({ ...body, ...extra })).toBeNull()
  }
})

test('a plain request is passed as any other, whatever the upstream supports', () => {
  const names = ['temperature', 'top_p', 'user', 'max_tokens', 'service_tier']
  const targets = fc.record({
    stream: fc.boolean(),
    unsupportedFields: fc.subarray(names).map((list) => new Set(list)),
    capabilities: fc
      .subarray(['developer_role', 'max_completion_tokens', 'stream_usage'] as const)
      .map((list) => new Set<WireCapability>(list)),
    reasoningMode: fc.constantFrom('default' as const, 'always' as const, null),
    reasoning: fc.constantFrom(null, { efforts: ['high', 'low'], budget: false }),
    tier: fc.constantFrom(null, 'flex' as const),
    reasoningHistory: fc.constantFrom(
      { field: 'reasoning_content' as const, required: true },
      { field: 'reasoning_details' as const },
    ),
  })
  fc.assert(
    fc.property(bodies, targets, (body, changes) => {
      if (!readPlainRequest(body)) return
      const target = createTarget(changes as Partial<Target>)
      expect(JSON.stringify(passPlainRequest(body, target))).toBe(JSON.stringify(passRequest(body, target)))
    }),
    { numRuns: 3000 },
  )
})
